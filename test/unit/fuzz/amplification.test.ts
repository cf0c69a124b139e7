import { describe, expect, it } from 'vitest';
import { blocksMax, runsMax } from '../../../src/rules/items/cutting.ts';
import { pointCost, runsMax as pushRunsMax, runBudget } from '../../../src/rules/points/cutting.ts';
import { jsonTraces } from '../../../src/rules/spans/json-traces.ts';
import { protobufTraces } from '../../../src/rules/spans/protobuf-traces.ts';
import { tokensMax } from '../../../src/wire/otlp/resource-row.ts';
import { TooManyElements, TooManyItems, TooManyTokens } from '../../../src/wire/otlp/types.ts';
import { encodeLogsOfJson, goodRecord, logsOf } from '../../support/otlp/log-source.ts';
import {
  encodeMetricsOfJson,
  encodeMetricsOfProtobuf,
  goodPoint,
  metricsOf,
} from '../../support/otlp/metric-source.ts';
import { encodeOtlpProtobuf } from '../../support/otlp/protobuf.ts';
import {
  encodeJson,
  goodSpan,
  owner,
  requestOf,
  contextWith as spansContext,
} from '../../support/otlp/trace-source.ts';
import { contextWith, encodeWithNames, sourceWith } from '../../support/push/source.ts';

const range = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** This many spans of one resource, two of which fill a message. */
const heavy = (spans: number) => ({
  resourceSpans: [
    {
      resource: {
        attributes: Array.from({ length: 8 }, (_, index) => ({
          key: `k${index}`,
          value: { stringValue: 'x'.repeat(60_000) },
        })),
      },
      scopeSpans: [{ spans: Array.from({ length: spans }, () => goodSpan) }],
    },
  ],
});

// A message repeats its resource: without a bound a body of 10 MB would be stored as more than 10 GB.
describe('a small body with a large resource', () => {
  it('is read up to a number of messages', () => {
    expect(encodeJson(heavy(2 * runsMax)).runs).toHaveLength(runsMax);
  });

  it('is refused beyond', () => {
    expect(() => encodeJson(heavy(2 * runsMax + 1))).toThrow(TooManyItems);
  });
});

/** This many log records of one scope, two of which fill a message. */
const heavyLogs = (records: number) => {
  const [{ resource: scope } = { resource: {} }] = heavy(1).resourceSpans;
  return { resourceLogs: [{ scopeLogs: [{ scope, logRecords: range(records, () => goodRecord) }] }] };
};

// Log records have the attributes of their scope in each message, too.
describe('a small body of log records with a large scope', () => {
  it('is read up to a number of messages', () => {
    expect(encodeLogsOfJson(heavyLogs(2 * runsMax)).runs).toHaveLength(runsMax);
  });

  it('is refused beyond', () => {
    expect(() => encodeLogsOfJson(heavyLogs(2 * runsMax + 1))).toThrow(TooManyItems);
  });

  it('is refused where its records are deferred, and each would keep it as text', () => {
    const late = range(200, () => ({ ...goodRecord, timeUnixNano: '5' }));
    const [entry] = heavyLogs(0).resourceLogs;
    const scopeLogs = [{ scope: entry?.scopeLogs[0]?.scope, logRecords: late }];
    expect(() => encodeLogsOfJson({ resourceLogs: [{ scopeLogs }] })).toThrow(/log records of the request/);
  });

  it('has a bound of blocks, over any number of days', () => {
    const days = range(blocksMax + 5, (index) => ({
      timeUnixNano: String(BigInt(goodRecord.timeUnixNano) - BigInt(index % 8000) * dayNanos),
    }));
    const { accepted, rejected, examples } = encodeLogsOfJson(logsOf(...days));
    expect([accepted, ...rejected]).toEqual([blocksMax, ['too_many_days', 5]]);
    expect(examples[0]).toMatchObject({ field: 'timeUnixNano' });
  });
});

// Metrics without data points are no items: no limit of items bounds them.
describe.each([
  ['JSON', (body: object) => encodeMetricsOfJson(body, spansContext({ limits: { itemsMax: 20 } }))],
  ['protobuf', (body: object) => encodeMetricsOfProtobuf(body, spansContext({ limits: { itemsMax: 20 } }))],
] as const)('metrics without data points in %s', (_, encode) => {
  const empty = [{}, { gauge: {} }, { name: 'a', sum: { dataPoints: [] } }];

  it('are read up to as many as there may be data points', () => {
    expect(encode(metricsOf(...range(20, (index) => empty[index % 3] ?? {}))).items).toBe(0);
  });

  it('are refused beyond', () => {
    expect(() => encode(metricsOf(...range(21, (index) => empty[index % 3] ?? {})))).toThrow(TooManyElements);
  });
});

/** This many data points of one metric, two of which fill a message. */
const heavyMetric = (dataPoints: readonly object[]) => {
  const [{ resource } = { resource: { attributes: [] } }] = heavy(1).resourceSpans;
  return metricsOf({ name: 'a', metadata: resource.attributes, gauge: { dataPoints } });
};

