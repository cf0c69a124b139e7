import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Report } from '../../support/stack/stack.ts';
import { askPoints, cli, hour, stack } from './stored.ts';

const daySeconds = 86_400;
/** The first of two days whose rows QuestDB adds up one by one. */
const day = Math.floor(hour / daySeconds) * daySeconds - 3 * daySeconds;
const most = 1.7e308;

/** The values of each bucket of a minute from the start of the first day on. */
const minutes: readonly (readonly number[])[] = [
  Array(10).fill(1e308),
  [most, most, 1, 1],
  [most, most, -most, -most],
  [-most, -most],
  [],
  [1, 2, 6],
];

const points = [
  ...minutes.flatMap((values, minute) =>
    values.map((large, index) => ({ large, at: day + 60 * minute + index })),
  ),
  ...[5, 7].map((large, index) => ({ large, at: day + daySeconds + index })),
].map(({ large, at }) => ({ metrics: { large, tiny: 5e-324 }, target: 'a', timestamp: at * 1_000 }));

const answered = z.object({
  series: z.array(
    z.object({
      metric: z.string(),
      values: z.array(z.number().nullable()),
      too_large: z.array(z.number()),
    }),
  ),
});

describe('values whose sum is larger than a number can be', () => {
  const reports: Report[] = [];
  beforeAll(async () => {
    for (const split of [false, true]) {
      const report = await stack.createReport(`large ${split}`, { is_split_measurement: split });
      reports.push(report);
      const { mon_data_id: dataId, token } = report.data_source;
      const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
        method: 'POST',
        body: JSON.stringify({ data_id: dataId, access_token: token, data: points }),
      });
      expect([response.status, await response.text()]).toMatchObject([200, expect.anything()]);
      await stack.waitForRows(report.result_table.table_id, points.length * (split ? 2 : 1));
    }
  });

  const asked = async (report: Report, body: Record<string, unknown>) => {
    const query = { metrics: ['large', 'tiny'], since: day, until: day + 360, step: 60, ...body };
    const answer = await askPoints(query, report);
    expect([answer.status, answer.status === 200 ? '' : answer.body]).toEqual([200, '']);
    return answered.parse(answer.body).series;
  };
  const close = (value: number) => expect.closeTo(value / 1e300, -Math.log10(Math.abs(value) / 1e300) + 12);
  const parts = (values: readonly (number | null)[] = []) =>
    values.map((value) => (value === null || Math.abs(value) < 1e300 ? value : value / 1e300));

  it('have the mean that they have, beside the smallest ones, in a table of either layout', async () => {
    for (const report of reports) {
      const [large, tiny] = await asked(report, { aggregate: 'avg' });
      expect(parts(large?.values)).toEqual([close(1e308), close(most / 2), 0, close(-most), null, 3]);
      expect(tiny?.values).toEqual(minutes.map((values) => (values.length === 0 ? null : 5e-324)));
      expect([large?.too_large, tiny?.too_large]).toEqual([[], []]);
      const days = { aggregate: 'avg', until: day + 2 * daySeconds, step: 7 * daySeconds };
      const mean = points.reduce((sum, { metrics }) => sum + metrics.large / points.length, 0);
      expect(parts((await asked(report, days))[0]?.values)).toContainEqual(close(mean));
    }
  });

  it('have no sum, and the answer names their buckets, also where QuestDB leaves a part of the sum out', async () => {
    for (const report of reports) {
      const [large, tiny] = await asked(report, { aggregate: 'sum' });
      expect(large).toMatchObject({ values: [null, null, 0, null, null, 9], too_large: [0, 1, 3] });
      expect(tiny).toMatchObject({ too_large: [] });
      const [all] = await asked(report, {
        aggregate: 'sum',
        until: day + 2 * daySeconds,
        step: 30 * daySeconds,
      });
      expect(all?.values.filter((value) => value !== null)).toEqual([]);
      expect(all?.too_large).toHaveLength(1);
    }
  });

  it('are rows of tidemark query points, with words', async () => {
    for (const report of reports) {
      const at = (seconds: number): string => new Date(seconds * 1_000).toISOString();
      const { mon_data_id: dataId } = report.data_source;
      const line = `query points --data-id ${dataId} --metric large --since ${at(day)} --until ${at(day + 360)} --step 1m`;
      const sum = await cli.run(`${line} --aggregate sum`);
      const lines = sum.stdout.trimEnd().split('\n');
      expect(lines).toHaveLength(6);
      expect(lines.filter((each) => each.endsWith('too large'))).toHaveLength(3);
      expect(sum.stderr).toContain('the sum of 3 buckets is larger than 1.8e308, the largest number');
      expect((await cli.text(`${line} --aggregate avg`)).trimEnd().split('\n')).toHaveLength(6);
    }
  });
});
