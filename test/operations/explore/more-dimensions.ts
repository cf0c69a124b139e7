import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { quoteLiteral } from '../../../src/stores/questdb/sql.ts';
import type { Report } from '../../support/stack/stack.ts';
import { askPoints, cli, hostileTexts, hour, seriesOf, stack, until } from './stored.ts';

/** As many as have columns: `rack` has none. */
const withColumns = Array.from({ length: 64 }, (_, index) => `d${index}`);
const fillers = Object.fromEntries(withColumns.map((name) => [name, 'x']));

/** A value of d0, which has a column, of rack, and the load. */
type Point = { readonly d0: string | null; readonly rack: string | null; readonly load: number };

const pushed: Point[] = hostileTexts.map((text, index) => ({ d0: `v${index % 3}`, rack: text, load: index }));
/** The same of points after d0 was full: its column is empty. */
const later: Point[] = [
  ...hostileTexts.map((text, index) => ({ d0: text, rack: null, load: 100 + index })),
  { d0: 'v0', rack: null, load: 1_000 },
  { d0: null, rack: null, load: 5_000 },
];
const all = [...pushed, ...later];

const reports: Report[] = [];

const store = async (report: Report, isNarrow: boolean): Promise<void> => {
  const { mon_data_id: dataId, token } = report.data_source;
  const { table_id: table } = report.result_table;
  const data = pushed.map(({ d0, rack, load }, index) => ({
    ...{ metrics: { load }, target: 't', timestamp: (hour + index) * 1_000 },
    dimension: { ...fillers, d0, rack },
  }));
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    body: JSON.stringify({ data_id: dataId, access_token: token, data }),
  });
  expect([response.status, await response.text()]).toMatchObject([200, expect.anything()]);
  await stack.waitForRows(table, pushed.length);
  for (const [index, { d0, load }] of later.entries()) {
    const more = quoteLiteral(JSON.stringify(d0 === null ? { other: 'o' } : { other: 'o', d0 }));
    const values = `'${new Date((hour + 60 + index) * 1_000).toISOString()}', ${index}, 't', 'y', ${more}, ${load}`;
    await stack.query(
      `INSERT INTO "${table}" (timestamp, uid, target, d1, more_dimensions, ${isNarrow ? 'value, metric' : 'load'}) ` +
        `VALUES (${values}${isNarrow ? ", 'load'" : ''})`,
    );
  }
  await stack.waitForRows(table, all.length);
};

beforeAll(async () => {
  for (const isNarrow of [false, true]) {
    const report = await stack.createReport(`more dimensions ${isNarrow}`, {
      is_split_measurement: isNarrow,
    });
    reports.push(report);
    await store(report, isNarrow);
  }
});

const ofLoad = { metrics: ['load'], aggregate: 'sum', step: 3_600 };
const sumOf = (points: readonly Point[]): number | null =>
  points.length === 0 ? null : points.reduce((sum, { load }) => sum + load, 0);

