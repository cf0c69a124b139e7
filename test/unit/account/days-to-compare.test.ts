import { describe, expect, it } from 'vitest';
import {
  createDaysToCompare,
  firstDayOf,
  readStoreSizes,
  type SeenDay,
  seenDays,
} from '../../../src/account/days-to-compare.ts';
import type { SettledDays } from '../../../src/account/settled-days.ts';
import { Fault } from '../../../src/model/fault.ts';
import type { Clickhouse } from '../../../src/stores/clickhouse/client.ts';
import { unavailable } from '../../../src/stores/questdb/sql.ts';

const owner = (...days: [number, number, bigint][]) => ({
  days: new Map(days.map(([day, rows, sum]) => [day, { rows, sum }])),
  unknownUntil: undefined,
});
const settled: SettledDays = new Map([
  ['metrics', new Map([[1, owner([10, 3, 6n], [11, 2, 5n])]])],
  [
    'traces',
    new Map([
      [7, owner([10, 4, 1n])],
      [8, owner([10, 1, 2n ** 64n - 1n])],
    ]),
  ],
]);
const sizes = {
  points: new Map([
    [
      1,
      new Map([
        [10, { rows: 3, mark: 'x' }],
        [12, { rows: 1, mark: 'y' }],
      ]),
    ],
  ]),
  applications: new Map([['traces' as const, new Map([[10, { rows: 5, mark: 'z' }]])]]),
};
const againMs = { recent: 1_000, older: 60_000 };
const shown = (days: readonly SeenDay[]): string[] =>
  days.map(({ pipeline, owner, day }) => `${pipeline} ${owner} ${day}`);

describe('the days whose rows are read', () => {
  const seen = seenDays(settled, sizes, () => 0);

  it('are those of the records and of the stores, with the numbers of both', () => {
    expect(seen.map((day) => [...shown([day]), day.state, day.stored, day.recorded])).toEqual([
      ['metrics 1 10', '3 3 6 x', 3, 3],
      ['metrics 1 12', '1 0 0 y', 1, 0],
      ['metrics 1 11', '0 2 5 ', 0, 2],
      ['traces 0 10', '5 5 0 z', 5, 5],
    ]);
  });

  it('are first those whose numbers differ, then the others, then none until something changes or time is up', () => {
    const days = createDaysToCompare(() => true, againMs);
    expect(shown(days.next(seen, 3, 0))).toEqual(['metrics 1 12', 'metrics 1 11', 'metrics 1 10']);
    for (const day of seen) days.compared(day, 0);
    expect(days.next(seen, 9, 999)).toEqual([]);
    const changed = seen.map((day) => (day.pipeline === 'traces' ? { ...day, state: 'other' } : day));
    expect(shown(days.next(changed, 9, 999))).toEqual(['traces 0 10']);
    expect(days.next(seen, 9, 1_000)).toHaveLength(4);
  });

  it('are those whose rows and records are certainly kept, by signal and by data id', () => {
    const of = (signal: number, ofOwner: number, ofPolicy: number): string[] =>
      shown(
        seenDays(
          settled,
          sizes,
          firstDayOf(
            new Map([
              ['metrics', signal],
              ['traces', 11],
            ]),
            { firstDays: new Map([[1, ofOwner]]) },
            () => ofPolicy,
          ),
        ),
      );
    expect(of(11, 0, 0)).toEqual(['metrics 1 12', 'metrics 1 11']);
    expect(of(0, 12, 0)).toEqual(['metrics 1 12']);
    expect(of(0, 0, 12)).toEqual(['metrics 1 12']);
  });

  it('are the present ones at each turn, however many older ones wait, which keep a quarter', () => {
    const [older, present] = [9, 11].map((day) =>
      Array.from(
        { length: 100 },
        (_, owner): SeenDay => ({
          ...{ pipeline: 'metrics', owner, day, stored: 1, recorded: 1, state: '1' },
        }),
      ),
    );
    const all = [...(older ?? []), ...(present ?? [])];
    const days = createDaysToCompare(({ day }) => day > 10, againMs);
    for (const day of all) days.compared(day, 0);
    const due = days.next(all, 40, 60_000);
    expect(due.map(({ day }) => day)).toEqual([...Array(30).fill(11), ...Array(10).fill(9)]);
    expect(days.next([...all.slice(0, 100), ...all.slice(100, 105)], 40, 60_000)).toHaveLength(40);
  });
});

describe('the sizes of the stores', () => {
  const clickhouse: Clickhouse = {
    rows: async () => [],
    ping: async () => undefined,
    run: async () => undefined,
    insert: async () => 0,
    close: async () => undefined,
  };
  const refused = new Fault('permanent', 'questdb_rejected', 'QuestDB refused: this table');
  const away = unavailable('does not answer');
  /** An instance of tables with a day of 5 rows each. `fault`: of a statement, where it has one. */
  const instance = (tables: readonly string[], fault: (statement: string) => Fault | undefined) => {
    let asked = 0;
    const exec = async (statement: string) => {
      asked++;
      const why = fault(statement);
      if (why !== undefined) throw why;
      const isOfTables = statement.includes('tables()');
      const dataset = isOfTables ? tables.map((name) => [name, 0, 'DAY']) : [['1970-01-11', 5, 'a', 'b']];
      return { columns: [], dataset };
    };
    return { exec, asked: () => asked };
  };
  const well = instance(['t1', 't2'], (statement) => (statement.includes("'t2'") ? refused : undefined));
  const gone = instance(['t3', 't4'], () => away);
  const points = [
    { dataId: 1, table: 't1', sql: well },
    { dataId: 2, table: 't2', sql: well },
    { dataId: 3, table: 't3', sql: gone },
    { dataId: 4, table: 't4', sql: gone },
    { dataId: 5, table: 'dropped', sql: well },
  ];

  it('are those of every QuestDB that answers; of one that does not, why, after one wait', async () => {
    const sizes = await readStoreSizes(clickhouse, points);
    expect([...sizes.points]).toEqual([
      [1, new Map([[10, { rows: 5, mark: ' a b' }]])],
      [5, new Map()],
    ]);
    expect([...sizes.unknown]).toEqual([
      [2, refused.message],
      [3, away.message],
      [4, away.message],
    ]);
    expect(gone.asked()).toBe(1);
  });

  it('are not known without ClickHouse', async () => {
    const why = new Fault('transient', 'clickhouse_unavailable', 'no ClickHouse');
    const without = { ...clickhouse, rows: () => Promise.reject(why) };
    await expect(readStoreSizes(without, [])).rejects.toBe(why);
  });
});
