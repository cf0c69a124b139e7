import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../src/embedded/engine.ts';
import { filesAmple, filesMax } from '../../src/embedded/open-files.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';

let engines: TestEngines;

beforeAll(async () => {
  engines = await startEngines({ nats: true, questdb: true, clickhouse: true });
});
afterAll(() => engines.stop());

const questdb = async (query: string): Promise<unknown> => {
  const response = await fetchEngine(`${engines.questdb.url}/exec?query=${encodeURIComponent(query)}`);
  const body: unknown = await response.json();
  return body;
};

const clickhouse = async (query: string): Promise<string> =>
  (
    await fetchEngine(engines.clickhouse.url, {
      method: 'POST',
      body: query,
      headers: { connection: 'close' },
    })
  ).text();

const connectNats = (): Promise<NatsConnection> => {
  const { host, username, password } = new URL(engines.nats.url);
  return connect({ servers: host, user: username, pass: password });
};

const write: Record<Engine['name'], () => Promise<void>> = {
  nats: async () => {
    const connection = await connectNats();
    await (await jetstreamManager(connection)).streams.add({ name: 'KEPT', subjects: ['kept'] });
    await jetstream(connection).publish('kept', 'x');
    await connection.close();
  },
  questdb: async () => {
    await questdb('CREATE TABLE kept (ts TIMESTAMP, n LONG) TIMESTAMP(ts) PARTITION BY DAY WAL');
    await questdb(`INSERT INTO kept VALUES ('2026-01-01', 1)`);
  },
  clickhouse: async () => {
    await clickhouse('CREATE DATABASE kept');
    await clickhouse('CREATE TABLE kept.t (n UInt64) ENGINE = MergeTree ORDER BY n');
    await clickhouse('INSERT INTO kept.t VALUES (1)');
  },
};

const count: Record<Engine['name'], () => Promise<number>> = {
  nats: async () => {
    const connection = await connectNats();
    const info = await (await jetstreamManager(connection)).streams.info('KEPT');
    await connection.close();
    return info.state.messages;
  },
  questdb: async () => {
    const body = await questdb('SELECT count() FROM kept');
    expect(body).toHaveProperty('dataset');
    return Number(JSON.stringify(body).match(/"dataset":\[\[(\d+)/)?.[1]);
  },
  clickhouse: async () => Number(await clickhouse('SELECT count() FROM kept.t')),
};

describe.each(['nats', 'questdb', 'clickhouse'] as const)('%s', (name) => {
  it('keeps the acknowledged data when it is killed', async () => {
    await write[name]();
    await engines[name].kill();
    expect(engines[name].running).toBe(false);
    await engines[name].start();
    await expect.poll(() => count[name]()).toBe(1);
  });

  it('ends by itself on a stop, and keeps its data', async () => {
    const startedAt = performance.now();
    await engines[name].stop();
    expect(engines[name].running).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(14_000);
    await engines[name].start();
    await expect.poll(() => count[name]()).toBe(1);
  });
});

/** Files of table `kept` that QuestDB holds open, but for the list of its commits. */
const filesOfKept = (): string[] =>
  readdirSync(`/proc/${engines.questdb.pid}/fd`).flatMap((id) => {
    try {
      const file = readlinkSync(`/proc/${engines.questdb.pid}/fd/${id}`);
      return /\/db\/kept~\d+\/(?!txn_seq)/.test(file) ? file : [];
    } catch {
      // It was closed since.
      return [];
    }
  });

// At its defaults they stay for minutes: some hundred tables would take all files that a container allows.
it.skipIf(filesMax() >= filesAmple)(
  'QuestDB closes the files of a table that rests, where a process may have few',
  { timeout: 60_000 },
  async () => {
    await questdb(`INSERT INTO kept VALUES ('2026-01-02', 2)`);
    await expect.poll(() => count.questdb()).toBe(2);
    await expect.poll(filesOfKept, { timeout: 50_000 }).toEqual([]);
  },
);

const mergeThreads = (): number[] => {
  const tasks = `/proc/${engines.clickhouse.pid}/task`;
  return readdirSync(tasks).flatMap((id) => {
    const stat = readFileSync(`${tasks}/${id}/stat`, 'utf8');
    return stat.includes('(MergeMutate)') ? Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]) : [];
  });
};

// They take all that the cores have left, and inserts and receivers would wait for them.
it('ClickHouse merges after everything else', { timeout: 30_000 }, async () => {
  await expect.poll(() => new Set(mergeThreads()), { timeout: 20_000 }).toEqual(new Set([10]));
});
