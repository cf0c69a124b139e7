import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

// The queries that HyperDX and Grafana's ClickHouse plugin send for logs and metrics, in their shapes, with no column mapped.

let engines: TestEngines;
let clickhouse: Clickhouse;

/** Seconds; the first of a whole hour. */
const start = 1_795_000_000 - (1_795_000_000 % 3600);
const minutes = [0, 1, 2, 3];
const within = `>= fromUnixTimestamp64Milli(${start}000) AND TimeUnix <= fromUnixTimestamp64Milli(${start + 3600}000)`;

const insert = (table: string, rows: readonly object[]): Promise<void> =>
  clickhouse.run(
    `INSERT INTO otel.${table} FORMAT JSONEachRow ${rows.map((row) => JSON.stringify(row)).join('\n')}`,
  );

const pointOf = (metric: string, minute: number) => ({
  MetricName: metric,
  ServiceName: 'cart',
  TimeUnix: String(start + 60 * minute),
  ResourceAttributes: { 'service.name': 'cart', 'host.name': 'a' },
  ScopeAttributes: { lib: 'x' },
  Attributes: { route: '/' },
  AggregationTemporality: 2,
  uid: String(minute + 1),
});

/** A counter that is reset before the third minute. */
const counted = [10, 30, 5, 15];
/** The same for the buckets: 4, 4 and 2 of each ten. */
const bucketsOf = (count: number): number[] => [0.4 * count, 0.4 * count, 0.2 * count];

const record = (minute: number, severity: string, body: string) => ({
  Timestamp: `${start + 60 * minute}.5`,
  TimestampTime: start + 60 * minute,
  TraceId: '5b8efff798038103d269b633813fc60c',
  SpanId: 'eee19b7ec3c1b174',
  SeverityText: severity,
  ServiceName: 'cart',
  Body: body,
  ResourceAttributes: { 'service.name': 'cart' },
  LogAttributes: { user: 'ann', [`key${minute}`]: 'v' },
  uid: String(minute + 1),
});

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  const points = (metric: string, more: (minute: number) => object) =>
    minutes.map((minute) => {
      const { AggregationTemporality: temporality, ...point } = pointOf(metric, minute);
      return {
        ...point,
        ...(metric === 'load' ? {} : { AggregationTemporality: temporality }),
        ...more(minute),
      };
    });
  await insert(
    'otel_metrics_gauge',
    points('load', (minute) => ({ Value: minute, HasValue: true })),
  );
  await insert(
    'otel_metrics_sum',
    points('requests', (minute) => ({ Value: counted[minute], IsMonotonic: true })),
  );
  await insert(
    'otel_metrics_histogram',
    points('seconds', (minute) => ({
      Count: counted[minute],
      Sum: counted[minute],
      ExplicitBounds: [1, 2],
      BucketCounts: bucketsOf(counted[minute] ?? 0),
    })),
  );
  await insert('otel_logs', [
    record(0, 'INFO', 'cart loaded'),
    record(1, 'ERROR', 'payment refused by the bank'),
    record(2, 'Warn', 'slow'),
  ]);
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});

const rows = (sql: string) => clickhouse.rows(z.record(z.string(), z.unknown()), sql);

const bucket = (column: string): string => `toStartOfInterval(toDateTime(${column}), INTERVAL 1 minute)`;
const series = 'cityHash64(mapConcat(ScopeAttributes, ResourceAttributes, Attributes))';

