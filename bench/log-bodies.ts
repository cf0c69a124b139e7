import { encodeLogsProtobuf, type OtlpLogRecord, type OtlpLogsRequest } from '../test/support/otlp/logs.ts';
import { createRandom } from './bodies.ts';
import { spanRequest } from './span-bodies.ts';

const levels = [
  { severityNumber: 5, severityText: 'DEBUG' },
  { severityNumber: 9, severityText: 'INFO' },
  { severityNumber: 9, severityText: 'INFO' },
  { severityNumber: 13, severityText: 'WARN' },
  { severityNumber: 17, severityText: 'ERROR' },
];

/** A request of log records as an SDK's batch processor sends it: a line of text and ten attributes each, in the span that wrote it. */
const logsRequest = (random: () => number, records: number, nowMs: number): OtlpLogsRequest => {
  const { resourceSpans = [] } = spanRequest(random, records, nowMs);
  return {
    resourceLogs: resourceSpans.map(({ resource, scopeSpans = [] }) => ({
      ...(resource === undefined ? {} : { resource }),
      scopeLogs: scopeSpans.map(({ scope, spans = [] }) => ({
        ...(scope === undefined ? {} : { scope }),
        logRecords: spans.map(
          ({
            traceId = '',
            spanId = '',
            startTimeUnixNano = '',
            attributes = [],
            name = '',
          }): OtlpLogRecord => ({
            timeUnixNano: startTimeUnixNano,
            observedTimeUnixNano: startTimeUnixNano,
            ...levels[Math.floor(random() * levels.length)],
            body: { stringValue: `${name} answered in ${Math.floor(random() * 900)} ms for user ${spanId}` },
            attributes,
            flags: 1,
            traceId,
            spanId,
          }),
        ),
      })),
    })),
  };
};

/** A record whose body is a map, as structured loggers write it: the text, the attributes within a map, and an array. */
const nestedRecord = ({ body = {}, attributes = [], ...record }: OtlpLogRecord): OtlpLogRecord => ({
  ...record,
  body: {
    kvlistValue: {
      values: [
        { key: 'message', value: body },
        { key: 'context', value: { kvlistValue: { values: attributes } } },
        { key: 'tags', value: { arrayValue: { values: [{ stringValue: 'checkout' }, { intValue: '3' }] } } },
      ],
    },
  },
});

const withNested = ({ resourceLogs = [] }: OtlpLogsRequest): OtlpLogsRequest => ({
  resourceLogs: resourceLogs.map(({ scopeLogs = [], ...resource }) => ({
    ...resource,
    scopeLogs: scopeLogs.map(({ logRecords = [], ...scope }) => ({
      ...scope,
      logRecords: logRecords.map(nestedRecord),
    })),
  })),
});

const bodiesAs =
  (shape: (request: OtlpLogsRequest) => OtlpLogsRequest) =>
  (encoding: 'json' | 'protobuf', count: number, records: number, nowMs: number): Buffer[] => {
    const random = createRandom(20_261_101 + records);
    return Array.from({ length: count }, () => {
      const request = shape(logsRequest(random, records, nowMs));
      return encoding === 'json' ? Buffer.from(JSON.stringify(request)) : encodeLogsProtobuf(request);
    });
  };

/** Whole bodies of logs, all different, in one of the encodings. */
export const logBodies = bodiesAs((request) => request);

/** The same records with their texts and attributes in maps and arrays. */
export const nestedLogBodies = bodiesAs(withNested);
