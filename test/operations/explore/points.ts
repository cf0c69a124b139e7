import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  ask,
  askPoints,
  cli,
  hostileTexts,
  hour,
  narrow,
  points,
  pointsAnswer,
  secondsOf,
  seriesOf,
  stack,
  until,
  wide,
} from './stored.ts';

const period = z.object({ since: z.number(), until: z.number() });

describe('series of points', () => {
  it.each(['avg', 'min', 'max', 'sum', 'count', 'last'])(
    'have the values that QuestDB answers to the statement that is shown, of every group: %s',
    async (aggregate) => {
      const answer = await seriesOf({
        aggregate,
        group_by: ['zone', 'target'],
        step: 300,
        metrics: ['cpu', 'mem'],
      });
      expect(answer.buckets).toEqual(Array.from({ length: 12 }, (_, index) => hour + 300 * index));
      expect(answer).toMatchObject({ series_total: 8, truncated: false, step: 300 });
      const { dataset } = await stack.query(answer.sql.at(-1) ?? '');
      const values = dataset.flatMap(([at, zone, target, cpu, mem]) =>
        [cpu, mem].map((value, index) => [['cpu', 'mem'][index], zone, target, secondsOf(at), value]),
      );
      const shown = answer.series.flatMap(({ metric, group, values: own }) =>
        own.map((value, index) => [metric, ...group, answer.buckets[index], value]),
      );
      const filled = (rows: unknown[][]) =>
        rows
          .filter(([, , , , value]) => value !== null && (aggregate !== 'count' || value !== 0))
          .map((row) => JSON.stringify(row))
          .toSorted();
      expect(filled(shown)).toEqual(filled(values));
      expect(filled(shown).length).toBeGreaterThan(40);
    },
  );

  it('are those of the points that were pushed, in a table of either layout', async () => {
    for (const report of [wide, narrow]) {
      const { series: found } = await seriesOf({ aggregate: 'sum', group_by: ['host'], step: 3_600 }, report);
      const sums = Object.fromEntries(found.map(({ group, values }) => [group[0], values[0]]));
      expect(Object.keys(sums)).toHaveLength(20);
      for (const host of [5, 24]) {
        const own = points.filter(({ dimension }) => dimension['host'] === `h${host}`);
        const sum = own.reduce((all, { metrics }) => all + (metrics['cpu'] ?? 0), 0);
        expect(sums[`h${host}`]).toBeCloseTo(sum, 9);
      }
    }
  });

  it('have the count 0 in each bucket without a value, in a table of either layout', async () => {
    const step = 300;
    const metrics = ['cpu', 'mem', 'temperature'];
    const targets = ['even', 'odd'];
    const counted = (metric: string, target: string, at: number) =>
      points.filter(
        (point) =>
          point.target === target &&
          metric in point.metrics &&
          Math.floor(point.timestamp / 1_000 / step) * step === at,
      ).length;
    const later = hour + 7_200;
    for (const report of [wide, narrow]) {
      const asked = { aggregate: 'count', step, metrics };
      const { series, buckets } = await seriesOf({ ...asked, group_by: ['target'] }, report);
      expect(series.map(({ metric, group, values }) => [metric, group[0], values])).toEqual(
        series.map(({ metric, group: [target] }) => [
          ...[metric, target],
          buckets.map((at) => counted(metric, target ?? '', at)),
        ]),
      );
      expect(series).toHaveLength(metrics.length * targets.length);
      const none = await seriesOf({ ...asked, since: later, until: later + 600 }, report);
      expect(none.series.map(({ values }) => values)).toEqual(metrics.map(() => [0, 0]));
    }
    const text = await cli.text(
      `query points --data-id ${wide.data_source.mon_data_id} --metric cpu --aggregate count --since 3h --step 1h`,
    );
    expect(text.trimEnd().split('\n')).toHaveLength(2);
  });

  it('are at most 20, those with most rows, with the number of all of them', async () => {
    const answer = await seriesOf({ group_by: ['host'] });
    expect(answer).toMatchObject({ series_total: 25, truncated: true });
    expect(answer.series.map(({ group }) => group[0])).toEqual(
      Array.from({ length: 20 }, (_, index) => `h${24 - index}`),
    );
    expect(answer.series.map(({ rows }) => rows)).toEqual(
      Array.from({ length: 20 }, (_, index) => 25 - index),
    );
    const four = await seriesOf({ metrics: ['cpu', 'mem', 'temperature'], group_by: ['host'] });
    expect(four.series).toHaveLength(18);
    expect(four.series_total).toBe(78);
  });

  it('of a dimension with long values are as many as one statement has room for, those with most rows', async () => {
    const report = await stack.createReport('long values');
    const { mon_data_id: dataId, token } = report.data_source;
    // Value n has n + 1 points; of 20 such values the statement would have 60 KB.
    const longValue = (index: number): string => `${String(index).padStart(2, '0')}${'ü'.repeat(500)}`;
    const data = Array.from({ length: 20 }, (_, index) =>
      Array.from({ length: index + 1 }, (_each, at) => ({
        ...{ metrics: { cpu: index }, target: 't', dimension: { path: longValue(index) } },
        timestamp: (hour + at) * 1_000,
      })),
    ).flat();
    const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
      method: 'POST',
      body: JSON.stringify({ data_id: dataId, access_token: token, data }),
    });
    expect([response.status, await response.text()]).toMatchObject([200, expect.anything()]);
    await stack.waitForRows(report.result_table.table_id, data.length);
    const answer = await seriesOf({ group_by: ['path'], step: 3_600 }, report);
    expect([answer.series_total, answer.truncated]).toEqual([20, true]);
    expect(answer.series.length).toBeGreaterThanOrEqual(9);
    expect(answer.series.map(({ group, rows, values }) => [group[0], rows, values])).toEqual(
      answer.series.map((_, index) => [longValue(19 - index), 20 - index, [19 - index]]),
    );
  });

  it('find by equality exactly what has that value, with any characters', async () => {
    for (const [index, value] of hostileTexts.entries()) {
      for (const report of [wide, narrow]) {
        for (const filter of [
          { operator: '=', values: [value] },
          { operator: 'in', values: [value, 'x'] },
        ]) {
          const asked = { metrics: ['temperature'], aggregate: 'sum', step: 3_600, group_by: ['label'] };
          const { series: found } = await seriesOf(
            { ...asked, filter: [{ dimension: 'label', ...filter }] },
            report,
          );
          expect(found.map(({ group, values }) => [group, values])).toEqual([[[value], [index]]]);
        }
      }
    }
    const others = await seriesOf({
      metrics: ['temperature'],
      aggregate: 'count',
      step: 3_600,
      filter: [{ dimension: 'label', operator: '!=', values: [hostileTexts[0]] }],
    });
    expect(others.series[0]?.values).toEqual([hostileTexts.length - 1]);
    const none = await seriesOf({
      aggregate: 'count',
      step: 3_600,
      filter: [{ dimension: 'label', values: [null] }],
    });
    expect(none.series[0]?.values).toEqual([325]);
    await stack.waitForRows(wide.result_table.table_id, points.length);
  });

  it('leave out by "not in" exactly what "in" finds, points without the dimension included', async () => {
    const counted = async (report: typeof wide, filter: object[]) => {
      const asked = { aggregate: 'count', step: 3_600, metrics: ['cpu', 'temperature'], filter };
      const { series: found } = await seriesOf(asked, report);
      const of = (name: string) => found.find(({ metric }) => metric === name)?.values[0] ?? 0;
      return [of('cpu'), of('temperature')];
    };
    const some = hostileTexts.slice(0, 4);
    const [others, all] = [hostileTexts.length - some.length, hostileTexts.length];
    for (const report of [wide, narrow])
      for (const [values, within, without] of [
        [some, [0, some.length], [325, others]],
        [
          [...some, null],
          [325, some.length],
          [0, others],
        ],
        [[null], [325, 0], [0, all]],
        [
          [...some, ...Array.from({ length: 46 }, (_, index) => `x${index}`)],
          [0, some.length],
          [325, others],
        ],
      ]) {
        expect(await counted(report, [{ dimension: 'label', operator: 'in', values }])).toEqual(within);
        expect(await counted(report, [{ dimension: 'label', operator: 'not in', values }])).toEqual(without);
      }
  });

  it('are the last 50 rows instead, where the query says raw', async () => {
    const { raw } = await seriesOf({ raw: true, filter: [{ dimension: 'zone', values: ['b'] }] });
    expect(raw?.columns).toEqual(['timestamp', 'target', 'host', 'zone', 'label', 'cpu']);
    expect(raw?.rows).toHaveLength(50);
    const times = raw?.rows.map(([at]) => secondsOf(at)) ?? [];
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    const own = await seriesOf({ raw: true }, narrow);
    expect(own.raw?.columns).toEqual(['timestamp', 'target', 'host', 'zone', 'label', 'metric', 'value']);
  });

  it('are those of one time to the millisecond, where the query says at', async () => {
    const [{ timestamp } = { timestamp: 0 }] = points;
    const ofThen = points.filter((point) => point.timestamp === timestamp && 'cpu' in point.metrics);
    for (const report of [wide, narrow]) {
      const { raw } = await seriesOf({ raw: true, at: timestamp }, report);
      expect(raw?.rows.map(([at]) => secondsOf(at))).toEqual(ofThen.map(() => timestamp / 1_000));
      expect((await seriesOf({ raw: true, at: timestamp + 1 }, report)).raw?.rows).toEqual([]);
    }
  });

  it('can be asked for by the table, and values of a dimension are listed with their rows', async () => {
    const table = wide.result_table.table_id;
    const { status } = await ask('/api/v1/query/points', { table, metrics: ['cpu'], since: hour, until });
    expect(status).toBe(200);
    const query = `table=${encodeURIComponent(table)}&dimension=host&since=${hour}&until=${until}&limit=2`;
    const { body } = await stack.api('GET', `/api/v1/query/points/values?${query}`);
    expect(body).toMatchObject({
      values: [
        { value: 'h24', rows: 25 },
        { value: 'h23', rows: 24 },
      ],
      truncated: true,
    });
  });

  it.each([
    [{ metrics: ['cpus'] }, 404, 'unknown_name', 'metrics.0'],
    [{ metrics: ['cpu" FROM x; --'] }, 404, 'unknown_name', 'metrics.0'],
    [{ group_by: ['hosts'] }, 404, 'unknown_name', 'group_by.0'],
    [{ filter: [{ dimension: 'uid', values: ['1'] }] }, 404, 'unknown_name', 'filter.0.dimension'],
    [{ data_id: 1999999 }, 404, 'not_found', undefined],
    [{ table: 'tables()', data_id: undefined }, 404, 'not_found', undefined],
    [{ table: '2_mon_time_series_1500001.__default__' }, 422, 'invalid_value', 'table'],
    [{ step: 5 }, 422, 'invalid_value', 'step'],
    [{ since: until - 7 * 86_400 - 1 }, 422, 'invalid_value', 'since'],
    [{ metrics: ['a', 'b', 'c', 'd', 'e'] }, 422, 'invalid_value', 'metrics'],
    [{ metrics: ['cpu', 'cpu'] }, 422, 'invalid_value', 'metrics.1'],
    [{ group_by: ['host', 'zone', 'label'] }, 422, 'invalid_value', 'group_by'],
    [{ filter: [{ dimension: 'host', values: ['a', 'b'] }] }, 422, 'invalid_value', 'filter.0.values'],
    [{ sql: 'SELECT 1' }, 422, 'invalid_value', 'sql'],
    [
      { filter: [{ dimension: 'host', operator: 'in', values: Array(50).fill("'".repeat(1024)) }] },
      422,
      'query_too_large',
      undefined,
    ],
  ])('are refused for %j', async (body, status, code, field) => {
    const answer = await askPoints(body);
    expect(answer).toMatchObject({ status, body: { code, ...(field === undefined ? {} : { field }) } });
  });

  it('may span more than seven days where the query says wide', async () => {
    const answer = await seriesOf({ since: until - 400 * 86_400, wide: true, aggregate: 'count' });
    expect(answer.series[0]?.values.reduce((sum: number, value) => sum + (value ?? 0), 0)).toBe(325);
  });

  it('come from tidemark query for a period of times, or of ages', async () => {
    const dataId = wide.data_source.mon_data_id;
    const asked = `query points --data-id ${dataId} --metric cpu`;
    const at = (seconds: number): string => new Date(seconds * 1000).toISOString();
    const answer = await cli.json(period, `${asked} --since ${at(hour)} --until ${at(hour + 1_800)}`);
    expect(answer).toEqual({ since: hour, until: hour + 1_800 });
    const last = await cli.json(period, `${asked} --until ${at(hour + 1_800)}`);
    expect(last).toEqual({ since: hour - 1_800, until: hour + 1_800 });
    const aged = await cli.json(period, `${asked} --since 3h --until 2h`);
    expect(Math.abs(aged.until - aged.since - 3_600)).toBeLessThanOrEqual(1);
    const byDay = `query values host --data-id ${dataId} --since 2026-11-20 --until 2026-11-20T10:00Z`;
    expect(await cli.json(period, byDay)).toEqual({ since: 1_795_132_800, until: 1_795_168_800 });
  });

  it('are written for people and for programs by tidemark query', async () => {
    const dataId = wide.data_source.mon_data_id;
    const text = await cli.text(
      `query points --data-id ${dataId} --metric cpu,mem --aggregate max --where zone=a --where host!=h3 --by target --since 3h --step 1h`,
    );
    expect(text).toMatch(
      /^TIME +(cpu odd +mem odd +cpu even +mem even|cpu even +mem even +cpu odd +mem odd)$/m,
    );
    expect(text).toMatch(/^\S+ \S+Z +(9\.9 +900 +8\.8 +800|8\.8 +800 +9\.9 +900)$/m);
    const answer = await cli.json(
      pointsAnswer,
      `query points --data-id ${dataId} --metric cpu --where host=h1,h2 --by host --since 3h`,
    );
    expect(answer.series.map(({ group }) => group[0]).toSorted()).toEqual(['h1', 'h2']);
    expect(await cli.text(`query values label --data-id ${dataId} --since 3h`)).not.toContain('\u001b');
    expect(await cli.run(`query points --data-id ${dataId} --metric nope`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no metric "nope"'),
    });
  });
});
