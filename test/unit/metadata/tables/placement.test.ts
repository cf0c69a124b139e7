import { expect, it } from 'vitest';
import type { Purge } from '../../../../src/directory/records.ts';
import { createPlacedTables, unknownPlacements } from '../../../../src/metadata/tables/placement.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';
import { noTables } from '../../../support/metadata/no-tables.ts';

const tableOf = (id: number): string => `2_mon_time_series_${id}.__default__`;

const unused = { exec: () => Promise.reject(new Error('not used')), close: async () => {} };

/** Two instances, whose tables are in sets; those in `away` do not answer. */
const setup = () => {
  const { records } = createMemoryRecords();
  const away = new Set<string>();
  const held = { default: new Set<string>(), b: new Set<string>() };
  const instances = (['default', 'b'] as const).map((name) => {
    const answering = (): Set<string> => {
      if (away.has(name)) throw new Error(`${name} was asked`);
      return held[name];
    };
    const tables = {
      ...noTables,
      createTable: async (_: unknown, tableId: string) => void answering().add(tableId),
      drop: async (tableId: string) => void answering().delete(tableId),
      names: async () => [...answering()],
    };
    return { name, sql: unused, tables };
  });
  const tables = createPlacedTables(instances, records, (name) => away.has(name));
  const place = (id: number, questdb: string) =>
    records.placements.create(id, { mon_data_id: id, table_id: tableOf(id), questdb });
  return { records, tables, held, away, place };
};

it('a table whose placement is lost is created on no second instance, and the refusal names the one that has it', async () => {
  const { tables, held } = setup();
  held.b.add(tableOf(1));
  await expect(tables.createTable('wide', tableOf(1))).rejects.toMatchObject({
    ...{ kind: 'permanent', code: 'questdb_table_elsewhere' },
    message: expect.stringContaining('is on QuestDB instance b'),
  });
  expect(held.default.size).toBe(0);
  await tables.createTable('wide', tableOf(2));
  expect([...held.default]).toEqual([tableOf(2)]);
});

it('while an instance does not answer, a table without a placement is neither created nor purged, and others are', async () => {
  const { tables, held, away, place } = setup();
  for (const id of [1, 2]) held.default.add(tableOf(id));
  held.b.add(tableOf(1));
  await place(2, 'default');
  await place(3, 'default');
  away.add('b');
  const waits = { kind: 'transient', message: expect.stringContaining('b does not answer') };
  await expect(tables.drop(tableOf(1))).rejects.toMatchObject(waits);
  await expect(tables.createTable('wide', tableOf(4))).rejects.toMatchObject(waits);
  await tables.drop(tableOf(2));
  await tables.createTable('wide', tableOf(3));
  expect([...held.default]).toEqual([tableOf(1), tableOf(3)]);
  away.clear();
  await tables.drop(tableOf(1));
  expect([held.default.has(tableOf(1)), held.b.size]).toEqual([false, 0]);
});

it('a purge drops what an earlier program created on another instance, too', async () => {
  const { tables, held, place } = setup();
  for (const each of [held.default, held.b]) each.add(tableOf(1));
  await place(1, 'b');
  await tables.drop(tableOf(1));
  expect([held.default.size, held.b.size]).toEqual([0, 0]);
});

it('metadata names the instances that the settings lack, without owners that are purged', async () => {
  const { records, place } = setup();
  const purge = (id: number, state: Purge['state']) =>
    records.purges.create(id, {
      ...{ mon_data_id: id, table_id: tableOf(id), state },
      ...{ requested_at: 0, requested_by: 'ann' },
    });
  await place(1, 'default');
  await place(2, 'b');
  await purge(2, 'purged');
  expect(unknownPlacements(records, ['default'])).toBeUndefined();
  await place(3, 'b');
  await place(4, 'c');
  await purge(4, 'purging');
  expect(unknownPlacements(records, ['default'])).toMatch(
    new RegExp(`^2 tables are on .* lacks \\(b, c\\), the first is ${tableOf(3).replaceAll('.', '\\.')}; `),
  );
  expect(unknownPlacements(records, ['default', 'b', 'c'])).toBeUndefined();
});
