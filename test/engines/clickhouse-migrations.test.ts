import { execFile } from 'node:child_process';
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { minuteText, momentText } from '../../src/outcomes/times.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { createLedgerWriter } from '../../src/stores/clickhouse/ledger-writer.ts';
import { migrate, migrateWhenUp } from '../../src/stores/clickhouse/migrate.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { spanColumns } from '../../src/wire/native/span-columns.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

const ownFolder = new URL('../../schemas/sql/clickhouse', import.meta.url).pathname;
/** The output of a run that changes nothing beside its steps. */
const unchanged = { ttlChanged: [], durabilityChanged: [], restored: [] };

const names = [
  '001_otel_traces',
  '002_otel_traces_trace_id_ts',
  '003_otel_traces_trace_id_ts_mv',
  '004_ingest_outcomes',
  '005_ingest_refusals',
  '006_ingest_samples',
  '007_span_part_format',
  '008_ingest_outcomes_letters',
  '009_ingest_settled',
  '010_ingest_published',
  '011_ingest_doubtful',
  '012_ingest_lines',
  '013_ingest_outcomes_mv',
  '014_ingest_settled_mv',
  '015_ingest_differences',
  '016_ingest_closings',
  '017_ingest_usage',
  '018_ingest_days',
  '019_ingest_days_mv',
  '020_ingest_settled_record',
  '021_ingest_settled_mv_record',
  '022_ingest_differences_placed',
  '023_ingest_samples_request',
  '024_otel_logs',
  '025_otel_metrics_gauge',
  '026_otel_metrics_sum',
  '027_otel_metrics_histogram',
  '028_otel_metrics_exponential_histogram',
  '029_otel_metrics_summary',
  '030_otel_traces_red',
  '031_otel_metrics_sum_increases',
  '032_otel_metrics_histogram_quantiles',
  '033_otel_metrics_exponential_histogram_quantiles',
  '034_otel_metrics_last',
  '035_otel_metrics_series',
  '036_ingest_usage_pipeline',
  '037_otel_metrics_last_distributions',
  '038_otel_traces_red_days',
  '039_otel_metrics_sum_increases_days',
  '040_otel_metrics_histogram_quantiles_days',
  '041_otel_metrics_exponential_histogram_quantiles_days',
  '042_otel_traces_red_error',
  '043_ingest_outcomes_indexes',
  '044_ingest_settled_index',
  '045_otel_traces_red_exact',
  '046_otel_metrics_histogram_quantiles_starts',
  '047_otel_metrics_exponential_histogram_quantiles_starts',
  '048_otel_metrics_sum_increases_unknown_starts',
  '049_otel_metrics_histogram_quantiles_unknown_starts',
  '050_otel_metrics_exponential_histogram_quantiles_unknown_starts',
  '051_ingest_days_ttl',
  '052_otel_metrics_exponential_histogram_quantiles_zeros',
  '053_otel_metrics_histogram_quantiles_finite_sums',
  '054_ingest_differences_ttl',
  '055_ingest_closings_ttl',
  '056_ingest_settled_record_high',
  '057_ingest_settled_mv_record_high',
  '058_otel_metrics_sum_increases_scopes',
  '059_otel_metrics_last_scopes',
  '060_otel_metrics_series_scopes',
  '061_otel_metrics_histogram_quantiles_large_counts',
  '062_otel_metrics_exponential_histogram_quantiles_large_counts',
  '063_otel_metrics_last_distributions_large_counts',
  '064_ingest_stream_ends',
];
const version = names.length;
const log = createLog('test', 'silent');

let engines: TestEngines;
let clickhouse: Clickhouse;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});
beforeEach(async () => {
  await clickhouse.run('DROP DATABASE IF EXISTS otel SYNC');
});

const run = (folder = ownFolder) => migrate({ clickhouse, folder, log });

const folderCopy = async (): Promise<string> => {
  const folder = await tempFolder();
  cpSync(ownFolder, folder, { recursive: true });
  return folder;
};

const countOf = async (query: string): Promise<number> => {
  const [row] = await clickhouse.rows(
    z.object({ c: z.coerce.number() }),
    `SELECT count() AS c FROM ${query}`,
  );
  return row?.c ?? Number.NaN;
};