describe('a chart of HyperDX', () => {
  it('of a gauge shows its values by time, and fills the gaps', async () => {
    const answer = await rows(
      `SELECT max(toFloat64OrDefault(toString(LastValue))) AS value, \`__hdx_time_bucket\` AS time FROM (
         SELECT ${bucket('TimeUnix')} AS \`__hdx_time_bucket\`, AttributesHash, last_value(Value) AS LastValue,
           any(ScopeAttributes) AS ScopeAttributes, any(ResourceAttributes) AS ResourceAttributes, any(Attributes) AS Attributes,
           any(ResourceSchemaUrl) AS ResourceSchemaUrl, any(ScopeName) AS ScopeName, any(ScopeVersion) AS ScopeVersion,
           any(ScopeDroppedAttrCount) AS ScopeDroppedAttrCount, any(ScopeSchemaUrl) AS ScopeSchemaUrl,
           any(ServiceName) AS ServiceName, any(MetricDescription) AS MetricDescription, any(MetricUnit) AS MetricUnit,
           any(StartTimeUnix) AS StartTimeUnix, any(Flags) AS Flags
         FROM (SELECT *, ${series} AS AttributesHash FROM otel.otel_metrics_gauge
               WHERE (TimeUnix ${within}) AND ((MetricName = 'load')))
         GROUP BY AttributesHash, \`__hdx_time_bucket\` ORDER BY AttributesHash, \`__hdx_time_bucket\`)
       GROUP BY time ORDER BY time WITH FILL FROM toUnixTimestamp(${bucket(`fromUnixTimestamp64Milli(${start}000)`)})
         TO toUnixTimestamp(${bucket(`fromUnixTimestamp64Milli(${start + 360}000)`)}) STEP 60`,
    );
    expect(answer.map(({ value }) => value)).toEqual([0, 1, 2, 3, 0, 0]);
  });

  it('of a counter shows what it grew by, also over a reset', async () => {
    const answer = await rows(
      `WITH Source AS (
         SELECT *, ${series} AS AttributesHash,
           any(AttributesHash) OVER (ORDER BY AttributesHash, TimeUnix ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS Before,
           any(Value) OVER (ORDER BY AttributesHash, TimeUnix ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS ValueBefore,
           IF(AggregationTemporality = 1, Value, IF(AttributesHash != Before, 0, IF(Value < ValueBefore, Value, Value - ValueBefore))) AS Rate
         FROM otel.otel_metrics_sum WHERE (TimeUnix ${within}) AND MetricName = 'requests')
       SELECT ${bucket('TimeUnix')} AS time, sum(toFloat64OrDefault(toString(Rate))) AS value, any(IsMonotonic) AS IsMonotonic
       FROM Source GROUP BY time ORDER BY time`,
    );
    expect(answer.map(({ value }) => value)).toEqual([0, 20, 5, 10]);
  });

  it('of the count of a histogram, by an attribute of its resource, shows what it grew by', async () => {
    const answer = await rows(
      `WITH source AS (
         SELECT TimeUnix, AggregationTemporality, ${bucket('TimeUnix')} AS time, [ResourceAttributes['host.name']] AS group,
           ${series} AS attr_hash, cityHash64(ExplicitBounds) AS bounds_hash, toInt64(Count) AS current_count,
           lagInFrame(toNullable(current_count), 1, NULL) OVER (
             PARTITION BY group, attr_hash, bounds_hash, AggregationTemporality ORDER BY TimeUnix) AS prev_count,
           CASE WHEN AggregationTemporality = 1 THEN current_count
                WHEN AggregationTemporality = 2 THEN greatest(0, current_count - coalesce(prev_count, 0)) ELSE 0 END AS delta
         FROM otel.otel_metrics_histogram WHERE (TimeUnix ${within}) AND ((MetricName = 'seconds')))
       SELECT time, group, toFloat64(sum(delta)) AS value FROM source GROUP BY group, time ORDER BY time
       SETTINGS short_circuit_function_evaluation = 'force_enable', optimize_read_in_order = 0, cast_keep_nullable = 1`,
    );
    expect(answer.map(({ group, value }) => [group, value])).toEqual([
      [['a'], 10],
      [['a'], 20],
      [['a'], 0],
      [['a'], 10],
    ]);
  });

  it('of a quantile of a histogram finds it within its buckets', async () => {
    const answer = await rows(
      `WITH source AS (
         SELECT ExplicitBounds, ${bucket('TimeUnix')} AS time, sumForEach(deltas) AS rates FROM (
           SELECT TimeUnix, ExplicitBounds, any(counts) OVER (ORDER BY attr_hash, TimeUnix ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS before,
             any(attr_hash) OVER (ORDER BY attr_hash, TimeUnix ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS hash_before,
             IF(AggregationTemporality = 1 OR hash_before != attr_hash OR arrayExists(x -> x.2 < x.1, arrayZip(before, counts)), counts, counts - before) AS deltas
           FROM (SELECT TimeUnix, AggregationTemporality, ExplicitBounds, ${series} AS attr_hash, CAST(BucketCounts AS Array(Int64)) AS counts
                 FROM otel.otel_metrics_histogram WHERE (TimeUnix ${within}) AND ((MetricName = 'seconds'))))
         GROUP BY time, ExplicitBounds ORDER BY time),
       points AS (SELECT time, arrayZipUnaligned(arrayCumSum(rates), ExplicitBounds) AS point, length(point) AS n FROM source)
       SELECT time, arrayFirstIndex(x -> x.1 >= 0.5 * point[n].1, point) AS upper,
         point[upper - 1].2 + (point[upper].2 - point[upper - 1].2) * (0.5 * point[n].1 - point[upper - 1].1) / (point[upper].1 - point[upper - 1].1) AS value
       FROM points ORDER BY time SETTINGS short_circuit_function_evaluation = 'force_enable'`,
    );
    // The first four tenths are below 1, the next four below 2.
    expect(answer.map(({ value }) => value)).toEqual([1.25, 1.25, 1.25, 1.25]);
  });
});