describe('dimensions in more_dimensions, of a table in either layout,', () => {
  it.each(['d0', 'rack'] as const)('are filtered like those in columns: %s', async (dimension) => {
    const found = async (report: Report, filter: object) => {
      const { series } = await seriesOf({ ...ofLoad, filter: [{ dimension, ...filter }] }, report);
      return series[0]?.values[0];
    };
    for (const report of reports)
      for (const value of [...new Set(all.map((point) => point[dimension])), 'absent']) {
        const own = all.filter((point) => point[dimension] === value);
        const others = all.filter((point) => point[dimension] !== value);
        for (const [operator, values, points] of [
          ['=', [value], own],
          ['in', [value, 'absent too'], own],
          ['!=', [value], others],
          ['not in', [value, 'absent too'], others],
        ] as const)
          expect([operator, value, await found(report, { operator, values })]).toEqual([
            ...[operator, value],
            sumOf(points),
          ]);
      }
  });

  it('make groups with those in columns', async () => {
    for (const report of reports)
      for (const groupBy of [['d0'], ['rack'], ['d0', 'rack'], ['d1', 'd0']] as const) {
        const group = (point: Point) =>
          groupBy.map((name) => (name === 'd1' ? (pushed.includes(point) ? 'x' : 'y') : point[name]));
        const expected = Map.groupBy(all, (point) => JSON.stringify(group(point)));
        const { series, series_total: total } = await seriesOf({ ...ofLoad, group_by: groupBy }, report);
        expect(total).toBe(expected.size);
        expect(
          Object.fromEntries(series.map((each) => [JSON.stringify(each.group), [each.rows, each.values[0]]])),
        ).toEqual(
          Object.fromEntries(
            [...expected].map(([key, points]) => [key, [points.length, sumOf(points)]] as const),
          ),
        );
      }
  });

  it('fill the buckets of their groups as those in columns do', async () => {
    for (const report of reports) {
      const asked = { ...ofLoad, step: 60, until: hour + 240, group_by: ['d0'] };
      const { series } = await seriesOf({ ...asked, filter: [{ dimension: 'd0', values: ['v0'] }] }, report);
      expect(series.map(({ group, values }) => [group, values])).toEqual([[['v0'], [9, 1_000, null, null]]]);
    }
  });

  it('have their values with their rows', async () => {
    for (const report of reports)
      for (const dimension of ['d0', 'rack'] as const) {
        const query = `data_id=${report.data_source.mon_data_id}&dimension=${dimension}&since=${hour}&until=${until}`;
        const { body } = await stack.api('GET', `/api/v1/query/points/values?${query}`);
        const { values } = z
          .object({ values: z.array(z.object({ value: z.string().nullable(), rows: z.number() })) })
          .parse(body);
        const expected = Map.groupBy(all, (point) => point[dimension]);
        expect(new Map(values.map(({ value, rows }) => [value, rows]))).toEqual(
          new Map([...expected].map(([value, points]) => [value, points.length])),
        );
      }
  });

  it('are in the last rows as JSON, which other rows do without', async () => {
    for (const [index, report] of reports.entries()) {
      const values = index === 0 ? ['load'] : ['metric', 'value'];
      const ask = { metrics: ['load'], raw: true };
      const { raw } = await seriesOf(ask, report);
      expect(raw?.columns).toEqual(['timestamp', 'target', ...withColumns, ...values, 'more_dimensions']);
      const texts = raw?.rows.map((row) => row.at(-1));
      expect(texts?.slice(0, 2)).toEqual(['{"other":"o"}', '{"other":"o","d0":"v0"}']);
      expect(texts?.at(-1)).toBe(JSON.stringify({ rack: hostileTexts[0] }));
      expect(raw?.rows.every((row) => row.length === raw.columns.length)).toBe(true);
      const before = await seriesOf({ ...ask, since: hour - 60, until: hour }, report);
      expect(before.raw).toEqual({ columns: raw?.columns.slice(0, -1), rows: [] });
    }
  });

  it('are unknown where no point of the period has them', async () => {
    for (const report of reports)
      for (const [body, field] of [
        [{ filter: [{ dimension: 'nowhere', values: ['a'] }] }, 'filter.0.dimension'],
        [{ group_by: ['d0', 'nowhere'] }, 'group_by.1'],
        [{ since: hour - 60, until: hour, group_by: ['rack'] }, 'group_by.0'],
      ] as const)
        expect(await askPoints({ metrics: ['load'], ...body }, report)).toMatchObject({
          status: 404,
          body: { code: 'unknown_name', field },
        });
  });

  it('are found by tidemark query', async () => {
    const asked = `--data-id ${reports[0]?.data_source.mon_data_id} --since 3h`;
    expect(await cli.text(`query values rack ${asked}`)).toMatch(/^__proto__ +1$/m);
    const text = await cli.text(
      `query points ${asked} --metric load --where rack=__proto__ --aggregate sum --step 1h`,
    );
    expect(text).toMatch(/^20\d\d-\S+ \S+Z +8$/m);
  });
});
