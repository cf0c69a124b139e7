import { deferredItemEncoder, member } from '../items/deferred-item.ts';
import { jsonTraces } from './json-traces.ts';

/** Encodes one deferred span. */
export const encodeDeferredSpan = deferredItemEncoder(jsonTraces, (item) => ({
  resourceSpans: [
    {
      resource: member(item, 'resource'),
      scopeSpans: [{ scope: member(item, 'scope'), spans: [member(item, 'span')] }],
    },
  ],
}));
