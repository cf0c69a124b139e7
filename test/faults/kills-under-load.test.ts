import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Books, cleanVerdict, judge, produce } from '../support/push/producer.ts';
import { type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

const seed = 7;

const pushUrl = (stack: Stack): string => `http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`;

/** Waits until every acknowledged id is visible; NATS redelivers a message of a killed worker after an ack wait. */
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
  await waitFor('QuestDB has applied its log', 60_000, async () => {
    const { dataset } = await stack.query(`SELECT name FROM wal_tables() WHERE sequencerTxn != writerTxn`);
    return dataset.length === 0;
  });
  return judge(stack, table, books, seed);
};

describe('points, one of each, under load', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ transfer: 2 });
  });
  afterAll(() => stack.stop());

  /** Starts a producer, runs the fault beside it, stops the producer and checks. */
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
    await waitFor('rows arrive', 60_000, async () => {
      const { dataset } = await stack.query(`SELECT count() FROM "${report.result_table.table_id}"`);
      return Number(dataset[0]?.[0]) > 500;
    });
    await fault();
    stopLoad.abort();
    const books = await producing;
    return { books, verdict: await settleAndJudge(stack, report, books) };
  };

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

  it('QuestDB down for 20 s under load: the receiver continues to answer 200, nothing is lost, nothing is stored twice', async () => {
    const { books, verdict } = await underLoad('questdb-stop', async () => {
      await stack.engines.questdb.stop();
      const stoppedAt = Date.now();
      await waitFor('20 s have passed', 60_000, () => Date.now() - stoppedAt >= 20_000);
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

  it('ingress killed -9 under load: its acknowledged points are stored once', async () => {
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

  it('metadata down: known data ids continue', async () => {
    const { books, verdict } = await underLoad('metadata-kill', async () => {
      await stack.metadata.kill();
      const seen = Date.now();
      await waitFor('a second under load', 60_000, () => Date.now() - seen > 1_000);
      stack.metadata.start();
      await stack.metadata.ready();
    });
    expect([...books.statuses.keys()]).toEqual([200]);
    expect(verdict).toEqual(cleanVerdict);
  });
});
