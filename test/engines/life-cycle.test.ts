import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { until } from '../support/until.ts';

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ ingress: 2, ackWaitSeconds: 2 });
});
afterAll(async () => {
  await stack?.stop();
});

type Source = { mon_data_id: number; token: string };

/** What a change may take to reach every receiver. A second is what is promised; a busy machine is forgiven the rest. */
const boundMs = 5_000;

const push = async (
  process: number,
  { mon_data_id, token }: Source,
  value: number,
): Promise<{ status: number; headers: Headers }> => {
  const { status, headers } = await fetch(
    `http://127.0.0.1:${stack.ingress[process]?.ports['push']}/v2/push/`,
    {
      method: 'POST',
      body: JSON.stringify({
        data_id: mon_data_id,
        access_token: token,
        data: [{ metrics: { load: value }, target: 'here', dimension: {}, timestamp: Date.now() }],
      }),
    },
  );
  return { status, headers };
};

/** Waits until both receivers answer so, and answers how many of the pushes were taken. */
const bothAnswer = async (source: Source, status: number, value = 1, withinMs = boundMs): Promise<number> => {
  let taken = 0;
  for (const process of [0, 1]) {
    await until(
      `receiver ${process} answers ${status}`,
      async () => {
        const answer = await push(process, source, value);
        if (answer.status === 200) taken += 1;
        return answer.status === status;
      },
      withinMs,
    );
  }
  return taken;
};

const change = async (method: string, path: string, body?: unknown): Promise<unknown> => {
  const answer = await stack.api(method, path, body);
  expect(answer, `${method} ${path}`).toMatchObject({ status: 200 });
  return answer.body;
};

const reportPath = ({ custom_report }: Report): string =>
  `/api/v1/custom-reports/${custom_report.custom_report_id}`;
const sourcePath = ({ mon_data_id }: Source): string => `/api/v1/data-sources/${mon_data_id}`;

const valuesOf = async (table: string): Promise<number[]> =>
  (await stack.query(`SELECT load FROM "${table}" ORDER BY load`)).dataset.map(([value]) => Number(value));

describe('both receivers follow the records', () => {
  it('a report takes points from its creation on, none while it is disabled, and again when it is enabled', async () => {
    const report = await stack.createReport('switched');
    const source = report.data_source;
    let taken = await bothAnswer(source, 200);
    await change('POST', `${reportPath(report)}/disable`);
    taken += await bothAnswer(source, 403);
    await change('POST', `${reportPath(report)}/enable`);
    taken += await bothAnswer(source, 200);
    for (const path of [sourcePath(source), `/api/v1/result-tables/${report.result_table.table_id}`]) {
      await change('POST', `${path}/disable`);
      taken += await bothAnswer(source, 403);
      await change('POST', `${path}/enable`);
      taken += await bothAnswer(source, 200);
    }
    await stack.waitForRows(report.result_table.table_id, taken);
  });

  it('a rotated token is taken beside the new one until its time is over, and then it is not', async () => {
    const overlapSeconds = 3;
    const report = await stack.createReport('rotated');
    const source = report.data_source;
    await bothAnswer(source, 200);
    const answer = await change('POST', `${sourcePath(source)}/rotate-token`, {
      overlap_seconds: overlapSeconds,
    });
    const { token, previous_expires_at } = z
      .object({ token: z.string(), previous_expires_at: z.int() })
      .parse(answer);
    await bothAnswer({ ...source, token }, 200);
    // Unless this machine took longer than the overlap, the old one is still good now.
    const old = await push(0, source, 1);
    if (Date.now() < previous_expires_at * 1_000) expect(old.status).toBe(200);
    await bothAnswer(source, 401, 1, overlapSeconds * 1_000 + boundMs);
    expect(Date.now()).toBeGreaterThanOrEqual(previous_expires_at * 1_000);
    await bothAnswer({ ...source, token }, 200);
    await change('POST', `${sourcePath(source)}/rotate-token`, { overlap_seconds: 0 });
    await bothAnswer({ ...source, token }, 401);
  });

  it('max_rate and the policy are followed', async () => {
    const report = await stack.createReport('limited');
    const source = report.data_source;
    await bothAnswer(source, 200);
    await change('PATCH', reportPath(report), { max_rate: -2 });
    await bothAnswer(source, 429);
    await change('PATCH', reportPath(report), { max_rate: 0 });
    await bothAnswer(source, 200);
    const tooMany = async (process: number): Promise<number> => {
      const point = { metrics: { load: 1 }, timestamp: Date.now() };
      const body = { data_id: source.mon_data_id, access_token: source.token, data: [point, point] };
      const url = `http://127.0.0.1:${stack.ingress[process]?.ports['push']}/v2/push/`;
      return (await fetch(url, { method: 'POST', body: JSON.stringify(body) })).status;
    };
    for (const [points_max, status] of [
      [1, 413],
      [null, 200],
    ] as const) {
      await change('PATCH', `${sourcePath(source)}/policy`, { points_max });
      for (const process of [0, 1]) {
        await until(`two points are ${status}`, async () => (await tooMany(process)) === status, boundMs);
      }
    }
    await change('PATCH', `${sourcePath(source)}/policy`, { retention_days: 9 });
    // QuestDB has it in its WAL; the table follows once that is applied.
    await until('the rows are kept for nine days', async () => {
      const { dataset } = await stack.query(
        `SELECT ttlValue, ttlUnit FROM tables() WHERE table_name = '${report.result_table.table_id}'`,
      );
      return JSON.stringify(dataset) === '[[9,"DAY"]]';
    });
  });
});

