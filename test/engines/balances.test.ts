import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sumOf } from '../../src/model/sums.ts';
import { type Balance, balancesQuery, readBalances } from '../../src/outcomes/balance.ts';
import { accountOf, type OpenLetter, removedBy, withStrays } from '../../src/outcomes/message-account.ts';
import { readOpenLetters, readStrayItems } from '../../src/outcomes/record-reader.ts';
import { momentText } from '../../src/outcomes/times.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { randomOf } from '../support/otlp/plain/mutations.ts';
import { historyOf, lastRecords, withoutLetters } from '../support/outcomes/histories.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';

let engines: TestEngines;
let clickhouse: Clickhouse;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
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
    const { query } = balancesQuery({ sinceMs: Date.now() - hour, untilMs: Date.now() });
    const now = Math.floor(Date.now() / 1000);
    const text = query
      .replaceAll('{since:UInt32}', String(now - 3600))
      .replaceAll('{until:UInt32}', String(now));
    const answer = await fetchEngine(engines.clickhouse.url, {
      method: 'POST',
      body: `EXPLAIN indexes = 1 ${text}`,
    });
    const plan = await answer.text();
    expect(plan).toContain('Parts: 3/5');
  });

  // The plan of the corrections takes ClickHouse a fifth of a second of CPU, for each ledger and each minute of metadata.
  it('of records without redrives and purges plans no corrections, and is the same', async () => {
    const asked: string[] = [];
    const watched: Clickhouse = {
      ...clickhouse,
      rows: (schema, query, options) => {
        asked.push(query);
        return clickhouse.rows(schema, query, options);
      },
    };
    const balances = await readBalances(watched, {});
    expect(asked.filter((query) => query.includes('arrayFold'))).toEqual([]);
    const { query, params } = balancesQuery({});
    expect(query).toContain('arrayFold');
    const sums = z.object({ received: z.coerce.number(), outcomes: z.record(z.string(), z.coerce.number()) });
    expect(balances.map(({ received, stored }) => [received, stored])).toEqual(
      (await clickhouse.rows(sums, query, { params })).map(({ received, outcomes }) => [
        received,
        outcomes['stored'],
      ]),
    );
  });
});

/** The owner's messages; one in three of an earlier program, one in three with lost records. */
const messagesOf = (owner: number) => {
  const random = randomOf(owner);
  return Array.from({ length: 1 + (owner % 3) }, () => {
    const history = historyOf(random, { isLossy: owner % 3 === 1 });
    return owner % 3 === 2 ? withoutLetters(history) : history;
  });
};

const owners = Array.from({ length: 300 }, (_, index) => 1 + index);
const minuteSeconds = Math.floor(Date.now() / 60_000) * 60 - 1_800;

const insertHistories = async (): Promise<void> => {
  const lines: string[] = [];
  for (const owner of owners)
    for (const [message, { records }] of messagesOf(owner).entries())
      for (const { letters, letterItems, at, ...record } of records)
        lines.push(
          JSON.stringify({
            pipeline: 'traces',
            data_id: 0,
            app_id: owner,
            base: String(message),
            first: 0,
            ...record,
            // A repeat has another minute than its message had; a redrive's record keeps that of its letter.
            minute: minuteSeconds + (record.redrive === 0 ? 60 * (at % 4) : 0),
            letters,
            letter_items: letterItems,
            at: momentText(minuteSeconds * 1_000 + at),
            book: owner % 3 === 2 ? 0 : 1,
          }),
        );
  // Pieces, so that the records of one message lie in several parts.
  const pieces = 7;
  for (let piece = 0; piece < pieces; piece++)
    await clickhouse.insert('INSERT INTO otel.ingest_outcomes FORMAT JSONEachRow', [
      Buffer.from(lines.filter((_, index) => index % pieces === piece).join('\n')),
    ]);
};

const countsOf = ({ stored, dropped, deadLettered }: Balance): Record<string, number> =>
  Object.fromEntries(
    Object.entries({
      stored,
      dead_lettered: deadLettered,
      ...Object.fromEntries(Object.entries(dropped).map(([reason, items]) => [`dropped/${reason}`, items])),
    }).filter(([, items]) => items !== 0),
  );