describe('the views of spans and data points', () => {
  const period = "since = '2026-11-20 10:00:00', until = '2026-11-20 11:00:00'";
  const quantiles = `${period}, metric = 'm', step = 0, by = ''`;
  const rowsRead = z.object({ statistics: z.object({ rows_read: z.number() }) });

  it.each([
    ['otel_traces', 'Timestamp', `otel_traces_red(${period}, step = 0, by = 'service', kinds = [''])`],
    ['otel_metrics_sum', 'TimeUnix', `otel_metrics_sum_increases(${period}, metric = 'm')`],
    ['otel_metrics_histogram', 'TimeUnix', `otel_metrics_histogram_quantiles(${quantiles})`],
    [
      'otel_metrics_exponential_histogram',
      'TimeUnix',
      `otel_metrics_exponential_histogram_quantiles(${quantiles})`,
    ],
  ])(
    'of %s read only the days of their period, as a user who may change no setting, too',
    async (table, time, view) => {
      await run();
      const name = table === 'otel_traces' ? 'ServiceName' : 'MetricName';
      for (const day of [18, 19, 20, 21])
        await clickhouse.run(
          `INSERT INTO otel.${table} (${name}, ${time}, uid) VALUES ('m', '2026-11-${day} 10:30:00', ${day})`,
        );
      const answer = await fetchEngine(`${engines.clickhouse.url}/?readonly=1`, {
        method: 'POST',
        body: `SELECT * FROM otel.${view} FORMAT JSON`,
      });
      expect(rowsRead.parse(await answer.json()).statistics.rows_read).toBe(1);
    },
  );

  const redOf = (services: string) =>
    `otel.otel_traces_red(
       since = '2026-11-23 10:00:00', until = '2026-11-23 11:00:00', step = 0, by = 'service', kinds = ['Server'])
     WHERE ${services}`;

  it('of spans show no duration that is more than 1 % off', async () => {
    await run();
    // 1001 spans a service, more than are kept for exact quantiles, from 1 nanosecond to 5 hours: its quantiles are their duration.
    await clickhouse.run(
      `INSERT INTO otel.otel_traces (ServiceName, SpanKind, Timestamp, Duration, uid)
       SELECT toString(number % 61), 'Server', '2026-11-23 10:30:00', toUInt64(exp((number % 61) / 2)), number
       FROM numbers(61 * 1001)`,
    );
    const within = (ms: string) => `abs(${ms} * 1e6 / toUInt64(exp(toUInt64(ServiceName) / 2)) - 1) <= 0.01`;
    const all = ['Requests = 1001', ...['P50Ms', 'P95Ms', 'P99Ms'].map(within)].join(' AND ');
    expect(await countOf(redOf(all))).toBe(61);
  });

  it('of spans show the slow ones among few requests: their quantiles are exact', async () => {
    await run();
    // Service n has n requests. Request i of a service takes i + 1 ms, and its last one ten seconds.
    await clickhouse.run(
      `INSERT INTO otel.otel_traces (ServiceName, SpanKind, Timestamp, Duration, uid)
       SELECT toString(requests), 'Server', '2026-11-23 10:30:00', if(i + 1 = requests, 10000, i + 1) * 1000000, requests * 1000 + i
       FROM (SELECT arrayJoin(arrayConcat(range(1, 201), [999, 1000])) AS requests) ARRAY JOIN range(requests) AS i`,
    );
    const at = (level: number) =>
      `if(toUInt64(${level} * Requests) + 1 = Requests, 10000, toUInt64(${level} * Requests) + 1)`;
    expect(
      await countOf(
        redOf(
          `toUInt64(ServiceName) = Requests AND P50Ms = ${at(0.5)} AND P95Ms = ${at(0.95)} AND P99Ms = ${at(0.99)}`,
        ),
      ),
    ).toBe(202);
    expect(await countOf(redOf('P99Ms = 10000'))).toBe(100);
  });

  const cumulatives = [
    [
      'sum',
      'Value, HasValue, IsMonotonic',
      'total, true, true',
      `sum(Increase) AS c FROM otel.otel_metrics_sum_increases(${period}, metric = 'm')`,
    ],
    [
      'histogram',
      'Count, BucketCounts, ExplicitBounds',
      'total, [1000, total - 1000], [1]',
      `sum(Count) AS c FROM otel.otel_metrics_histogram_quantiles(${quantiles})`,
    ],
    [
      'exponential_histogram',
      'Count, PositiveBucketCounts',
      'total, [1000, total - 1000]',
      `sum(Count) AS c FROM otel.otel_metrics_exponential_histogram_quantiles(${quantiles})`,
    ],
  ] as const;

  it.each(cumulatives)(
    'of a cumulative %s add what is new while a start time moves by a millisecond, and all of it after a restart',
    async (table, columns, values, sums) => {
      await run();
      // 1000 before the period and one more each minute, under a start of an hour ago that moves; then a restart, and 2000 and 2001.
      const starts = "toDateTime64('2026-11-20 09:00:00', 9) + INTERVAL if(i % 2 = 1, 1, 0) MILLISECOND";
      await clickhouse.run(
        `INSERT INTO otel.otel_metrics_${table} (MetricName, AggregationTemporality, StartTimeUnix, TimeUnix, uid, ${columns})
         SELECT 'm', 2, if(i < 11, ${starts}, toDateTime64('2026-11-20 10:10:00', 9)),
           toDateTime64('2026-11-20 09:59:30', 9) + INTERVAL i MINUTE, i, ${values}
         FROM (SELECT number AS i, if(i < 11, 1000, 1989) + i AS total FROM numbers(13))`,
      );
      const [row] = await clickhouse.rows(z.object({ c: z.coerce.number() }), `SELECT ${sums}`);
      expect(row?.c).toBe(10 + 2001);
    },
  );

  // A Collector that starts again while its target runs on sends such a point, and its later ones begin at that time.
  it.each(cumulatives)(
    'of a cumulative %s take a point whose start is its own time as one without a start',
    async (table, columns, values, sums) => {
      await run();
      // 2000 before the period and one more each minute; at 10:05:30 the start is not known. At 10:09:30 neither, and 1001 is a reset.
      await clickhouse.run(
        `INSERT INTO otel.otel_metrics_${table} (MetricName, AggregationTemporality, StartTimeUnix, TimeUnix, uid, ${columns})
         SELECT 'm', 2, if(i < 6, toDateTime64('2026-11-20 09:00:00', 9), first + INTERVAL if(i < 10, 6, 10) MINUTE),
           first + INTERVAL i MINUTE, i, ${values}
         FROM (SELECT number AS i, toDateTime64('2026-11-20 09:59:30', 9) AS first, if(i < 10, 2000, 991) + i AS total FROM numbers(13))`,
      );
      const [row] = await clickhouse.rows(z.object({ c: z.coerce.number() }), `SELECT ${sums}`);
      expect(row?.c).toBe(9 + 1003);
    },
  );

  it.each([
    ['one value that is no number', '(1, NULL), (2, NULL), (nan, NULL), (5, NULL)', 4],
    ['an infinity', '(1, NULL), (2, NULL), (inf, NULL), (5, NULL)', 4],
    [
      'integers that no double holds',
      '(9007199254740992, 9007199254740992), (9007199254740992, 9007199254740993), (9007199254740996, 9007199254740995)',
      3,
    ],
  ])('of a cumulative sum add what is new beside %s', async (_, points, increase) => {
    await run();
    await clickhouse.run(
      `INSERT INTO otel.otel_metrics_sum
         (MetricName, AggregationTemporality, IsMonotonic, TimeUnix, uid, HasValue, Value, ValueInt)
       SELECT 'm', 2, true, toDateTime64('2026-11-20 09:59:30', 9) + INTERVAL i MINUTE, i, true, p.1, p.2
       FROM (SELECT [${points}] AS points) ARRAY JOIN points AS p, range(length(points)) AS i`,
    );
    const [row] = await clickhouse.rows(
      z.object({ increase: z.coerce.number(), resets: z.coerce.number() }),
      `SELECT sum(Increase) AS increase, countIf(IsReset) AS resets
       FROM otel.otel_metrics_sum_increases(${period}, metric = 'm')`,
    );
    expect(row).toEqual({ increase, resets: 0 });
  });

  it.each([
    ['delta', 'histogram', 1, 9],
    ['delta', 'exponential_histogram', 1, 9],
    ['cumulative', 'histogram', 2, 1],
    ['cumulative', 'exponential_histogram', 2, 1],
  ])(
    'of a %s %s leave out a sum that is no number, and keep the others',
    async (_, table, temporality, sum) => {
      await run();
      // The first series has the sums 1, 2, one that is no number, and 6; those of the second one are no numbers at all.
      await clickhouse.run(
        `INSERT INTO otel.otel_metrics_${table} (MetricName, Attributes, AggregationTemporality, TimeUnix, uid, Count, Sum, HasSum)
       SELECT 'm', map('series', series), ${temporality}, toDateTime64('2026-11-20 10:00:30', 9) + INTERVAL i MINUTE, i, i, s, true
       FROM (SELECT arrayJoin([('a', [1, 2, nan, 6]), ('b', [-inf, inf, nan, nan])]) AS p, p.1 AS series)
       ARRAY JOIN p.2 AS s, range(4) AS i`,
      );
      const [row] = await clickhouse.rows(
        z.object({ sum: z.number() }),
        `SELECT sum(Sum) AS sum FROM otel.otel_metrics_${table}_quantiles(${quantiles})`,
      );
      expect(row).toEqual({ sum });
    },
  );

  const bucketsOf = z.object({ buckets: z.array(z.array(z.coerce.number())), count: z.coerce.number() });

  it.each([
    [
      'a smaller bucket is a reset, also without a start time and with more values than before',
      '(0, 0, 0, 10, [100]), (0, 0, 0, 2, [150])',
      [[1, 2, 150]],
    ],
    [
      'buckets that join to those of a coarser scale are no reset',
      '(1, 0, 0, 4, [30, 50]), (0, 0, 0, 2, [85])',
      [[1, 2, 5]],
    ],
    [
      'a smaller bucket of a coarser scale is a reset',
      '(1, 0, 0, 4, [30, 50]), (0, 0, 0, 2, [79, 10])',
      [
        [1, 2, 79],
        [1, 3, 10],
      ],
    ],
    [
      'a smaller count of zeros is a reset',
      '(0, 9, 0, 2, [1]), (0, 8, 0, 2, [5])',
      [
        [0, 0, 8],
        [1, 2, 5],
      ],
    ],
    [
      'buckets that a wider zero bucket takes in are no reset',
      '(0, 9, 0, 0, [40, 0, 60]), (0, 50, 2, 2, [65])',
      [
        [0, 0, 1],
        [1, 2, 5],
      ],
    ],
    [
      'a point of zeros alone, which SDKs send at scale 0, makes no bucket coarser',
      '(3, 0, 0, 9, []), (3, 0, 0, 9, [1, 2]), (0, 5, 0, 0, [])',
      [
        [0, 0, 5],
        [1, 9, 1],
        [1, 10, 2],
      ],
    ],
    [
      'the zeros of a point before, which SDKs send at scale 0, count once beside the first buckets',
      '(0, 5, 0, 0, []), (3, 5, 0, 9, [1, 2])',
      [
        [1, 9, 1],
        [1, 10, 2],
      ],
    ],
  ])('of a cumulative exponential histogram: %s', async (_, points, expected) => {
    await run();
    await clickhouse.run(
      `INSERT INTO otel.otel_metrics_exponential_histogram
         (MetricName, AggregationTemporality, TimeUnix, uid, Scale, ZeroCount, ZeroThreshold, PositiveOffset, PositiveBucketCounts, Count)
       SELECT 'm', 2, toDateTime64('2026-11-20 09:59:30', 9) + INTERVAL i MINUTE, i, p.1, p.2, p.3, p.4, p.5, p.2 + arraySum(p.5)
       FROM (SELECT [${points}] AS points) ARRAY JOIN points AS p, range(length(points)) AS i`,
    );
    const [row] = await clickhouse.rows(
      bucketsOf,
      `SELECT arrayMap(bucket -> [bucket.1, bucket.2, bucket.3], arrayFilter(bucket -> bucket.3 != 0, Buckets)) AS buckets, Count AS count
       FROM otel.otel_metrics_exponential_histogram_quantiles(${quantiles})`,
    );
    expect(row).toEqual({
      buckets: expected,
      count: expected.reduce((sum, bucket) => sum + (bucket[2] ?? 0), 0),
    });
  });
});

