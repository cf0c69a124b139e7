import { z } from 'zod';
import { quoteIdentifier } from '../../src/stores/questdb/sql.ts';
import { readyzOf } from '../support/stack/readiness.ts';
import type { Stack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';
import { untilSettled } from './judge.ts';

const mendMsMax = 180_000;

/** Tables that a transfer process names as beyond change just now. */
const namedTables = async ({ transfer }: Stack): Promise<Set<string>> => {
  const tables = new Set<string>();
  for (const process of transfer) {
    const { degraded } = await readyzOf(process);
    const named = /cannot be changed any more[^:]*: (.*)/.exec(degraded['questdb_tables'] ?? '')?.[1] ?? '';
    for (const [table] of named.matchAll(/[A-Za-z0-9_]+\.__default__(?= \(|,|$)/g)) tables.add(table);
  }
  return tables;
};

const letters = z.object({ items: z.array(z.object({ table: z.string().nullable(), error: z.string() })) });

/** Tables whose points were dead-lettered for it: a process that has restarted since then does not know. */
const setAsideTables = async (stack: Stack): Promise<string[]> => {
  const { body } = await stack.api('GET', '/api/v1/dead-letters?reason=table_unavailable&limit=500');
  const damaged = /transaction metadata|WAL structure version|getColumnMetadata/;
  return letters.parse(body).items.flatMap(({ table, error }) => (damaged.test(error) ? (table ?? []) : []));
};

const countOf = async (stack: Stack, table: string): Promise<number> =>
  Number((await stack.query(`SELECT count() FROM ${quoteIdentifier(table)}`)).dataset[0]?.[0]);

/** As docs/stores-in-trouble.md has it. */
const makeAnew = async (stack: Stack, table: string): Promise<void> => {
  const [old, copy] = [quoteIdentifier(table), quoteIdentifier(`${table}_copy`)];
  await stack.query(`ALTER TABLE ${old} RESUME WAL`);
  const rows = await waitFor(`${table} can be read`, mendMsMax, async () => ({
    count: await countOf(stack, table),
  }));
  await stack.query(
    `CREATE TABLE ${copy} AS (SELECT * FROM ${old}) TIMESTAMP(timestamp) PARTITION BY DAY WAL DEDUP UPSERT KEYS(timestamp, uid)`,
  );
  await waitFor('the copy is whole', mendMsMax, async () => {
    return (await countOf(stack, `${table}_copy`)) === rows.count;
  });
  // It would make an empty table in between, which transfer writes to.
  await stack.metadata.kill();
  await stack.query(`DROP TABLE ${old}`);
  await waitFor('the copy has the name', mendMsMax, async () => {
    await stack.query(`RENAME TABLE ${copy} TO ${old}`);
    return true;
  });
  stack.metadata.start();
  await stack.metadata.ready();
};

const bulkAnswer = z.looseObject({ matched: z.number() });

/**
 * Acts like an operator: creates the tables again that QuestDB cannot change since it was killed, and redrives their
 * dead letters until all of them are stored. Returns the tables.
 */
export const mendBrokenTables = async (stack: Stack): Promise<string[]> => {
  const tables = await waitFor('broken tables are looked for', mendMsMax, async () => [
    ...new Set([...(await namedTables(stack)), ...(await setAsideTables(stack))]),
  ]);
  for (const table of tables) {
    await makeAnew(stack, table);
    await waitFor('transfer takes the table for a new one', mendMsMax, async () => {
      return !(await namedTables(stack)).has(table);
    });
    await waitFor('the dead letters of the table are stored', mendMsMax, async () => {
      const { body } = await stack.api('POST', '/api/v1/dead-letters/redrive', { table });
      const { matched } = bulkAnswer.parse(body);
      await untilSettled(stack);
      return matched === 0;
    });
  }
  return tables;
};
