import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultTimePolicy } from '../../../../src/model/time.ts';
import { hashedBase } from '../../../../src/model/uid.ts';
import { jsonMetrics } from '../../../../src/rules/data-points/json-metrics.ts';
import { protobufMetrics } from '../../../../src/rules/data-points/protobuf-metrics.ts';
import { jsonLogs } from '../../../../src/rules/logs/json-logs.ts';
import { protobufLogs } from '../../../../src/rules/logs/protobuf-logs.ts';
import { jsonTraces } from '../../../../src/rules/spans/json-traces.ts';
import { protobufTraces } from '../../../../src/rules/spans/protobuf-traces.ts';
import {
  defaultItemLimits,
  type EncodedItems,
  type ItemsContext,
  type ItemsOwner,
} from '../../../../src/wire/otlp/types.ts';
import { anyLogsRequest } from '../../../support/otlp/log-requests.ts';
import { encodeLogsProtobuf } from '../../../support/otlp/logs.ts';
import { anyMetricsRequest } from '../../../support/otlp/metric-requests.ts';
import { encodeMetricsProtobuf } from '../../../support/otlp/metrics.ts';
import { encodeOtlpJson, encodeOtlpProtobuf } from '../../../support/otlp/protobuf.ts';
import { anyRequest, arrivedAt } from '../../../support/otlp/requests.ts';
import { always } from '../../../support/properties.ts';

const owners = new Map<string | undefined, ItemsOwner>([
  [undefined, { appId: 1, bizId: 2, fillDimensions: true, policy: defaultTimePolicy }],
  [
    'token-a',
    {
      appId: 70_000_000_000,
      bizId: -5,
      fillDimensions: false,
      policy: { ...defaultTimePolicy, ageMsMax: 86_400_000 },
    },
  ],
  ['token-b', { appId: 3, bizId: 0, fillDimensions: true, policy: defaultTimePolicy }],
]);

const context: ItemsContext = {
  resolve: (token) => owners.get(token) ?? (token === 'token-off' ? 'disabled' : 'invalid'),
  clientIp: '192.0.2.9',
  base: hashedBase(Buffer.alloc(32, 0xff)),
  arrivedAt,
  limits: defaultItemLimits,
};

/** Without what may differ: how an encoding shows what it got. */
const comparable = (encoded: EncodedItems): unknown => ({
  ...encoded,
  examples: encoded.examples.map(({ index, reason, field }) => ({ index, reason, field })),
});

const signals = [
  [
    'traces',
    anyRequest.map(
      (request) =>
        [
          jsonTraces.encode(encodeOtlpJson(request), context),
          protobufTraces.encode(encodeOtlpProtobuf(request), context),
        ] as const,
    ),
  ],
  [
    'logs',
    anyLogsRequest.map(
      (request) =>
        [
          jsonLogs.encode(Buffer.from(JSON.stringify(request)), context),
          protobufLogs.encode(encodeLogsProtobuf(request), context),
        ] as const,
    ),
  ],
  [
    'metrics',
    anyMetricsRequest.map(
      (request) =>
        [
          jsonMetrics.encode(Buffer.from(JSON.stringify(request)), context),
          protobufMetrics.encode(encodeMetricsProtobuf(request), context),
        ] as const,
    ),
  ],
  [
    'metrics with a field for each number',
    anyMetricsRequest.map(
      (request) =>
        [
          jsonMetrics.encode(Buffer.from(JSON.stringify(request)), context),
          protobufMetrics.encode(encodeMetricsProtobuf(request, 'unpacked'), context),
        ] as const,
    ),
  ],
] as const;

// Two readers and one table: a difference between them would be data that depends on the exporter's encoding.
describe.each(signals)('%s in JSON and in protobuf', (_, anyEncoded) => {
  it('come out as equal runs, blocks, deferred texts and counts', () => {
    always(
      // Byte for byte, the blocks included.
      fc.property(anyEncoded, ([json, protobuf]) => {
        expect(comparable(protobuf)).toEqual(comparable(json));
      }),
      400,
    );
  });

  it('are accounted for item by item', () => {
    always(
      fc.property(anyEncoded, ([{ runs, items, accepted, rejected, deferred }]) => {
        const sum = (counts: Iterable<number>): number => [...counts].reduce((a, b) => a + b, 0);
        expect(accepted + sum(rejected.values()) + sum(deferred.values())).toBe(items);
        expect(sum(runs.flatMap(({ parts }) => parts.map(({ rows }) => rows)))).toBe(accepted);
        let next = 0;
        for (const { first, last } of runs) {
          expect(first).toBe(next);
          next = last + 1;
        }
        expect(next).toBe(items);
      }),
    );
  });
});
