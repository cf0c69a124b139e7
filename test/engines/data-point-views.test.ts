// The views of data points: which rows are one series, and counts that no signed integer of 64 bits holds.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { migrate } from '../../src/stores/clickhouse/migrate.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

const folder = new URL('../../schemas/sql/clickhouse', import.meta.url).pathname;
const period = "since = '2026-11-20 10:00:00', until = '2026-11-20 11:00:00'";
const ofMetric = `${period}, metric = 'm'`;
const quantiles = `${ofMetric}, step = 0, by = ''`;
const tables = ['gauge', 'sum', 'histogram', 'exponential_histogram', 'summary'] as const;

let engines: TestEngines;
let clickhouse: Clickhouse;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  await migrate({ clickhouse, folder, log: createLog('test', 'silent') });
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});
beforeEach(async () => {
  for (const table of tables) await clickhouse.run(`TRUNCATE TABLE otel.otel_metrics_${table}`);
});

const anyRow = z.record(z.string(), z.unknown());
const rowsOf = (query: string) => clickhouse.rows(anyRow, query);

describe('series whose scopes differ in an attribute alone', () => {
  const columns = {
    gauge: 'Value, HasValue',
    sum: 'Value, HasValue, IsMonotonic',
    histogram: 'Count, BucketCounts, ExplicitBounds',
    exponential_histogram: 'Count, PositiveBucketCounts',
    summary: 'Count',
  };
  const values = {
    gauge: 'total, true',
    sum: 'total, true, true',
    histogram: 'total, [0, total], [1]',
    exponential_histogram: 'total, [total]',
    summary: 'total',
  };

  /** Two cumulative series from 9:59:30 on, a point a minute: 100, 110, 120 of tenant a, and 5, 6, 7 of tenant b. */
  const insert = async (table: (typeof tables)[number]): Promise<void> => {
    const temporality = table === 'gauge' || table === 'summary' ? '' : 'AggregationTemporality, ';
    await clickhouse.run(
      `INSERT INTO otel.otel_metrics_${table} (MetricName, ScopeName, ScopeVersion, ScopeAttributes, ${temporality}TimeUnix, uid, ${columns[table]})
       SELECT 'm', 'scope', '1', if(i = 1, map('tenant', tenant, 'x', 'y'), map('x', 'y', 'tenant', tenant)), ${temporality === '' ? '' : '2, '}
         toDateTime64('2026-11-20 09:59:30', 9) + INTERVAL i MINUTE, total, ${values[table]}
       FROM (SELECT arrayJoin([('a', [100, 110, 120]), ('b', [5, 6, 7])]) AS p, p.1 AS tenant)
       ARRAY JOIN p.2::Array(UInt64) AS total, range(3) AS i`,
    );
  };

  it('are not mixed in the increases of a sum', async () => {
    await insert('sum');
    expect(
      await rowsOf(
        `SELECT ScopeAttributes['tenant'] AS tenant, sum(Increase) AS increase, countIf(IsReset)::UInt8 AS resets
         FROM otel.otel_metrics_sum_increases(${ofMetric}) GROUP BY tenant, Series ORDER BY tenant`,
      ),
    ).toEqual([
      { tenant: 'a', increase: 20, resets: 0 },
      { tenant: 'b', increase: 2, resets: 0 },
    ]);
  });

  it.each(['histogram', 'exponential_histogram'] as const)(
    'are not mixed in the counts of a %s',
    async (table) => {
      await insert(table);
      expect(
        await rowsOf(`SELECT Count::UInt8 AS count FROM otel.otel_metrics_${table}_quantiles(${quantiles})`),
      ).toEqual([{ count: 22 }]);
    },
  );

  it.each(['gauge', 'sum'] as const)('have each a last value of a %s', async (table) => {
    await insert(table);
    expect(
      await rowsOf(
        `SELECT ScopeAttributes['tenant'] AS tenant, LastValue AS last FROM otel.otel_metrics_last(${ofMetric}) ORDER BY tenant`,
      ),
    ).toEqual([
      { tenant: 'a', last: 120 },
      { tenant: 'b', last: 7 },
    ]);
  });

  it.each(['histogram', 'exponential_histogram', 'summary'] as const)(
    'have each a last data point of a %s',
    async (table) => {
      await insert(table);
      expect(
        await rowsOf(
          `SELECT ScopeAttributes['tenant'] AS tenant, Count::UInt8 AS last
           FROM otel.otel_metrics_last_distributions(${ofMetric}) ORDER BY tenant`,
        ),
      ).toEqual([
        { tenant: 'a', last: 120 },
        { tenant: 'b', last: 7 },
      ]);
    },
  );

  it.each(tables)('count as two of a %s', async (table) => {
    await insert(table);
    expect(
      await rowsOf(`SELECT SeriesCount::UInt8 AS series FROM otel.otel_metrics_series(${period})`),
    ).toEqual([{ series: 2 }]);
  });
});