// Data points have the metadata and the description of their metric in each message.
describe('a small body of data points of a large metric', () => {
  it('is read up to a number of messages', () => {
    const { runs } = encodeMetricsOfJson(heavyMetric(range(2 * runsMax, () => goodPoint)));
    expect(runs).toHaveLength(runsMax);
  });

  it('is refused beyond', () => {
    const body = heavyMetric(range(2 * runsMax + 1, () => goodPoint));
    expect(() => encodeMetricsOfJson(body)).toThrow(TooManyItems);
  });

  it('is refused where its points are deferred, and each would keep it as text', () => {
    const body = heavyMetric(range(200, () => ({ asInt: '1' })));
    expect(() => encodeMetricsOfJson(body)).toThrow(/data points of the request/);
  });
});

const dayNanos = 86_400_000_000_000n;

/** This many spans, of which no two that follow one another start on the same day, or in the same week. */
const scattered = (spans: number, days: number) =>
  Array.from({ length: spans }, (_, index) => {
    const time = String(BigInt(goodSpan.startTimeUnixNano) - BigInt(index % days) * dayNanos);
    return { ...goodSpan, startTimeUnixNano: time, endTimeUnixNano: time };
  });

// Spans that start on one day are one block: 50,000 spans on as many days as are valid were 50,000 blocks, which held the event loop
// for 2 s, and then as many inserts.
describe('spans that start on very many days', () => {
  it('are kept up to a number of blocks, and rejected one by one beyond', () => {
    const encoded = encodeJson(requestOf(...scattered(blocksMax + 100, 8000), goodSpan));
    expect(encoded.runs.flatMap(({ parts }) => parts)).toHaveLength(blocksMax);
    // The last span starts on the first day, but in a message that has no block of it.
    expect([encoded.accepted, ...encoded.rejected]).toEqual([blocksMax, ['too_many_days', 101]]);
    expect(encoded.examples[0]).toMatchObject({ index: blocksMax, field: 'startTimeUnixNano' });
    const dropped = encoded.runs.flatMap(({ dropped: each }) => each.map(({ reasons }) => [...reasons]));
    expect(dropped.flat().reduce((sum, [, spans]) => sum + spans, 0)).toBe(101);
  });

  it('take their places from no span of a day that the message has', () => {
    const days = scattered(blocksMax, 8000);
    const encoded = encodeJson(requestOf(...days, ...days.slice(-3)));
    expect([encoded.accepted, encoded.rejected.size]).toEqual([blocksMax + 3, 0]);
  });

  it('are all kept when they are a year in the order of time', () => {
    const year = scattered(365, 365).flatMap((span) => Array.from({ length: 20 }, () => span));
    expect(encodeJson(requestOf(...year)).accepted).toBe(7300);
  });

  it('take no block when they are deferred', () => {
    const policy = { ...owner.policy, ageMsMax: 1 };
    const context = spansContext({ resolve: () => ({ ...owner, policy }) });
    const { deferred, rejected } = encodeJson(requestOf(...scattered(blocksMax + 1, 8000)), context);
    expect([[...deferred], rejected.size]).toEqual([[['timestamp_too_old', blocksMax + 1]], 0]);
  });
});

// An unknown token is looked up on the bus: a body of 64 MiB has room for a million of them, from a sender with none that is good.
describe.each([
  ['JSON', (body: object) => jsonTraces.collectTokens(Buffer.from(JSON.stringify(body)))],
  ['protobuf', (body: object) => protobufTraces.collectTokens(encodeOtlpProtobuf(body))],
] as const)('the tokens of a request in %s', (_, collect) => {
  const naming = (tokens: number) => ({
    resourceSpans: Array.from({ length: 3 * tokensMax }, (__, index) => ({
      resource: {
        attributes: [{ key: 'mon.data.token', value: { stringValue: `token ${index % tokens}` } }],
      },
      scopeSpans: [{ spans: [goodSpan] }],
    })),
  });

  it('are read up to a number of different ones', () => {
    expect(collect(naming(tokensMax))).toHaveLength(tokensMax);
  });

  it('are refused beyond', () => {
    expect(() => collect(naming(tokensMax + 1))).toThrow(TooManyTokens);
  });
});

/** 300 rows in a split table, three of which fill a message, in 4 KB. */
const widePoint = {
  metrics: Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`m${index}`, index])),
  dimension: { text: 'x'.repeat(1000) },
};
const perRun = Math.floor(runBudget / pointCost(widePoint, true));
const encodePush = (points: number, layout: 'wide' | 'narrow') =>
  encodeWithNames(
    Array.from({ length: points }, () => widePoint),
    contextWith(sourceWith(layout)),
  );

// In a split table the row of each metric repeats the dimensions: 1.2 MB of points came to 134 MB of rows.
describe('points of many metrics with large dimensions', () => {
  it('are taken up to a number of messages', () => {
    const encoded = encodePush(perRun * pushRunsMax, 'narrow');
    expect([encoded.isTooMuch, encoded.runs.length]).toEqual([false, pushRunsMax]);
    expect(encoded.accepted).toBe(perRun * pushRunsMax);
  });

  it('are too much beyond, and then no further point is encoded', () => {
    const encoded = encodePush(perRun * pushRunsMax * 10, 'narrow');
    expect([encoded.isTooMuch, encoded.runs.length]).toEqual([true, pushRunsMax]);
    expect(encoded.accepted).toBe(perRun * pushRunsMax);
  });

  it('are no more than they were in a wide table', () => {
    const encoded = encodePush(perRun * pushRunsMax * 2, 'wide');
    expect([encoded.isTooMuch, encoded.accepted]).toEqual([false, perRun * pushRunsMax * 2]);
  });
});