describe('with transfer stopped', () => {
  const worker = () => {
    const [process] = stack.transfer;
    if (process === undefined) throw new Error('there is no transfer process');
    return process;
  };
  const restart = async (): Promise<void> => {
    worker().start();
    await worker().ready();
  };

  it('the backlog of a deleted report is stored; its name goes to a new one with a new data id, and old rows stay', async () => {
    const first = await stack.createReport('again');
    await worker().stop();
    const backlog = await bothAnswer(first.data_source, 200, 1);
    await change('DELETE', reportPath(first));
    const late = await bothAnswer(first.data_source, 403, 1);
    const second = await stack.createReport('again');
    expect(second.data_source.mon_data_id).not.toBe(first.data_source.mon_data_id);
    expect(second.data_source.token).not.toBe(first.data_source.token);
    expect(second.result_table.table_id).not.toBe(first.result_table.table_id);
    const fresh = await bothAnswer(second.data_source, 200, 2);
    expect((await push(0, { ...second.data_source, token: first.data_source.token }, 2)).status).toBe(401);
    await restart();
    await stack.waitForRows(first.result_table.table_id, backlog + late);
    await stack.waitForRows(second.result_table.table_id, fresh);
    expect(new Set(await valuesOf(first.result_table.table_id))).toEqual(new Set([1]));
    expect(new Set(await valuesOf(second.result_table.table_id))).toEqual(new Set([2]));
  });

  it('a purge drops the backlog with its reason and the table for good, and nothing of a neighbour', async () => {
    const purged = await stack.createReport('purged', { is_split_measurement: true });
    const neighbour = await stack.createReport('neighbour');
    const { table_id } = purged.result_table;
    const stored = await bothAnswer(purged.data_source, 200);
    await stack.waitForRows(table_id, stored);
    const before = await dropped();
    await worker().stop();
    let waiting = 0;
    let kept = 0;
    for (let round = 0; round < 10; round++) {
      waiting += await bothAnswer(purged.data_source, 200, round);
      kept += await bothAnswer(neighbour.data_source, 200, round);
    }
    await change('POST', `${reportPath(purged)}/purge`, { table_id });
    waiting += await bothAnswer(purged.data_source, 403);
    await restart();
    await stack.waitForRows(neighbour.result_table.table_id, kept);
    await stack.waitForEmptyStream('METRICS');
    // Counters start at zero with the process.
    await until('the backlog is counted', async () => (await dropped()) === waiting);
    expect(before).toBe(0);
    await until('the report is purged', async () => {
      const { body } = await stack.api('GET', reportPath(purged));
      return Object(body).state === 'purged';
    });
    const prefix = table_id.replace('__default__', '');
    const { dataset } = await stack.query(`SELECT table_name FROM tables() WHERE table_name = '${table_id}'`);
    expect(dataset).toEqual([]);
    const views = await stack.query('SELECT view_name FROM views()');
    expect(views.dataset.filter(([name]) => String(name).startsWith(prefix))).toEqual([]);
    expect(await valuesOf(neighbour.result_table.table_id)).toHaveLength(kept);
  });

  const dropped = async (): Promise<number> => {
    const text = await worker().metrics();
    const figures = [...text.matchAll(/items_dropped_total\{[^}]*reason="data_source_purged"[^}]*\} (\d+)/g)];
    return figures.reduce((sum, [, count]) => sum + Number(count), 0);
  };
});