/** The balance of an owner as the arithmetic in memory has it. */
const expectedOf = (owner: number): { received: number; outcomes: Record<string, number> } => {
  const sums = { received: 0, outcomes: new Map<string, number>() };
  const stray = new Map<string, number>();
  let strayRemoved = 0;
  const add = (into: Map<string, number>, outcomes: Iterable<[string, number]>): void => {
    for (const [outcome, items] of outcomes) into.set(outcome, (into.get(outcome) ?? 0) + items);
  };
  for (const { records } of messagesOf(owner)) {
    const last = lastRecords(records);
    const account = accountOf(last);
    sums.received += account.received;
    add(sums.outcomes, account.outcomes);
    if (account.isStanding) continue;
    for (const { outcomes } of last) {
      strayRemoved += removedBy(outcomes);
      add(
        stray,
        Object.entries(outcomes).filter(([outcome]) => outcome !== 'dead_lettered'),
      );
    }
  }
  const { received, outcomes } = withStrays(
    { received: sums.received, outcomes: Object.fromEntries(sums.outcomes) },
    Object.fromEntries(stray),
    strayRemoved,
  );
  return {
    received,
    outcomes: Object.fromEntries(Object.entries(outcomes).filter(([, items]) => items !== 0)),
  };
};

describe('the balance of redriven and purged items', () => {
  beforeAll(insertHistories);

  // The query and the model of ten thousand histories must be the same arithmetic.
  it('is that of the arithmetic in memory for random histories, in a short window, a long one and without one', async () => {
    const expected = new Map(owners.map((owner) => [owner, expectedOf(owner)]));
    for (const sinceMs of [undefined, Date.now() - hour, Date.now() - 24 * hour]) {
      const filter = sinceMs === undefined ? {} : { sinceMs };
      const balances = (await readBalances(clickhouse, filter)).filter(({ appId }) => appId > 0);
      expect(balances.length).toBeGreaterThan(owners.length * 0.9);
      for (const balance of balances)
        expect({ received: balance.received, outcomes: countsOf(balance) }, `owner ${balance.appId}`).toEqual(
          expected.get(balance.appId),
        );
    }
  });

  it('by minute is at the minute of the record that stands, adds up and has nothing below 0', async () => {
    const byOwner = new Map<number, number>();
    for (const balance of await readBalances(clickhouse, { sinceMs: Date.now() - 24 * hour }, 'minute')) {
      if (balance.appId === 0) continue;
      const { received, stored, dropped, deadLettered } = balance;
      expect(received).toBe(stored + deadLettered + sumOf(Object.values(dropped)));
      expect(Object.values(countsOf(balance)).every((items) => items > 0)).toBe(true);
      byOwner.set(balance.appId, (byOwner.get(balance.appId) ?? 0) + balance.received);
    }
    for (const [owner, received] of byOwner) expect(received).toBe(expectedOf(owner).received);
  });

  it('has the open dead letters and the stray items of the arithmetic in memory', async () => {
    const textOf = (owner: number, base: string, { redrive, ordinal, items }: OpenLetter): string =>
      `${owner} ${base} ${redrive} ${ordinal} ${items}`;
    const expected = owners.flatMap((owner) =>
      messagesOf(owner).flatMap(({ records }, message) => {
        const last = lastRecords(records);
        const account = accountOf(last);
        const dead = last.reduce((sum, { outcomes }) => sum + (outcomes['dead_lettered'] ?? 0), 0);
        if (!account.isStanding || dead <= 0) return [];
        return account.open
          .filter(({ items }) => items > 0)
          .map((letter) => textOf(owner, String(message), letter));
      }),
    );
    const open = await readOpenLetters(clickhouse, 100_000);
    expect(open?.map((letter) => textOf(letter.app_id, letter.base, letter)).toSorted()).toEqual(
      expected.toSorted(),
    );
    expect(expected.length).toBeGreaterThan(owners.length / 4);
    expect(await readOpenLetters(clickhouse, 10)).toBeUndefined();
    for (const owner of owners.slice(0, 20)) {
      const strays = messagesOf(owner)
        .map(({ records }) => lastRecords(records))
        .filter((records) => !accountOf(records).isStanding)
        .flatMap((records) => records.map(({ outcomes }) => removedBy(outcomes)));
      expect(await readStrayItems(clickhouse, { pipeline: 'traces', data_id: 0, app_id: owner })).toBe(
        strays.reduce((sum, items) => sum + items, 0),
      );
    }
  });
});