describe('a search of HyperDX', () => {
  const inTime = `(TimestampTime >= fromUnixTimestamp64Milli(${start}000) AND TimestampTime <= fromUnixTimestamp64Milli(${start + 600}000))`;

  it('lists log records by time, filtered by words, severity and attributes', async () => {
    const answer = await rows(
      `SELECT Timestamp, ServiceName AS service, SeverityText AS level, Body, TimestampTime FROM otel.otel_logs
       WHERE ${inTime} AND ((hasToken(lower(Body), lower('refused'))) AND (lower(Body) LIKE lower('%refused%'))
         AND (SeverityText ILIKE '%error%') AND (\`LogAttributes\`['user'] ILIKE '%ann%') AND (mapContains(LogAttributes, 'key1')))
       ORDER BY (TimestampTime, Timestamp) DESC LIMIT 200 OFFSET 0`,
    );
    expect(answer).toMatchObject([{ service: 'cart', level: 'ERROR', Body: 'payment refused by the bank' }]);
  });

  it('counts them by time and severity, and lists the values and keys to filter by', async () => {
    const [counts, values, keys] = await Promise.all([
      rows(
        `SELECT toFloat64(count()) AS count, SeverityText, ${bucket('TimestampTime')} AS \`__hdx_time_bucket\` FROM otel.otel_logs
         WHERE ${inTime} GROUP BY SeverityText, \`__hdx_time_bucket\` ORDER BY \`__hdx_time_bucket\``,
      ),
      rows(
        `SELECT arraySort(groupUniqArray(20)(SeverityText)) AS levels, groupUniqArray(20)(LogAttributes['user']) AS users FROM otel.otel_logs WHERE ${inTime}`,
      ),
      rows(
        `SELECT arraySort(groupUniqArrayArray(1000)(LogAttributes.keys)) AS keys FROM (SELECT LogAttributes.keys FROM otel.otel_logs LIMIT 100)`,
      ),
    ]);
    expect(counts.map(({ count, SeverityText: level }) => [count, level])).toEqual([
      [1, 'INFO'],
      [1, 'ERROR'],
      [1, 'Warn'],
    ]);
    expect(values).toEqual([{ levels: ['ERROR', 'INFO', 'Warn'], users: ['ann'] }]);
    expect(keys).toEqual([{ keys: ['key0', 'key1', 'key2', 'user'] }]);
  });

  it('shows all of one record', async () => {
    const answer = await rows(
      `SELECT *, Timestamp AS __hdx_timestamp, Body AS __hdx_body, TraceId AS __hdx_trace_id, SpanId AS __hdx_span_id,
         SeverityText AS __hdx_severity_text, ServiceName AS __hdx_service_name, ResourceAttributes AS __hdx_resource_attributes,
         LogAttributes AS __hdx_event_attributes
       FROM otel.otel_logs WHERE TimestampTime = fromUnixTimestamp64Milli(${start + 60}000) AND Body = 'payment refused by the bank' LIMIT 1`,
    );
    expect(answer).toMatchObject([
      { __hdx_event_attributes: { user: 'ann' }, __hdx_span_id: 'eee19b7ec3c1b174' },
    ]);
  });
});

describe('a panel of Grafana', () => {
  const from = `toDateTime64(${start}, 3)`;
  const to = `toDateTime64(${start + 600}, 3)`;

  it('of logs with "Use OTel" lists them with their level, labels and trace', async () => {
    const answer = await rows(
      `SELECT Timestamp AS "timestamp", Body AS "body", SeverityText AS "level", TraceId AS "traceID",
         mapConcat(ResourceAttributes, ScopeAttributes, LogAttributes) AS "labels"
       FROM "otel"."otel_logs" WHERE ( timestamp >= ${from} AND timestamp <= ${to} ) AND ( body LIKE '%refused%' ) AND ( level IN ('ERROR') )
       ORDER BY timestamp DESC LIMIT 1000`,
    );
    expect(answer).toMatchObject([
      {
        level: 'ERROR',
        labels: { 'service.name': 'cart', user: 'ann' },
        traceID: '5b8efff798038103d269b633813fc60c',
      },
    ]);
  });

  it('of the volume of logs counts them by level', async () => {
    const names = (level: string): string =>
      `['${level}','${level.toUpperCase()}','${level[0]?.toUpperCase()}${level.slice(1)}']`;
    const answer = await rows(
      `SELECT toStartOfInterval("Timestamp", INTERVAL 600 second) AS "time",
         ${['error', 'warn', 'info'].map((level) => `toFloat64(sum(multiSearchAny(toString("SeverityText"), ${names(level)}))) AS ${level}`).join(', ')}
       FROM "otel"."otel_logs" WHERE ( Timestamp >= ${from} AND Timestamp <= ${to} ) GROUP BY time ORDER BY time ASC`,
    );
    expect(answer).toMatchObject([{ error: 1, warn: 1, info: 1 }]);
  });

  it('of a time series of data points shows them by an attribute', async () => {
    const answer = await rows(
      `SELECT toStartOfInterval(toDateTime(TimeUnix), INTERVAL 120 second) AS "time", Attributes['route'] AS route, avg(Value) AS value
       FROM "otel"."otel_metrics_gauge" WHERE ( TimeUnix >= ${from} AND TimeUnix <= ${to} ) AND ( MetricName = 'load' )
       GROUP BY time, route ORDER BY time ASC LIMIT 1000`,
    );
    expect(answer.map(({ route, value }) => [route, value])).toEqual([
      ['/', 0.5],
      ['/', 2.5],
    ]);
  });
});
