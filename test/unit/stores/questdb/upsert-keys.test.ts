import { expect, it } from 'vitest';
import { Fault } from '../../../../src/model/fault.ts';
import { createUpsertKeys } from '../../../../src/stores/questdb/upsert-keys.ts';

const names = Array.from({ length: 50 }, (_, index) => `t${String(index).padStart(2, '0')}`);

/** Tables with their keys; `gone` ones fail a statement that names them. */
const keysOf = () => {
  const keys = new Map(names.map((name) => [name, ['timestamp', 'uid']]));
  const statements: string[][] = [];
  const upsertKeys = createUpsertKeys({
    exec: async (sql) => {
      const read = [...sql.matchAll(/table_columns\('(\w+)'\)/g)].map(([, name = '']) => name);
      statements.push(read);
      if (read.some((name) => !keys.has(name)))
        throw new Fault('permanent', 'questdb_rejected', 'table does not exist');
      return {
        columns: [],
        dataset: read.flatMap((name) => (keys.get(name) ?? []).map((column) => [name, column])),
      };
    },
  });
  return { keys, statements, look: async () => [...(await upsertKeys.look(names))] };
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
