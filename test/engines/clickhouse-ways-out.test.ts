import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ClickhouseNames } from '../support/stack/clickhouse-ways-out.ts';
import { type ConfinedClickhouse, startConfinedClickhouse } from '../support/stack/confined-clickhouse.ts';

let on: ConfinedClickhouse;
let names: ClickhouseNames;

beforeAll(async () => {
  on = await startConfinedClickhouse();
  const lines = async (sql: string): Promise<string[]> => (await on.ask(sql)).body.split('\n');
  names = {
    tableFunctions: await lines('SELECT name FROM system.table_functions ORDER BY name'),
    tableEngines: await lines('SELECT name FROM system.table_engines ORDER BY name'),
    databaseEngines: await lines('SELECT name FROM system.database_engines ORDER BY name'),
    functions: await lines('SELECT DISTINCT name FROM system.functions WHERE NOT is_aggregate ORDER BY name'),
  };
});
afterAll(() => on?.stop());

// Each name that a version adds may be a new way out, so the server lists its names.
it.each([
  ['the operator', () => on.accounts],
  ['the reader', () => on.reader],
])(
  'the embedded ClickHouse reaches no file but its own and no other server, by any function, engine, source or statement of %s',
  async (_who, account) => {
    expect(names.functions.length).toBeGreaterThan(1_000);
    await on.expectNoWayOut(names, account(), { statements: 6_000, denied: 500 });
  },
);