describe('a count that no signed integer of 64 bits holds', () => {
  const most = '18446744073709551615';

  /** The points of one series, each (count, buckets), a minute apart. */
  const insert = async (table: 'histogram' | 'exponential_histogram', temporality: 1 | 2, points: string) => {
    const buckets =
      table === 'histogram' ? 'ExplicitBounds, BucketCounts' : 'PositiveOffset, PositiveBucketCounts';
    await clickhouse.run(
      `INSERT INTO otel.otel_metrics_${table} (MetricName, AggregationTemporality, TimeUnix, uid, Count, ${buckets})
       SELECT 'm', ${temporality}, toDateTime64('2026-11-20 09:59:30', 9) + INTERVAL i + ${2 - temporality} MINUTE, i,
         p.1, ${table === 'histogram' ? '[10.]' : '0'}, p.2
       FROM (SELECT [${points}]::Array(Tuple(UInt64, Array(UInt64))) AS points) ARRAY JOIN points AS p, range(length(points)) AS i`,
    );
  };
  const quantilesOf = (table: string, buckets: string) =>
    rowsOf(
      `SELECT toString(Count) AS count, toString(${buckets}) AS buckets, round(P50, 2) AS p50, round(P99, 2) AS p99
       FROM otel.otel_metrics_${table}_quantiles(${quantiles})`,
    );

  it.each([
    ['histogram', 'BucketCounts', { p50: 5, p99: 9.9 }],
    ['exponential_histogram', 'Buckets', { p50: 1.41, p99: 1.99 }],
  ] as const)('is not shown of a %s, whose quantiles hold', async (table, buckets, expected) => {
    await insert(table, 1, `(${most}, [${most}, 0])`);
    expect(await quantilesOf(table, buckets)).toEqual([{ count: null, buckets: '[]', ...expected }]);
  });

  it.each([
    ['histogram', 'BucketCounts'],
    ['exponential_histogram', 'Buckets'],
  ] as const)('is not shown of a %s where several data points reach it together', async (table, buckets) => {
    await insert(
      table,
      1,
      Array.from({ length: 3 }, () => '(9000000000000000000, [9000000000000000000, 0])').join(),
    );
    expect(await quantilesOf(table, buckets)).toMatchObject([{ count: null, buckets: '[]' }]);
  });

  // From 2^63 on a count would be negative, and smaller than the one before it.
  it.each([
    ['histogram', 'BucketCounts', '[7,0]'],
    ['exponential_histogram', 'Buckets', '[(1,0,7)]'],
  ] as const)('grows in a cumulative %s as others do', async (table, buckets, shown) => {
    const counts = ['9223372036854775805', '9223372036854775812'];
    await insert(table, 2, counts.map((count) => `(${count}, [${count}, 0])`).join());
    const [row] = await quantilesOf(table, buckets);
    expect([row?.['count'], row?.['buckets']]).toEqual(['7', shown]);
  });

  it.each([
    ['histogram', [5, 9.5, 9.9]],
    ['exponential_histogram', [1.41, 1.93, 1.99]],
  ] as const)('is shown of the last data point of a %s, with its quantiles', async (table, expected) => {
    await insert(table, 1, `(${most}, [${most}, 0])`);
    expect(
      await rowsOf(
        `SELECT toString(Count) AS count, arrayMap(value -> round(assumeNotNull(value), 2), QuantileValues) AS quantiles
         FROM otel.otel_metrics_last_distributions(${ofMetric})`,
      ),
    ).toEqual([{ count: most, quantiles: expected }]);
  });
});
