import { Sender } from '@questdb/nodejs-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { cleanVerdict, judge, pointOf, produce } from '../../support/push/producer.ts';
import { fetchEngine } from '../../support/stack/fetch-engine.ts';
import type { Stack } from '../../support/stack/stack.ts';
import { waitFor } from '../../support/wait.ts';
import { sharedStack } from './stack.ts';

const seed = 7;

const pushUrl = (stack: Stack, index = 0): string =>
  `http://127.0.0.1:${stack.ingress[index]?.ports['push']}/v2/push/`;

describe('two ingress and two transfer processes', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await sharedStack();
  });

  it('store 100,000 points in mixed request sizes exactly, bit by bit as a second path stores them', async () => {
    const points = 100_000;
    const report = await stack.createReport('exact');
    const table = report.result_table.table_id;
    const baseMs = Date.now() - 60_000;
    const books = await produce(report, baseMs, {
      seed,
      connections: 8,
      pointsMax: 2000,
      points,
      urls: [pushUrl(stack, 0), pushUrl(stack, 1)],
    });
    expect(books.acknowledged.size).toBe(points);
    await stack.waitForRows(table, points, 120_000);
    expect(await judge(stack, table, books, seed)).toEqual(cleanVerdict);
    for (const transfer of stack.transfer)
      expect(await transfer.metrics()).toMatch(/items_stored_total\{[^}]*pipeline="metrics"[^}]*\} [1-9]/);

    await stack.query(
      'CREATE TABLE oracle (timestamp TIMESTAMP, id DOUBLE, value_a DOUBLE, value_b DOUBLE, target SYMBOL, module SYMBOL, host SYMBOL) TIMESTAMP(timestamp) PARTITION BY DAY WAL',
    );
    const { host, username, password } = new URL(stack.engines.questdb.url);
    const sender = await Sender.fromConfig(
      `http::addr=${host};username=${username};password=${password};auto_flush_rows=20000`,
    );
    for (let id = 0; id < points; id++) {
      const point = pointOf(id, seed, baseMs + (id % 10_000));
      await sender
        .table('oracle')
        .symbol('target', point.target)
        .symbol('module', point.dimension.module)
        .symbol('host', point.dimension.host)
        .floatColumn('id', id)
        .floatColumn('value_a', point.metrics.value_a)
        .floatColumn('value_b', point.metrics.value_b)
        .at(point.timestamp, 'ms');
    }
    await sender.flush();
    await sender.close();
    await stack.waitForRows('oracle', points, 120_000);
    const columns = 'timestamp, id, value_a, value_b, target, module, host';
    const read = async (name: string): Promise<string[]> => {
      const response = await fetchEngine(
        `${stack.engines.questdb.url}/exp?query=${encodeURIComponent(`SELECT ${columns} FROM "${name}" ORDER BY id`)}`,
      );
      return (await response.text()).split('\r\n');
    };
    const ours = await read(table);
    const theirs = await read('oracle');
    expect(ours.length).toBe(theirs.length);
    expect(ours.findIndex((line, index) => line !== theirs[index])).toBe(-1);
  });

  it('take a new data id on both receivers within a second (five times the slack) and refuse every wrong credential alike', async () => {
    const report = await stack.createReport('new-id');
    const created = Date.now();
    const { mon_data_id: dataId, token } = report.data_source;
    const push = async (
      index: number,
      id: number,
      accessToken: unknown,
    ): Promise<{ status: number; text: string }> => {
      const response = await fetch(pushUrl(stack, index), {
        method: 'POST',
        body: JSON.stringify({ data_id: id, access_token: accessToken, data: [{ metrics: { up: 1 } }] }),
      });
      return { status: response.status, text: await response.text() };
    };
    for (const index of [0, 1]) {
      await waitFor(
        `ingress ${index} takes the new id`,
        5_000,
        async () => (await push(index, dataId, token)).status === 200,
      );
    }
    expect(Date.now() - created).toBeLessThan(5_000);
    const refusals = [
      await push(0, dataId, 'f'.repeat(32)),
      await push(0, dataId, undefined),
      await push(1, dataId + 1000, token),
      await push(1, dataId, 42),
    ];
    for (const refusal of refusals) expect(refusal).toEqual(refusals[0]);
    expect(refusals[0]?.status).toBe(401);
  });

  it('a stopped NATS is answered 503 with Retry-After within 2 s (five times the slack), and ingress continues without a restart', async () => {
    const report = await stack.createReport('nats-stop');
    const body = JSON.stringify({
      data_id: report.data_source.mon_data_id,
      access_token: report.data_source.token,
      data: [{ metrics: { up: 1 } }],
    });
    const push = () => fetch(pushUrl(stack), { method: 'POST', body });
    expect((await push()).status).toBe(200);
    await stack.engines.nats.stop();
    const stoppedAt = Date.now();
    const refused = await push();
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Date.now() - stoppedAt).toBeLessThan(10_000);
    await stack.engines.nats.start();
    await waitFor('the receiver takes pushes again', 60_000, async () => (await push()).status === 200);
  });
});
