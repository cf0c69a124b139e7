import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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
import { defaultTimePolicy } from '../../../support/time-policy.ts';

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

const few = 3;
const fewContext: ItemsContext = { ...context, limits: { ...defaultItemLimits, attributesMax: few } };
const keys = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'mon.data.token', 'x.data.token'), {
  maxLength: 7,
});
const attributes = keys.map((names) => names.map((key) => ({ key, value: { stringValue: 'v' } })));
const timeUnixNano = String(BigInt(arrivedAt) * 1_000_000n);
const ids = { traceId: '1'.repeat(32), spanId: '2'.repeat(16) };

/** Attributes at each place where a list of them stands, some of them with a token. */
const withTokens = fc.tuple(attributes, attributes, attributes).map(([outer, own, inner]) => {
  const resource = { attributes: outer.filter(({ key }) => key !== 'mon.data.token') };
  const scope = { attributes: own };
  const span = { ...ids, startTimeUnixNano: timeUnixNano, endTimeUnixNano: timeUnixNano, attributes: own };
  const events = [{ timeUnixNano, attributes: inner }, { attributes: own }];
  const point = { timeUnixNano, asDouble: 1, attributes: own };
  const exemplars = [{ timeUnixNano, asDouble: 1, filteredAttributes: inner }];
  const traces = {
    resourceSpans: [
      {
        resource,
        scopeSpans: [
          {
            spans: [
              { ...span, events },
              { ...span, links: [{ ...ids, attributes: inner }] },
            ],
          },
        ],
      },
    ],
  };
  const logs = {
    resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: [{ timeUnixNano, attributes: inner }] }] }],
  };
  const metrics = [{ name: 'm', metadata: inner, gauge: { dataPoints: [point, { ...point, exemplars }] } }];
  const dataPoints = { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] };
  return { own, inner, traces, logs, dataPoints };
});

const isOver = (list: readonly { key: string }[]): boolean =>
  list.filter(({ key }) => !key.endsWith('.data.token')).length > few;

// An item that one encoding rejects and the other stores would depend on the exporter's encoding.
describe('attributes that hold a token, among as many as the limit', () => {
  it('do not count, wherever they stand, in JSON and in protobuf alike', () => {
    let kept = 0;
    always(
      fc.property(withTokens, ({ own, inner, traces, logs, dataPoints }) => {
        const spans = jsonTraces.encode(encodeOtlpJson(traces), fewContext);
        const records = jsonLogs.encode(Buffer.from(JSON.stringify(logs)), fewContext);
        const points = jsonMetrics.encode(Buffer.from(JSON.stringify(dataPoints)), fewContext);
        expect(comparable(protobufTraces.encode(encodeOtlpProtobuf(traces), fewContext))).toEqual(
          comparable(spans),
        );
        expect(comparable(protobufLogs.encode(encodeLogsProtobuf(logs), fewContext))).toEqual(
          comparable(records),
        );
        expect(comparable(protobufMetrics.encode(encodeMetricsProtobuf(dataPoints), fewContext))).toEqual(
          comparable(points),
        );
        if (spans.examples.some(({ field }) => field.startsWith('resource'))) return;
        expect(spans.accepted).toBe(isOver(own) || isOver(inner) ? 0 : 2);
        kept += spans.accepted;
      }),
      500,
    );
    expect(kept).toBeGreaterThan(100);
  });
});

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
