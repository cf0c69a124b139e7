import { expect } from 'vitest';
import * as data from './data.ts';
import { increaseOf, isResetAt, metricMinuteMs, metricMinutes } from './metrics.ts';

type Row = Record<string, unknown>;
type Check = (rows: readonly Row[]) => void;

const minuteMs = 60_000;

const minuteOf = (ms: number): number => Math.floor(ms / minuteMs) * minuteMs;

/** A time as QuestDB answers it. */
const questdbTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');

const clickhouseTime = (ms: number, digits = 0): string => {
  const [date, time = ''] = new Date(ms).toISOString().replace('Z', '').split('T');
  const [seconds, fraction = ''] = time.split('.');
  return digits === 0 ? `${date} ${seconds}` : `${date} ${seconds}.${fraction.padEnd(digits, '0')}`;
};

const byTimeAnd = (field: string) => (one: Row, other: Row) =>
  `${one['timestamp']} ${one[field]}` < `${other['timestamp']} ${other[field]}` ? -1 : 1;

const is =
  (expected: () => readonly Row[]): Check =>
  (rows) =>
    expect(rows).toEqual(expected());

/** Sums of a minute per second; each minute and module has one sample. */
const rates = is(() =>
  data.requests
    .map(({ atMs, target, value }) => ({
      timestamp: questdbTime(minuteOf(atMs)),
      module: data.moduleOf(target),
      per_second: value / 60,
    }))
    .sort(byTimeAnd('module')),
);

/** The difference to the sample before of the same target. */
const growth = is(() =>
  data.requests
    .flatMap(({ target, atMs, value }) => {
      const before = data.requests.findLast((each) => each.target === target && each.atMs < atMs);
      return before === undefined
        ? []
        : [
            {
              timestamp: questdbTime(atMs),
              target,
              module: data.moduleOf(target),
              per_second: (value - before.value) / ((atMs - before.atMs) / 1_000),
            },
          ];
    })
    .sort(byTimeAnd('target')),
);

const lastOf = (samples: readonly data.Sample[], target: string): number | undefined =>
  samples.findLast((each) => each.target === target)?.value;

const targets = ['web-1', 'web-2'];

/** The value of this rank among all, and its neighbours: definitions of a percentile differ by one rank. */
const around = (values: readonly number[], share: number): readonly [number, number] => {
  const sorted = values.toSorted((one, other) => one - other);
  const rank = Math.ceil(share * sorted.length) - 1;
  return [sorted[Math.max(0, rank - 1)] ?? 0, sorted[Math.min(sorted.length - 1, rank + 1)] ?? 0];
};

const expectWithin = (value: unknown, values: readonly number[], share: number, error: number): void => {
  const [least, most] = around(values, share);
  expect(value).toBeGreaterThanOrEqual(least * (1 - error));
  expect(value).toBeLessThanOrEqual(most * (1 + error));
};

/** Three digits are right. */
const expectPercentile = (value: unknown, values: readonly number[], share: number): void =>
  expectWithin(value, values, share, 0.001);

const tenMinutes: Check = (rows) => {
  const groups = Map.groupBy(data.latencies, ({ atMs, target }) => {
    const bucket = questdbTime(Math.floor(atMs / (10 * minuteMs)) * 10 * minuteMs);
    return `${bucket} ${data.moduleOf(target)}`;
  });
  expect(rows.map(({ timestamp, module }) => `${timestamp} ${module}`)).toEqual([...groups.keys()].sort());
  for (const { timestamp, module, p50, p99 } of rows) {
    const values = (groups.get(`${timestamp} ${module}`) ?? []).map(({ value }) => value);
    expectPercentile(p50, values, 0.5);
    expectPercentile(p99, values, 0.99);
  }
};

const buckets: Check = (rows) => {
  const counts = new Map(rows.map(({ timestamp, points }) => [timestamp, points]));
  const all = [...data.requests, ...data.latencies, ...data.loads];
  const expected = Map.groupBy(all, ({ atMs }) => questdbTime(minuteOf(atMs)));
  for (const [minute, own] of expected) expect(counts.get(minute)).toBe(own.length);
  expect(rows.length).toBeGreaterThanOrEqual(60);
  expect(rows.filter(({ points }) => points === 0).length).toBeGreaterThanOrEqual(60 - data.minutes - 1);
};

const traceNumbers = Array.from({ length: data.traces }, (_, trace) => trace);
const failed = traceNumbers.filter(data.isFailed).length;

/** The spans of the trace in the text, in the order of their start. */
const shownTrace = 1;
const shown = (() => {
  const { get, load, select } = data.durationsOf(shownTrace);
  return [
    { ServiceName: 'gateway', SpanName: 'GET /cart', SpanKind: 'Server', ms: get },
    { ServiceName: 'cart', SpanName: 'load cart', SpanKind: 'Server', ms: load },
    { ServiceName: 'cart', SpanName: 'SELECT cart', SpanKind: 'Client', ms: select },
  ];
})();

const logRecords = traceNumbers.flatMap(data.logRecordsOf);

const sumOf = (of: (trace: number) => number): number =>
  traceNumbers.reduce((sum, trace) => sum + of(trace), 0);

