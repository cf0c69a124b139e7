import fc from 'fast-check';
import type { OtlpLogRecord, OtlpLogsRequest } from './logs.ts';
import { attributes, hex, resource, scope, text, time, value } from './requests.ts';

const anyTime = fc.oneof(
  { weight: 6, arbitrary: time },
  { weight: 2, arbitrary: fc.constantFrom('0', '17', '1700000000000', '18446744073709551615') },
  { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String) },
);

const idOf = (bytes: number): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 6, arbitrary: hex(bytes) },
    { weight: 1, arbitrary: hex(bytes - 1) },
    { weight: 1, arbitrary: fc.constantFrom('', '0'.repeat(2 * bytes)) },
  );

const record: fc.Arbitrary<OtlpLogRecord> = fc.record(
  {
    timeUnixNano: anyTime,
    observedTimeUnixNano: anyTime,
    severityNumber: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 0, max: 24 }) },
      { weight: 1, arbitrary: fc.constantFrom(25, 255, 256, -1, 2 ** 31 - 1) },
    ),
    severityText: text,
    body: value,
    attributes: attributes(8),
    droppedAttributesCount: fc.nat(),
    flags: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    traceId: idOf(16),
    spanId: idOf(8),
    eventName: text,
  },
  { requiredKeys: [] },
);

/** Requests in canonical form, with everything OTLP allows and some records that are to be rejected or deferred. */
export const anyLogsRequest: fc.Arbitrary<OtlpLogsRequest> = fc.record(
  {
    resourceLogs: fc.array(
      fc.record(
        {
          resource,
          scopeLogs: fc.array(
            fc.record(
              { scope, logRecords: fc.array(record, { maxLength: 4 }), schemaUrl: text },
              { requiredKeys: [] },
            ),
            { maxLength: 2 },
          ),
          schemaUrl: text,
        },
        { requiredKeys: [] },
      ),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: [] },
);
