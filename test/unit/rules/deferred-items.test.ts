import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeDeferredDataPoint } from '../../../src/rules/data-points/deferred-data-point.ts';
import { encodeDeferredRecord } from '../../../src/rules/logs/deferred-record.ts';
import { encodeDeferredPoint } from '../../../src/rules/points/deferred-point.ts';
import { encodeDeferredSpan } from '../../../src/rules/spans/deferred-span.ts';
import * as logs from '../../support/otlp/log-source.ts';
import { anyMetricsRequest } from '../../support/otlp/metric-requests.ts';
import * as metrics from '../../support/otlp/metric-source.ts';
import { rowsOfBlock, rowsOfTraces } from '../../support/otlp/span-blocks.ts';
import { wholeRequest } from '../../support/otlp/trace-cases.ts';
import * as traces from '../../support/otlp/trace-source.ts';
import { always } from '../../support/properties.ts';
import { encodePoints } from '../../support/push/encode-points.ts';
import * as push from '../../support/push/source.ts';

const noWindows = { aheadMsMax: undefined, ageMsMax: undefined };

/** What a receiver whose windows it passes makes of the second point, and what one that puts it off keeps of it. */
const bothWays = (point: object, layout: 'wide' | 'narrow') => {
  const source = push.sourceWith(layout, ['cpu', 'CPU', 'up'], ['host', 'up']);
  const data = [{ metrics: { cpu: 1, up: 2 }, timestamp: push.arrivedAt }, point];
  const context = push.contextWith(source);
  const kept = encodePoints(data, { ...context, policy: noWindows }).runs[0];
  const putOff = encodePoints(data, { ...context, policy: { aheadMsMax: undefined, ageMsMax: 0 } }).runs[0];
  const first = kept?.text
    .split('\n')
    .slice(0, layout === 'wide' ? 1 : 2)
    .join('\n');
  const [text = '', ordinal = -1] = [putOff?.deferred[0], putOff?.deferredOrdinals[0]];
  const place = { base: context.base.text, ordinal };
  const again = encodeDeferredPoint(JSON.parse(text), place, source, context.caps, push.arrivedAt);
  return { receiver: kept?.text.slice((first?.length ?? 0) + 1), again };
};

const late = push.arrivedAt - 5_000;
const points: readonly (readonly [string, object])[] = [
  ['of several metrics, of which two fold to one name', { metrics: { cpu: 0.1, CPU: -3, up: 1e21 } }],
  [
    'with a target and dimensions that need quoting',
    { metrics: { up: 1 }, target: 'a b,=\\"', dimension: { host: 'x\ny', up: true } },
  ],
  ['whose dimensions go by the other name', { metrics: { up: 1 }, dimensions: { host: 7, up: null } }],
];

// A row with another uid, time or column than the receiver's would be there beside it.
describe('a deferred point', () => {
  for (const layout of ['wide', 'narrow'] as const)
    it.each(points)(`makes the very rows of a receiver, %s (${layout})`, (_, point) => {
      const { receiver, again } = bothWays({ ...point, timestamp: late, ignored: 'x' }, layout);
      expect(again.kind === 'rows' ? again.run.text : again).toBe(receiver);
      expect(receiver).not.toBe('');
    });

  it('lists the names that have no column yet', () => {
    const { again } = bothWays({ metrics: { fresh: 1 }, dimension: { zone: 'a' }, timestamp: late }, 'wide');
    expect(again).toMatchObject({ newMetrics: ['fresh'], newDimensions: ['zone'] });
  });

  it.each([
    [{ metrics: { up: 'x' }, timestamp: late }, 'metric_value_invalid', /metrics\.up/],
    [{ metrics: { up: 1 }, timestamp: 1_700_000_000 }, 'timestamp_unit_seconds', /1700000000/],
    [{ metrics: { up: 1 } }, 'timestamp_required_with_key', /timestamp/],
    [null, 'point_not_object', /null/],
  ] as const)('names the rule that %o breaks', (item, reason, detail) => {
    const source = push.sourceWith('wide', ['up']);
    const place = { base: '5', ordinal: 0 };
    const caps = { metricsMax: 10, dimensionsMax: 10 };
    expect(encodeDeferredPoint(item, place, source, caps, push.arrivedAt)).toEqual({
      kind: 'dropped',
      reason,
      detail: expect.stringMatching(detail),
    });
  });
});

describe('a deferred log record', () => {
  const body = { kvlistValue: { values: [{ key: 'n', value: { intValue: '9007199254740993' } }] } };
  const request = {
    resourceLogs: [
      {
        schemaUrl: 'https://example.com/resource',
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'cart' } }] },
        scopeLogs: [
          {
            schemaUrl: 'https://example.com/scope',
            scope: { name: 's', version: '1', attributes: [{ key: 'a', value: { boolValue: true } }] },
            logRecords: [
              {
                ...logs.goodRecord,
                flags: 257,
                eventName: 'e',
                attributes: [{ key: 'k', value: { intValue: '1' } }],
              },
              { observedTimeUnixNano: logs.goodRecord.observedTimeUnixNano, body },
            ],
          },
        ],
      },
    ],
  };

  it('makes the very block of a receiver', () => {
    const owner = { ...traces.owner, fillDimensions: true };
    const context = (ageMsMax: number | undefined) =>
      traces.contextWith({ resolve: () => ({ ...owner, policy: { aheadMsMax: undefined, ageMsMax } }) });
    const kept = logs.encodeLogsOfJson(request, context(undefined));
    const putOff = logs.encodeLogsOfProtobuf(request, context(0));
    const { texts = [], ordinals = [] } = putOff.runs[0]?.deferred[0] ?? {};
    expect([kept.accepted, texts.length]).toEqual([2, 2]);
    const rows = texts.map((text, index) => {
      const place = { base: context(0).base.text, ordinal: ordinals[index] ?? -1 };
      const again = encodeDeferredRecord(JSON.parse(text), place, owner, context(0).arrivedAt, undefined);
      if (again.kind === 'dropped') throw new Error(`${again.reason} ${again.detail}`);
      return logs.rowsOfLogBlock(again.part.block);
    });
    expect(rows.flat()).toEqual(logs.rowsOfLogs(kept));
  });

  it('names the rule it breaks', () => {
    const place = { base: '5', ordinal: 0 };
    const encode = (item: unknown) =>
      encodeDeferredRecord(item, place, traces.owner, push.arrivedAt, undefined);
    expect(encode({ logRecord: { timeUnixNano: 'N' } })).toMatchObject({ reason: 'timestamp_not_numeric' });
    expect(encode({ logRecord: 5 })).toMatchObject({ kind: 'dropped', reason: 'record_not_object' });
  });
});

