import { Sender } from '@questdb/nodejs-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Books, cleanVerdict, judge, pointOf, produce } from '../support/producer.ts';
import { type Report, type Stack, startStack } from '../support/stack.ts';
import { waitFor } from '../support/wait.ts';

const seed = 7;

const pushUrl = (stack: Stack, index = 0): string =>
  `http://127.0.0.1:${stack.ingress[index]?.ports['push']}/v2/push/`;

/** Waits until every acknowledged id is visible; a message of a killed worker takes an ack wait to come again. */
const waitForAcknowledged = async (stack: Stack, table: string, books: Books): Promise<void> => {
  await waitFor('every acknowledged point is visible', 150_000, async () => {
    const { dataset } = await stack.query(`SELECT count() FROM "${table}"`);
    return Number(dataset[0]?.[0]) >= books.acknowledged.size;
  });
};

const settleAndJudge = async (stack: Stack, report: Report, books: Books) => {
  const table = report.result_table.table_id;
  await waitForAcknowledged(stack, table, books);
  await stack.waitForEmptyStream('METRICS', 150_000);
  await waitFor('QuestDB has applied its log', 30_000, async () => {
    const { dataset } = await stack.query(`SELECT name FROM wal_tables() WHERE sequencerTxn != writerTxn`);
    return dataset.length === 0;
  });
  return judge(stack, table, books, seed);
};

describe('two ingress and two transfer processes', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ ingress: 2, transfer: 2 });
  });
  afterAll(() => stack.stop());

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
    await stack.waitForRows(table, points, 60_000);
    expect(await judge(stack, table, books, seed)).toEqual(cleanVerdict);
    for (const transfer of stack.transfer)
      expect(await transfer.metrics()).toMatch(/items_stored_total\S* [1-9]/);

    await stack.query(
      'CREATE TABLE oracle (timestamp TIMESTAMP, id DOUBLE, value_a DOUBLE, value_b DOUBLE, target SYMBOL, module SYMBOL, host SYMBOL) TIMESTAMP(timestamp) PARTITION BY DAY WAL',
    );
    const sender = await Sender.fromConfig(
      `http::addr=${new URL(stack.engines.questdb.url).host};auto_flush_rows=20000`,
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
    await stack.waitForRows('oracle', points, 60_000);
    const columns = 'timestamp, id, value_a, value_b, target, module, host';
    const read = async (name: string): Promise<string[]> => {
      const response = await fetch(
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
});

describe('one of each, under load', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ transfer: 2 });
  });
  afterAll(() => stack.stop());

  /** Starts a producer, runs the fault beside it, stops the producer and judges. */
  const underLoad = async (name: string, fault: () => Promise<void>) => {
    await stack.ready();
    const report = await stack.createReport(name);
    const stopLoad = new AbortController();
    const producing = produce(report, Date.now() - 60_000, {
      seed,
      connections: 2,
      pointsMax: 300,
      until: stopLoad.signal,
      urls: [pushUrl(stack)],
    });
    await waitFor('rows arrive', 30_000, async () => {
      const { dataset } = await stack.query(`SELECT count() FROM "${report.result_table.table_id}"`);
      return Number(dataset[0]?.[0]) > 500;
    });
    await fault();
    stopLoad.abort();
    const books = await producing;
    return { books, verdict: await settleAndJudge(stack, report, books) };
  };

  it('a stopped NATS is answered 503 with Retry-After within 2 s (five times the slack), and taking goes on without a restart', async () => {
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
    await waitFor('the receiver takes pushes again', 30_000, async () => (await push()).status === 200);
  });

  it('NATS killed -9 twice under load loses nothing that was acknowledged and stores nothing twice', async () => {
    const { books, verdict } = await underLoad('nats-kill', async () => {
      for (let kills = 0; kills < 2; kills++) {
        await stack.engines.nats.kill();
        await stack.engines.nats.start();
        await stack.ingress[0]?.ready();
      }
    });
    expect(books.acknowledged.size).toBeGreaterThan(500);
    expect(verdict).toEqual(cleanVerdict);
  });

  it('QuestDB away for 20 s under load: the receiver goes on answering 200, nothing is lost, nothing is stored twice', async () => {
    const { books, verdict } = await underLoad('questdb-stop', async () => {
      await stack.engines.questdb.stop();
      const stoppedAt = Date.now();
      await waitFor('20 s have passed', 25_000, () => Date.now() - stoppedAt >= 20_000);
      await stack.engines.questdb.start();
    });
    expect([...books.statuses.keys()]).toEqual([200]);
    expect(verdict).toEqual(cleanVerdict);
  });

  it('QuestDB killed -9 under load: exact', async () => {
    const { books, verdict } = await underLoad('questdb-kill', async () => {
      for (let kills = 0; kills < 2; kills++) {
        await stack.engines.questdb.kill();
        await stack.engines.questdb.start();
      }
    });
    expect([...books.statuses.keys()]).toEqual([200]);
    expect(verdict).toEqual(cleanVerdict);
  });

  it('transfer killed -9 three times under load: exact', async () => {
    const { books, verdict } = await underLoad('transfer-kill', async () => {
      for (let kills = 0; kills < 3; kills++) {
        for (const transfer of stack.transfer) {
          await transfer.kill();
          transfer.start();
          await transfer.ready();
        }
      }
    });
    expect([...books.statuses.keys()]).toEqual([200]);
    expect(verdict).toEqual(cleanVerdict);
  });

  it('ingress killed -9 under load: what it acknowledged is stored once', async () => {
    const { books, verdict } = await underLoad('ingress-kill', async () => {
      for (let kills = 0; kills < 2; kills++) {
        await stack.ingress[0]?.kill();
        stack.ingress[0]?.start();
        await stack.ingress[0]?.ready();
      }
    });
    expect(books.acknowledged.size).toBeGreaterThan(500);
    expect(verdict).toEqual(cleanVerdict);
  });

  it('metadata away: known data ids go on', async () => {
    const { books, verdict } = await underLoad('metadata-kill', async () => {
      await stack.metadata.kill();
      const seen = Date.now();
      await waitFor('a second under load', 3_000, () => Date.now() - seen > 1_000);
      stack.metadata.start();
      await stack.metadata.ready();
    });
    expect([...books.statuses.keys()]).toEqual([200]);
    expect(verdict).toEqual(cleanVerdict);
  });
});