describe('the span table', () => {
  const zstd = 'CODEC(ZSTD(1))';
  const low = 'LowCardinality(String)';
  const map = `Map(${low}, String)`;

  // What the OpenTelemetry ClickHouse exporter documents; Grafana's plugin and HyperDX find columns by these names and types.
  const exporterColumns = [
    ['Timestamp', 'DateTime64(9)', 'CODEC(Delta(8), ZSTD(1))'],
    ['TraceId', 'String', zstd],
    ['SpanId', 'String', zstd],
    ['ParentSpanId', 'String', zstd],
    ['TraceState', 'String', zstd],
    ['SpanName', low, zstd],
    ['SpanKind', low, zstd],
    ['ServiceName', low, zstd],
    ['ResourceAttributes', map, zstd],
    ['ScopeName', 'String', zstd],
    ['ScopeVersion', 'String', zstd],
    ['SpanAttributes', map, zstd],
    ['Duration', 'UInt64', zstd],
    ['StatusCode', low, zstd],
    ['StatusMessage', 'String', zstd],
    ['Events.Timestamp', 'Array(DateTime64(9))', zstd],
    ['Events.Name', `Array(${low})`, zstd],
    ['Events.Attributes', `Array(${map})`, zstd],
    ['Links.TraceId', 'Array(String)', zstd],
    ['Links.SpanId', 'Array(String)', zstd],
    ['Links.TraceState', 'Array(String)', zstd],
    ['Links.Attributes', `Array(${map})`, zstd],
  ];

  const columnsOf = (table: string) =>
    clickhouse.rows(
      z.object({ name: z.string(), type: z.string(), codec: z.string(), default: z.string() }),
      `SELECT name, type, compression_codec AS codec, default_kind AS default FROM system.columns
        WHERE database = 'otel' AND table = {table:String} ORDER BY position`,
      { params: { table } },
    );

  it("begins with the exporter's columns, types and codecs, and no column fills itself", async () => {
    await run();
    const columns = await columnsOf('otel_traces');
    expect(
      columns.slice(0, exporterColumns.length).map(({ name, type, codec }) => [name, type, codec]),
    ).toEqual(exporterColumns);
    expect(columns.map((column) => column.default)).toEqual(columns.map(() => ''));
  });

  // Blocks and the guard's input() are made from the list: a table of other columns would refuse or misread them.
  it('has exactly the columns of the list that blocks are made from', async () => {
    await run();
    expect((await columnsOf('otel_traces')).map(({ name, type }) => ({ name, type }))).toEqual([
      ...spanColumns,
    ]);
  });

  it("has the exporter's indexes, and one for the guard", async () => {
    await run();
    const indexes = await clickhouse.rows(
      z.object({ name: z.string(), type: z.string(), expr: z.string(), granularity: z.coerce.number() }),
      `SELECT name, type_full AS type, expr, granularity FROM system.data_skipping_indices
        WHERE database = 'otel' AND table = 'otel_traces'`,
    );
    expect(indexes.map(({ name, type, expr }) => [name, type, expr])).toEqual([
      ['idx_trace_id', 'bloom_filter(0.001)', 'TraceId'],
      ['idx_res_attr_key', 'bloom_filter(0.01)', 'mapKeys(ResourceAttributes)'],
      ['idx_res_attr_value', 'bloom_filter(0.01)', 'mapValues(ResourceAttributes)'],
      ['idx_span_attr_key', 'bloom_filter(0.01)', 'mapKeys(SpanAttributes)'],
      ['idx_span_attr_value', 'bloom_filter(0.01)', 'mapValues(SpanAttributes)'],
      ['idx_duration', 'minmax', 'Duration'],
      ['idx_uid', 'minmax', 'uid'],
    ]);
    expect(new Set(indexes.map(({ granularity }) => granularity))).toEqual(new Set([1]));
  });

  it('collapses rows of one uid, is read by service, name and time, and forgets nothing', async () => {
    await run();
    const tables = await clickhouse.rows(
      z.object({ name: z.string(), engine_full: z.string() }),
      "SELECT name, engine_full FROM system.tables WHERE database = 'otel' AND name LIKE 'otel_traces%' AND engine != 'View' ORDER BY name",
    );
    expect(tables.map(({ name, engine_full }) => [name, engine_full])).toEqual([
      [
        'otel_traces',
        'ReplacingMergeTree PARTITION BY toDate(Timestamp) ' +
          'PRIMARY KEY (ServiceName, SpanName, toDateTime(Timestamp)) ' +
          'ORDER BY (ServiceName, SpanName, toDateTime(Timestamp), uid) ' +
          'SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 0, ' +
          'min_bytes_for_wide_part = 10485760, min_level_for_wide_part = 1',
      ],
      [
        'otel_traces_trace_id_ts',
        'MergeTree PARTITION BY toDate(Start) ORDER BY (TraceId, Start) ' +
          'SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 0',
      ],
      ['otel_traces_trace_id_ts_mv', ''],
    ]);
  });

  it("has the exporter's lookup of traces beside it", async () => {
    await run();
    expect((await columnsOf('otel_traces_trace_id_ts')).map(({ name, type }) => [name, type])).toEqual([
      ['TraceId', 'String'],
      ['Start', 'DateTime'],
      ['End', 'DateTime'],
    ]);
  });
});