describe('a deferred data point', () => {
  const owner = { ...traces.owner, fillDimensions: true };
  const context = (ageMsMax: number | undefined) =>
    traces.contextWith({ resolve: () => ({ ...owner, policy: { aheadMsMax: undefined, ageMsMax } }) });

  it('of any kind makes the very row of a receiver', () => {
    always(
      fc.property(anyMetricsRequest, (request) => {
        const kept = metrics.encodeMetricsOfJson(request, context(undefined));
        const putOff = metrics.encodeMetricsOfProtobuf(request, context(0));
        const late = putOff.runs.flatMap(({ deferred }) =>
          deferred.flatMap(({ texts, ordinals }) =>
            texts.map((text, index) => [text, ordinals[index] ?? -1] as const),
          ),
        );
        const rows = late.flatMap(([text, ordinal]) => {
          const place = { base: context(0).base.text, ordinal };
          const again = encodeDeferredDataPoint(
            JSON.parse(text),
            place,
            owner,
            context(0).arrivedAt,
            undefined,
          );
          return again.kind === 'dropped' ? [] : metrics.rowsOfDataPoints(again.part);
        });
        // Their blocks have no columns of exemplars where none has any.
        const own = (row: metrics.DataPointRow) =>
          Object.fromEntries(
            Object.entries(row).filter(([, value]) => !Array.isArray(value) || value.length > 0),
          );
        const ahead = new Set(metrics.rowsOfMetrics(putOff).map(({ uid }) => uid));
        const wanted = metrics.rowsOfMetrics(kept).filter(({ uid }) => !ahead.has(uid));
        expect(rows.map(own)).toEqual(wanted.map(own));
      }),
    );
  });

  it('names the rule it breaks', () => {
    const place = { base: '5', ordinal: 0 };
    const encode = (dataPoint: unknown) =>
      encodeDeferredDataPoint(
        { metric: { name: 'a', gauge: {} }, dataPoint },
        place,
        traces.owner,
        push.arrivedAt,
        undefined,
      );
    expect(encode({ timeUnixNano: 'N' })).toMatchObject({ reason: 'timestamp_not_numeric' });
    expect(encode(5)).toMatchObject({ kind: 'dropped', reason: 'data_point_not_object' });
  });
});

describe('a deferred span', () => {
  const request = wholeRequest(BigInt(push.arrivedAt) * 1_000_000n);
  const ways = [
    ['JSON', traces.encodeJson],
    ['protobuf', traces.encodeProtobuf],
  ] as const;

  it.each(ways)('makes the very block of a receiver (%s)', (_, encode) => {
    const owner = { ...traces.owner, fillDimensions: true };
    const context = (ageMsMax: number | undefined) =>
      traces.contextWith({
        arrivedAt: push.arrivedAt + 3_600_000,
        resolve: () => ({ ...owner, policy: { aheadMsMax: undefined, ageMsMax } }),
      });
    const kept = encode(request, context(undefined));
    const putOff = encode(request, context(0));
    const [texts = [], ordinals = []] = [
      putOff.runs[0]?.deferred[0]?.texts,
      putOff.runs[0]?.deferred[0]?.ordinals,
    ];
    expect([kept.accepted, putOff.accepted, texts.length]).toEqual([kept.items, 0, kept.items]);
    const rows = texts.map((text, index) => {
      const place = { base: context(0).base.text, ordinal: ordinals[index] ?? -1 };
      const again = encodeDeferredSpan(JSON.parse(text), place, owner, context(0).arrivedAt, undefined);
      if (again.kind === 'dropped') throw new Error(`${again.reason} ${again.detail}`);
      return rowsOfBlock(again.part.block);
    });
    expect(rows.flat()).toEqual(rowsOfTraces(kept));
  });

  it('names the rule it breaks', () => {
    const [text = ''] =
      traces.encodeJson(traces.requestOf({ ...traces.goodSpan, startTimeUnixNano: 'N' })).runs[0]?.deferred[0]
        ?.texts ?? [];
    const place = { base: '5', ordinal: 0 };
    expect(encodeDeferredSpan(JSON.parse(text), place, traces.owner, push.arrivedAt, undefined)).toEqual({
      kind: 'dropped',
      reason: 'timestamp_not_numeric',
      detail: expect.stringContaining('"N"'),
    });
    expect(encodeDeferredSpan({ span: 5 }, place, traces.owner, push.arrivedAt, undefined)).toMatchObject({
      kind: 'dropped',
      reason: 'span_not_object',
    });
  });
});
