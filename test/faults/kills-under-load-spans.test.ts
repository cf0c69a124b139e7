import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  cleanSpanVerdict,
  countOf,
  exportSpans,
  settleAndJudge,
  tracesUrl,
} from '../support/otlp/span-producer.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

const seed = 5;

describe('spans, one of each, under load', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ traces: true, transfer: 2 });
  });
  afterAll(() => stack.stop());

  /** Starts an exporter, runs the fault beside it, stops the exporter and checks. */
  const underLoad = async (name: string, fault: () => Promise<void>) => {
    await stack.ready();
    const application = await stack.createApplication(name);
    const stopLoad = new AbortController();
    const baseSeconds = Math.floor(Date.now() / 1000) - 600;
    const exporting = exportSpans(baseSeconds, {
      seed,
      connections: 2,
      spansMax: 200,
      until: stopLoad.signal,
      urls: [tracesUrl(stack)],
      token: application.token,
    });
    await waitFor('spans arrive', 60_000, async () => (await countOf(stack, application.app_id)) > 500);
    await fault();
    stopLoad.abort();
    const books = await exporting;
    return { books, verdict: await settleAndJudge(stack, application, books, seed, baseSeconds) };
  };

  it('ClickHouse down for 20 s: the receiver continues to answer 200; exact', async () => {
    const { books, verdict } = await underLoad('clickhouse-stop', async () => {
      await stack.engines.clickhouse.stop();
      const stoppedAt = Date.now();
      await waitFor('20 s have passed', 60_000, () => Date.now() - stoppedAt >= 20_000);
      await stack.engines.clickhouse.start();
    });
    expect([...books.statuses.keys()]).toEqual([200]);
    expect(verdict).toEqual(cleanSpanVerdict);
  });

  it('ClickHouse killed -9 twice: exact', async () => {
    const { books, verdict } = await underLoad('clickhouse-kill', async () => {
      for (let kills = 0; kills < 2; kills++) {
        await stack.engines.clickhouse.kill();
        await stack.engines.clickhouse.start();
      }
    });
    expect([...books.statuses.keys()]).toEqual([200]);
    expect(verdict).toEqual(cleanSpanVerdict);
  });

  it('transfer killed -9 three times: exact', async () => {
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
    expect(verdict).toEqual(cleanSpanVerdict);
  });

  it('NATS killed -9 twice while the exporter sends again: exact', async () => {
    const { books, verdict } = await underLoad('nats-kill', async () => {
      for (let kills = 0; kills < 2; kills++) {
        await stack.engines.nats.kill();
        await stack.engines.nats.start();
        await stack.ingress[0]?.ready();
      }
    });
    expect(books.uncertain.size).toBe(0);
    expect(verdict).toEqual(cleanSpanVerdict);
  });
});