describe('a migration', () => {
  it('applies each step once, in order, and reports the steps and the resulting version', async () => {
    expect(await run()).toEqual({ ...unchanged, applied: names, version });
    expect(await run()).toEqual({ ...unchanged, applied: [], version });
    expect(await countOf('otel.schema_migrations')).toBe(version);
  });

  // Every role of every replica may do it at its start.
  it('may run in any number of processes at once', async () => {
    const clients = Array.from({ length: 8 }, () => createClickhouse({ url: engines.clickhouse.url }));
    onTestFinished(async () => {
      await Promise.all(clients.map((client) => client.close()));
    });
    const results = await Promise.all(
      clients.map((client) => migrate({ clickhouse: client, folder: ownFolder, log })),
    );
    expect(results.map((result) => result.version)).toEqual(results.map(() => version));
    expect(await run()).toEqual({ ...unchanged, applied: [], version });
    expect(await countOf('otel.schema_migrations FINAL')).toBe(version);
  });

  it('that was killed between a step and its record continues from there', async () => {
    await run();
    await clickhouse.run('DROP TABLE otel.otel_traces_trace_id_ts_mv SYNC');
    await clickhouse.run(
      'ALTER TABLE otel.schema_migrations DELETE WHERE version >= 2 SETTINGS mutations_sync = 1',
    );
    expect(await run()).toEqual({ ...unchanged, applied: names.slice(1), version });
    expect(
      await countOf("system.tables WHERE database = 'otel' AND name = 'otel_traces_trace_id_ts_mv'"),
    ).toBe(1);
  });

  // Two installations with other tables under one version would each believe the schema is theirs.
  it('refuses a file that was changed after it was applied, by name, and applies nothing', async () => {
    await run();
    const folder = await folderCopy();
    writeFileSync(join(folder, '002_otel_traces_trace_id_ts.sql'), 'SELECT 1');
    writeFileSync(
      join(folder, '900_more.sql'),
      'CREATE TABLE IF NOT EXISTS otel.more (a UInt8) ENGINE = Memory',
    );
    await expect(run(folder)).rejects.toMatchObject({
      kind: 'permanent',
      code: 'migration_changed',
      message: expect.stringMatching(
        /002_otel_traces_trace_id_ts\.sql.* made by another build\. Start that build/,
      ),
    });
    expect(await countOf("system.tables WHERE database = 'otel' AND name = 'more'")).toBe(0);
  });

  it('takes new files, with numbers left free, and leaves the steps of newer programs alone', async () => {
    await run();
    const folder = await folderCopy();
    writeFileSync(
      join(folder, '900_more.sql'),
      'CREATE TABLE IF NOT EXISTS otel.more (a UInt8) ENGINE = Memory',
    );
    expect(await run(folder)).toEqual({ ...unchanged, applied: ['900_more'], version: 900 });
    expect(await run()).toEqual({ ...unchanged, applied: [], version: 900 });
  });

  it.each([
    ['bad-name.sql', 'bad-name.sql'],
    ['3_short.sql', '3_short.sql'],
    ['003_again.sql', '003_again.sql'],
  ])('names the file %s that cannot be a step', async (file, shown) => {
    const folder = await folderCopy();
    writeFileSync(join(folder, file), 'SELECT 1');
    await expect(run(folder)).rejects.toMatchObject({
      code: 'migrations_invalid',
      message: expect.stringContaining(shown),
    });
  });

  it('reports a missing folder', async () => {
    await expect(run(join(await tempFolder(), 'none'))).rejects.toMatchObject({ code: 'migrations_invalid' });
  });

  it('names the file whose statement is refused, and continues once it is corrected', async () => {
    const folder = await folderCopy();
    renameSync(join(folder, '002_otel_traces_trace_id_ts.sql'), join(folder, 'kept'));
    writeFileSync(join(folder, '002_otel_traces_trace_id_ts.sql'), 'CREATE TABEL x');
    await expect(run(folder)).rejects.toMatchObject({
      kind: 'permanent',
      code: 'clickhouse_rejected',
      message: expect.stringMatching(/^002_otel_traces_trace_id_ts\.sql: .*62/),
    });
    rmSync(join(folder, '002_otel_traces_trace_id_ts.sql'));
    renameSync(join(folder, 'kept'), join(folder, '002_otel_traces_trace_id_ts.sql'));
    expect(await run(folder)).toEqual({ ...unchanged, applied: names.slice(1), version });
  });

  // IF NOT EXISTS takes any table of the name; repeats would be counted in this one.
  it.each([
    ['MergeTree', 'uid', 'has the engine MergeTree'],
    ['ReplacingMergeTree', 'Timestamp', 'expected uid at the end'],
    ['ReplacingMergeTree', '(Timestamp, uid)', 'has no column TraceId'],
  ])('refuses a table of another program: %s ordered by %s', async (engine, order, why) => {
    await clickhouse.run('CREATE DATABASE otel');
    await clickhouse.run(
      `CREATE TABLE otel.otel_traces (Timestamp DateTime64(9), uid UInt64) ENGINE = ${engine} ORDER BY ${order}`,
    );
    const folder = await folderCopy();
    rmSync(join(folder, '003_otel_traces_trace_id_ts_mv.sql'));
    await expect(run(folder)).rejects.toMatchObject({
      kind: 'permanent',
      code: 'clickhouse_table_unusable',
      message: expect.stringContaining(why),
    });
  });
});