/** What each SQL block must answer, by its heading, in the order of the blocks. */
export const answers: Readonly<Record<string, readonly Check[]>> = {
  'Tables and columns': [
    is(() => [
      { table_name: '2_mon_time_series_1500001.__default__', table_type: 'T' },
      { table_name: '2_mon_time_series_1500002.__default__', table_type: 'T' },
      { table_name: '2_mon_time_series_1500003.__default__', table_type: 'T' },
      { table_name: '2_mon_time_series_1500003.cpu_load', table_type: 'V' },
      { table_name: '2_mon_time_series_1500003.requests', table_type: 'V' },
    ]),
    (rows) =>
      expect(Object.fromEntries(rows.map(({ column, type }) => [column, type]))).toEqual({
        timestamp: 'TIMESTAMP',
        uid: 'LONG',
        target: 'SYMBOL',
        more_dimensions: 'VARCHAR',
        module: 'SYMBOL',
        requests: 'DOUBLE',
        latency_ms: 'DOUBLE',
        cpu_load: 'DOUBLE',
      }),
  ],
  'Rates per minute and dimension': [rates, rates, growth],
  'Latest values': [
    is(() => targets.map((target) => ({ target, requests: null, cpu_load: lastOf(data.loads, target) }))),
    is(() =>
      targets.map((target) => ({
        target,
        requests: lastOf(data.requests, target),
        cpu_load: lastOf(data.loads, target),
        newest: questdbTime(data.loads[0]?.atMs ?? 0),
      })),
    ),
    is(() =>
      targets.flatMap((target) => [
        { target, metric: 'cpu_load', value: lastOf(data.loads, target) },
        { target, metric: 'requests', value: lastOf(data.requests, target) },
      ]),
    ),
  ],
  Percentiles: [
    ([row]) => {
      // The figures of the text: a default that has become better is worth a change of it.
      expect(Number(row?.['without_precision']).toFixed(3)).toBe('99.996');
      expect(Number(row?.['p99']).toFixed(2)).toBe('99.06');
    },
    tenMinutes,
  ],
  Gaps: [
    is(() =>
      [10, 11, 12].map((minute) => ({
        timestamp: questdbTime(data.baseMs + minute * minuteMs),
        target: 'web-2',
      })),
    ),
    buckets,
    is(() => targets.map((target) => ({ target, newest: questdbTime(data.loads[0]?.atMs ?? 0) }))),
  ],
  'Errors and p99 of each service': [
    is(() => [
      {
        ServiceName: 'cart',
        spans: 2 * data.traces,
        errors: failed,
        errors_percent: (100 * failed) / (2 * data.traces),
        p99_ms: data.durationsOf(data.traces - 1).load,
      },
      {
        ServiceName: 'gateway',
        spans: data.traces,
        errors: failed,
        errors_percent: (100 * failed) / data.traces,
        p99_ms: data.durationsOf(data.traces - 1).get,
      },
    ]),
  ],
  'Requests, errors and durations': [
    (rows) => {
      const expected = [
        ['cart', 'load'],
        ['gateway', 'get'],
      ] as const;
      expect(rows).toHaveLength(expected.length);
      for (const [index, [service, name]] of expected.entries()) {
        const row = rows[index];
        expect(row).toMatchObject({
          ...{ ServiceName: service, Requests: data.traces, Errors: failed },
          per_second: Number((data.traces / 3_600).toFixed(4)),
        });
        const durations = traceNumbers.map((trace) => data.durationsOf(trace)[name]);
        expectWithin(row?.['P50Ms'], durations, 0.5, 0.01);
        expectWithin(row?.['P99Ms'], durations, 0.99, 0.01);
      }
    },
    (rows) => {
      const groups = [
        ...Map.groupBy(traceNumbers, (trace) => Math.floor(data.startOf(trace) / (5 * minuteMs))),
      ];
      expect(rows).toEqual(
        groups.map(([bucket, own]) => ({
          Time: clickhouseTime(bucket * 5 * minuteMs),
          AppId: expect.anything(),
          Operation: 'load cart',
          Requests: own.length,
          Errors: own.filter(data.isFailed).length,
          P99Ms: expect.any(Number),
        })),
      );
    },
  ],
  'Requests of each minute': [
    is(() =>
      traceNumbers.flatMap((trace) =>
        ['cart', 'gateway'].map((service) => ({
          minute: clickhouseTime(data.startOf(trace)),
          ServiceName: service,
          requests: 1,
          errors: data.isFailed(trace) ? 1 : 0,
        })),
      ),
    ),
  ],
  'By attribute': [is(() => [{ route: '/cart', service: 'gateway', spans: data.traces }])],
  'One trace': [
    is(() =>
      shown.map(({ ServiceName, SpanName, SpanKind, ms }, depth) => ({
        Timestamp: clickhouseTime(data.startOf(shownTrace) + depth, 9),
        ServiceName,
        SpanName,
        SpanKind,
        StatusCode: 'Ok',
        ms,
      })),
    ),
  ],
  'Children and parents': [
    is(() => [{ caller: 'gateway', called: 'cart', calls: data.traces, errors: failed }]),
    is(() => shown.map(({ ServiceName, SpanName }, depth) => ({ depth, ServiceName, SpanName }))),
    is(() => [
      {
        ServiceName: 'gateway',
        SpanName: 'GET /cart',
        own_ms: sumOf((trace) => data.durationsOf(trace).get - data.durationsOf(trace).load),
      },
      {
        ServiceName: 'cart',
        SpanName: 'load cart',
        own_ms: sumOf((trace) => data.durationsOf(trace).load - data.durationsOf(trace).select),
      },
      {
        ServiceName: 'cart',
        SpanName: 'SELECT cart',
        own_ms: sumOf((trace) => data.durationsOf(trace).select),
      },
    ]),
  ],
  'By severity': [
    is(() => [
      { ServiceName: 'cart', SeverityText: 'ERROR', records: failed },
      { ServiceName: 'gateway', SeverityText: 'INFO', records: data.traces },
    ]),
  ],
  'Words in the body': [
    is(() =>
      logRecords
        .filter(({ severity }) => severity.text === 'ERROR')
        .toReversed()
        .slice(0, 3)
        .map(({ atMs, service, body }) => ({
          Timestamp: clickhouseTime(atMs, 9),
          ServiceName: service,
          Body: body,
        })),
    ),
  ],
  'Log records of a trace': [
    is(() =>
      data.logRecordsOf(0).map(({ atMs, service, severity, body }) => ({
        Timestamp: clickhouseTime(atMs, 9),
        ServiceName: service,
        SeverityText: severity.text,
        Body: body,
      })),
    ),
  ],
  'Errors of each service and minute': [
    is(() =>
      traceNumbers.flatMap((trace) =>
        data
          .logRecordsOf(trace)
          .toReversed()
          .map(({ service, severity }) => ({
            minute: clickhouseTime(data.startOf(trace)),
            ServiceName: service,
            records: 1,
            errors: severity.number >= 17 ? 1 : 0,
          })),
      ),
    ),
  ],
  'Metrics and their series': [
    is(() =>
      [
        ['http.duration', 'histogram', 'gateway', 1, { 'http.route': 1 }],
        ['http.requests', 'sum', 'cart', 1, {}],
        ['http.requests', 'sum', 'gateway', 1, { 'http.route': 1 }],
        ['http.size', 'exponential_histogram', 'cart', 1, {}],
        ['process.threads', 'gauge', 'gateway', 2, { host: 2 }],
      ].map(([MetricName, Kind, ServiceName, SeriesCount, AttributeValues]) => ({
        ...{ MetricName, Kind, ServiceName, SeriesCount, AttributeValues },
      })),
    ),
  ],
  'Last values': [
    is(() =>
      ['a', 'b'].map((host, index) => ({
        ...{ ServiceName: 'gateway', host, LastTime: clickhouseTime(metricMinuteMs(metricMinutes - 1), 9) },
        ...{ LastValue: 7 + index, LastValueInt: 7 + index },
      })),
    ),
  ],
  'Rates of sums': [
    is(() =>
      ['cart', 'gateway'].flatMap((service) =>
        Array.from({ length: metricMinutes }, (_, minute) => ({
          minute: clickhouseTime(metricMinuteMs(minute)),
          ServiceName: service,
          per_second: increaseOf(service, minute) / 60,
          has_reset: isResetAt(service, minute) ? 1 : 0,
        })),
      ),
    ),
    is(() =>
      [
        ['cart', 1],
        ['gateway', 2],
      ].map(([service = '', temporality]) => {
        const minutes = Array.from({ length: metricMinutes }, (_, minute) => minute);
        return {
          ServiceName: service,
          AggregationTemporality: temporality,
          requests: minutes.reduce((sum, minute) => sum + increaseOf(String(service), minute), 0),
          resets: minutes.filter((minute) => isResetAt(String(service), minute)).length,
        };
      }),
    ),
  ],
  'Quantiles of histograms': [
    is(() => [
      {
        ...{ ServiceName: 'gateway', route: '/cart', ExplicitBounds: [10, 20, 50] },
        // Two a minute, and one in the minute of the reset.
        ...{ BucketCounts: [195, 156, 39, 0], Count: 390, average: 10, P50: 10, p95: 35, p99: 47 },
      },
    ]),
    is(() => [
      {
        ...{ ServiceName: 'cart', Scale: 0, Count: 4 * metricMinutes },
        Buckets: [
          [1, 1, metricMinutes],
          [1, 2, 3 * metricMinutes],
        ],
        ...{ p50: 5.04, p99: 7.93 },
      },
    ]),
  ],
};

/** What the table of points that went to ClickHouse answers, as CSV. */
export const togetherCsv = (): string =>
  [
    '"timestamp","requests","spans"',
    ...traceNumbers.map((trace) => {
      const sum = data.requests
        .filter(({ atMs }) => minuteOf(atMs) === data.startOf(trace))
        .reduce((total, { value }) => total + value, 0);
      return `"${clickhouseTime(data.startOf(trace))}",${sum},3`;
    }),
    '',
  ].join('\n');
