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

/** Whole bodies of logs, all different, in one of the encodings. */
export const logBodies = (
  encoding: 'json' | 'protobuf',
  count: number,
  records: number,
  nowMs: number,
): Buffer[] => {
  const random = createRandom(20_261_101 + records);
  return Array.from({ length: count }, () => {
    const request = logsRequest(random, records, nowMs);
    return encoding === 'json' ? Buffer.from(JSON.stringify(request)) : encodeLogsProtobuf(request);
  });
};