describe('a dropped table', () => {
  it('is created again by the next run, with the view that fills it', async () => {
    await run();
    await clickhouse.run('DROP TABLE otel.otel_traces SYNC');
    expect(await run()).toEqual({ ...unchanged, applied: [], version, restored: names });
    await clickhouse.run("INSERT INTO otel.otel_traces (Timestamp, TraceId) SELECT now64(9), 'found'");
    expect(await countOf("otel.otel_traces_trace_id_ts WHERE TraceId = 'found'")).toBe(1);
    await clickhouse.run('DROP TABLE otel.ingest_refusals SYNC');
    const from = names.findIndex((name) => name.includes('ingest_refusals'));
    expect(await run()).toEqual({ ...unchanged, applied: [], version, restored: names.slice(from) });
    expect(await run()).toEqual({ ...unchanged, applied: [], version });
  });
});

describe('the lines of the settlers', () => {
  const minuteAt = minuteText(Date.now() - 60_000);
  const sentAt = minuteText(Date.now() - 120_000);
  const line = {
    ...{
      pipeline: 'metrics',
      data_id: 7,
      app_id: 0,
      base: '18446744073709551615',
      first: 3,
      ordinal: -1,
      redrive: 0,
    },
    ...{ minute: minuteAt, received: 3, outcomes: { stored: 1, dead_lettered: 2 } },
    ...{ at: momentText(Date.now()), stream: 'METRICS', life: 9, serial: 4, sent: sentAt },
    ...{ sequence: 11, owners: 2, items: 3, letters: [5, -1], letter_items: [1, 1] },
    ...{ days: [20_487], day_rows: [1], day_sums: ['18446744073709551615'] },
  };
  const { letters: _, letter_items: __, days: ___, day_rows: ____, day_sums: _____, ...bare } = line;
  const ownerless = { ...bare, data_id: 0, base: '0', outcomes: {}, received: 0, items: 0, sequence: 12 };
  const insert = (...lines: object[]) =>
    createLedgerWriter(clickhouse, 10_000).insert(
      'ingest_lines',
      lines.map((each) => Buffer.from(`${JSON.stringify(each)}\n`)),
    );
  const recordsOf = () =>
    clickhouse.rows(
      z.record(z.string(), z.unknown()),
      'SELECT data_id, base, outcomes, letters, letter_items, days, day_rows, day_sums, book FROM otel.ingest_outcomes FINAL',
    );
  const placesOf = () =>
    clickhouse.rows(
      z.record(z.string(), z.unknown()),
      `SELECT stream, life, serial, toString(minute) AS minute, sequence, data_id, owners, items FROM otel.ingest_settled FINAL
        ORDER BY sequence`,
    );

  it('go to the records and to the places with one insert, those without an owner to the places alone', async () => {
    await run();
    await insert(line, ownerless);
    await insert(line);
    const { letters, letter_items, days, day_rows, day_sums, base, data_id } = line;
    expect(await recordsOf()).toEqual([
      {
        ...{ data_id: String(data_id), base, outcomes: { stored: '1', dead_lettered: '2' } },
        ...{ letters: letters.map(String), letter_items, days, day_rows, day_sums, book: 1 },
      },
    ]);
    const place = { stream: 'METRICS', life: 9, serial: '4', minute: sentAt, owners: 2 };
    expect(await placesOf()).toEqual([
      { ...place, sequence: '11', data_id: '7', items: 3 },
      { ...place, sequence: '12', data_id: '0', items: 0 },
    ]);
  });

  // LEDGER's message is acknowledged after the insert: a line that reached one table alone would have no other chance.
  it.each(['ingest_outcomes', 'ingest_settled'])(
    'are inserted again where %s did not take them',
    async (table) => {
      await run();
      await clickhouse.run(`RENAME TABLE otel.${table} TO otel.away`);
      await expect(insert(line)).rejects.toMatchObject({ name: 'Fault', code: 'clickhouse_rejected' });
      await clickhouse.run(`RENAME TABLE otel.away TO otel.${table}`);
      await insert(line);
      expect([(await recordsOf()).length, (await placesOf()).length]).toEqual([1, 1]);
    },
  );

  it('refuse a line that is none, whole', async () => {
    await run();
    const wrong = [
      ...[
        { sequence: 'x' },
        { sequence: -1.5 },
        { minute: 'x' },
        { outcomes: 'x' },
        { outcomes: { stored: 'x' } },
      ],
      ...[{ letters: 'x' }, { letters: ['x'] }, { letters: {} }, { day_sums: [-1.5] }, { colour: 'red' }],
    ];
    for (const change of wrong)
      await expect(insert({ ...line, ...change })).rejects.toMatchObject({ code: 'clickhouse_rows_refused' });
    expect(await recordsOf()).toEqual([]);
    expect(await placesOf()).toEqual([]);
  });

  it.each(['ingest_lines', 'ingest_outcomes_mv', 'ingest_settled_mv', 'ingest_settled', 'ingest_outcomes'])(
    'find both of their tables once %s was dropped and made again',
    async (dropped) => {
      await run();
      await clickhouse.run(`DROP TABLE otel.${dropped} SYNC`);
      expect((await run()).restored).toContain('014_ingest_settled_mv');
      await insert(line, ownerless);
      expect([(await recordsOf()).length, (await placesOf()).length]).toEqual([1, 2]);
    },
  );

  it('leave the records of an earlier program as they are', async () => {
    const folder = await folderCopy();
    for (const name of names.filter((each) => each > '008')) rmSync(join(folder, `${name}.sql`));
    await run(folder);
    const { received, outcomes, minute, at, pipeline, base, first, ordinal, redrive, data_id } = line;
    const old = {
      pipeline,
      data_id,
      app_id: 0,
      base,
      first,
      ordinal,
      redrive,
      minute,
      received,
      outcomes,
      at,
    };
    await createLedgerWriter(clickhouse, 10_000).insert('ingest_outcomes', [
      Buffer.from(`${JSON.stringify(old)}\n`),
    ]);
    await run();
    expect(await recordsOf()).toMatchObject([{ base, letters: [], days: [], book: 0 }]);
  });
});

