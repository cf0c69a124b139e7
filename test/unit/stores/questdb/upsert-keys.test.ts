import { expect, it } from 'vitest';
import { Fault } from '../../../../src/model/fault.ts';
import { type QuestdbSql, toResult } from '../../../../src/stores/questdb/sql.ts';
import { createUpsertKeys, readOtherKeys } from '../../../../src/stores/questdb/upsert-keys.ts';

const names = Array.from({ length: 50 }, (_, index) => `t${String(index).padStart(2, '0')}`);

/** The first `count` tables with their keys; those that are gone or unreadable fail a statement that names them. */
const keysOf = (count = names.length) => {
  const tables = names.slice(0, count);
  const unreadable = new Set<string>();
  const keys = new Map(tables.map((name) => [name, ['timestamp', 'uid']]));
  const statements: string[][] = [];
  const sql: Pick<QuestdbSql, 'exec'> = {
    exec: async (statement) => {
      const read = [...statement.matchAll(/table_columns\('(\w+)'\)/g)].map(([, name = '']) => name);
      statements.push(read);
      if (read.some((name) => !keys.has(name)))
        throw new Fault('permanent', 'questdb_rejected', 'table does not exist');
      if (read.some((name) => unreadable.has(name))) return toResult(500, 'Metadata read timeout');
      return {
        columns: [],
        dataset: read.flatMap((name) => (keys.get(name) ?? []).map((column) => [name, column])),
      };
    },
  };
  const upsertKeys = createUpsertKeys(sql);
  return {
    tables,
    sql,
    keys,
    unreadable,
    statements,
    look: async () => [...(await upsertKeys.look(tables))],
  };
};

// By other keys points of different targets overwrite each other, and each was confirmed.
it('a table with other upsert keys is found in turn, at a bounded cost for each look', async () => {
  const { keys, statements, look } = keysOf();
  keys.set('t45', ['timestamp']);
  expect(await look()).toEqual([]);
  expect(await look()).toEqual([]);
  expect(await look()).toEqual(['t45']);
  expect(statements.map((read) => read.length)).toEqual([20, 20, 20]);
});

it('a table with other keys is read again at each look, until it has the right ones', async () => {
  const { keys, look } = keysOf();
  keys.set('t03', ['timestamp', 'uid', 'target']);
  expect(await look()).toEqual(['t03']);
  expect(await look()).toEqual(['t03']);
  keys.set('t03', ['timestamp', 'uid']);
  expect(await look()).toEqual([]);
});

it('a table without any keys, or one that is dropped meanwhile, hides no other', async () => {
  const { keys, look } = keysOf();
  keys.set('t01', []);
  keys.delete('t02');
  keys.set('t03', ['timestamp']);
  expect(await look()).toEqual(['t03']);
});

// With 20 tables or fewer each look reads all of them, so it would find nothing for as long as one cannot be read.
it('a table that cannot be read hides no other, and has the keys that it had', async () => {
  const { keys, unreadable, look } = keysOf(20);
  keys.set('t01', ['timestamp']);
  expect(await look()).toEqual(['t01']);
  unreadable.add('t01');
  keys.set('t03', ['timestamp']);
  expect((await look()).toSorted()).toEqual(['t01', 't03']);
});

it('a look at which no table can be read ends with the error of QuestDB', async () => {
  const { unreadable, look } = keysOf(2);
  unreadable.add('t00').add('t01');
  await expect(look()).rejects.toThrow('QuestDB answered 500: Metadata read timeout');
});

it('the keys of many tables are read at once in few statements, and none begins after the time for it', async () => {
  const { tables, sql, keys, unreadable, statements } = keysOf();
  keys.set('t03', ['timestamp']);
  keys.set('t45', ['timestamp', 'target']);
  unreadable.add('t04');
  const others = new Map([
    ['t03', ['timestamp']],
    ['t45', ['timestamp', 'target']],
  ]);
  expect(await readOtherKeys(sql, tables, 60_000)).toEqual({ others, read: 49 });
  expect(statements.filter((read) => read.length > 1).map((read) => read.length)).toEqual([20, 20, 10]);
  expect(await readOtherKeys(sql, tables, 0)).toEqual({ others: new Map(), read: 0 });
});
