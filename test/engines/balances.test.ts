import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { balancesQuery, readBalances } from '../../src/outcomes/balance.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { makeTables, startEngines, type TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';

let engines: TestEngines;
let clickhouse: Clickhouse;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true });
  await makeTables(engines.clickhouse.url);
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  // Each insert is a part of its own, so that no merge does the work of a reading.
  await clickhouse.run('SYSTEM STOP MERGES otel.ingest_outcomes');
  const record = (base: number, minutesAgo: number, outcomes: string, items: number, at: number): string =>
    `INSERT INTO otel.ingest_outcomes
       (pipeline, data_id, app_id, base, first, ordinal, redrive, minute, received, outcomes, at) SELECT 'metrics', 1500001, 0, ${base}, 0, -1, 0,
       toStartOfMinute(now() - ${minutesAgo * 60}), ${items}, map('${outcomes}', ${items}), now64(3) + ${at}`;
  for (const statement of [
    record(1, 30, 'dead_lettered', 10, 0),
    record(1, 30, 'stored', 10, 1),
    record(2, 30, 'stored', 5, 0),
    record(3, 90 * 24 * 60 - 600, 'stored', 7, 0),
    record(3, 90 * 24 * 60 - 600, 'stored', 8, 1),
  ])
    await clickhouse.run(statement);
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});

const hour = 3_600_000;

describe('the balance', () => {
  // A redelivery writes its record again: counted twice, it would look like a gain, or hide a loss.
  it('counts the last record of each key, in a short window, a long one and without one', async () => {
    const received = async (sinceMs?: number): Promise<unknown> => {
      const rows = await readBalances(clickhouse, sinceMs === undefined ? {} : { sinceMs });
      return rows.map((row) => [row.received, row.stored, row.deadLettered]);
    };
    expect(await received(Date.now() - hour)).toEqual([[15, 15, 0]]);
    expect(await received(Date.now() - 24 * hour)).toEqual([[15, 15, 0]]);
    expect(await received()).toEqual([[23, 23, 0]]);
  });

  // Metadata reads the last hour each minute. With FINAL that is the whole table: half a second per million rows, and past
  // some ten million no answer at all.
  it('of the last hour is read without the parts of other times', async () => {
    const { query } = balancesQuery({ sinceMs: Date.now() - hour, untilMs: Date.now() }, false);
    const now = Math.floor(Date.now() / 1000);
    const text = query.replace('{since:UInt32}', String(now - 3600)).replace('{until:UInt32}', String(now));
    const answer = await fetchEngine(engines.clickhouse.url, {
      method: 'POST',
      body: `EXPLAIN indexes = 1 ${text}`,
    });
    const plan = await answer.text();
    expect(plan).toContain('Parts: 3/5');
  });
});