describe('durability', () => {
  const settingsOf = async (): Promise<string[]> => {
    const rows = await clickhouse.rows(
      z.object({ name: z.string() }),
      `SELECT name FROM system.tables WHERE database = 'otel' AND engine_full LIKE '%fsync_after_insert = 1%'
        AND engine_full LIKE '%fsync_part_directory = 1%' ORDER BY name`,
    );
    return rows.map(({ name }) => name);
  };

  // Without it the last half minute of inserts is only in the memory of the machine when its power goes.
  it('power makes every table wait for the disk, process takes that back, and each is done once', async () => {
    await run();
    expect(await settingsOf()).toEqual([]);
    const powerSafe = () => migrate({ clickhouse, folder: ownFolder, log, isPowerSafe: true });
    const { durabilityChanged } = await powerSafe();
    expect(durabilityChanged).toContain('otel_traces');
    expect(durabilityChanged).toContain('ingest_outcomes');
    expect(await settingsOf()).toEqual(durabilityChanged);
    expect((await powerSafe()).durabilityChanged).toEqual([]);
    expect((await run()).durabilityChanged).toEqual(durabilityChanged);
    expect(await settingsOf()).toEqual([]);
  });
});

describe('tidemark migrate', () => {
  const program = new URL('../../src/main.ts', import.meta.url).pathname;
  const tidemark = (url: string, ...args: string[]) =>
    promisify(execFile)(process.execPath, [program, 'migrate', ...args], {
      env: { PATH: process.env.PATH, TIDEMARK_CLICKHOUSE_URL: url },
    });

  it('prints the applied steps, as text and as JSON', async () => {
    const first = await tidemark(engines.clickhouse.url);
    expect(first.stdout).toBe(
      `${names.map((name) => `applied ${name}\n`).join('')}schema version ${version}\n`,
    );
    const second = await tidemark(engines.clickhouse.url, '--json');
    expect(JSON.parse(second.stdout)).toEqual({
      applied: [],
      restored: [],
      version,
      ttl_changed: [],
      durability_changed: [],
    });
  });

  it('fails where there is no ClickHouse', async () => {
    await expect(tidemark('http://127.0.0.1:1')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no answer from ClickHouse'),
    });
  });
});

describe('at the start of the stack', () => {
  const start = (signal: AbortSignal, folder = ownFolder) =>
    migrateWhenUp({ url: engines.clickhouse.url, folder, log, signal });

  it('a migration waits for a ClickHouse that is not up yet', async () => {
    await engines.clickhouse.kill();
    const result = start(AbortSignal.timeout(60_000));
    await engines.clickhouse.start();
    expect((await result).version).toBe(version);
  });

  it('it ends with the signal, and at once for a fault that no waiting removes', async () => {
    const folder = await folderCopy();
    writeFileSync(join(folder, 'bad.sql'), '');
    await expect(start(AbortSignal.timeout(60_000), folder)).rejects.toMatchObject({
      code: 'migrations_invalid',
    });
    await expect(start(AbortSignal.abort())).rejects.toThrow();
  });
});
