import { deferredItemEncoder, member } from '../items/deferred-item.ts';
import { jsonLogs } from './json-logs.ts';

/** Encodes one deferred log record. */
export const encodeDeferredRecord = deferredItemEncoder(jsonLogs, (item) => ({
  resourceLogs: [
    {
      resource: member(item, 'resource'),
      schemaUrl: member(item, 'resourceSchemaUrl'),
      scopeLogs: [
        {
          scope: member(item, 'scope'),
          schemaUrl: member(item, 'scopeSchemaUrl'),
          logRecords: [member(item, 'logRecord')],
        },
      ],
    },
  ],
}));
