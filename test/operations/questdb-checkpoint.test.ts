import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { copyQuestdb } from '../../src/cli/streams-backup/stores.ts';
import { Fault } from '../../src/model/fault.ts';
import { createQuestdbSql, type QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

let engines: TestEngines;
let sql: QuestdbSql;

beforeAll(async () => {
  engines = await startEngines({ questdb: true });
  sql = createQuestdbSql({ url: engines.questdb.url });
});
afterEach(async () => void (await sql.exec('CHECKPOINT RELEASE')));
afterAll(async () => {
  await sql?.close();
  await engines?.stop();
});

const hasCheckpoint = async (): Promise<unknown> =>
  (await sql.exec('SELECT in_progress FROM checkpoint_status()')).dataset[0]?.[0];

/** A copy whose client of QuestDB is this one. */
const copyWith = async (own: QuestdbSql): Promise<void> =>
  copyQuestdb({
    sql: own,
    name: 'default',
    root: join(engines.folder, 'questdb'),
    to: join(await tempFolder(), 'questdb'),
    isLeftoverReleased: true,
  });

const create = 'CHECKPOINT CREATE';

it('a copy during which another backup released its checkpoint fails, and releases none of another', async () => {
  const overtaken = {
    ...sql,
    exec: async (statement: string, timeoutMs?: number) => {
      const result = await sql.exec(statement, timeoutMs);
      // The first look of the copy after its own checkpoint is made is done, and the files are copied.
      if (statement.includes('checkpoint_status') && (await hasCheckpoint()) === true) {
        await sql.exec('CHECKPOINT RELEASE');
        await sql.exec(create);
      }
      return result;
    },
  };
  await expect(copyWith(overtaken)).rejects.toMatchObject({ code: 'checkpoint_lost' });
  expect(await hasCheckpoint()).toBe(true);
});

it('a copy whose checkpoint another backup ended fails', async () => {
  const ended = {
    ...sql,
    exec: async (statement: string, timeoutMs?: number) => {
      const result = await sql.exec(statement, timeoutMs);
      if (statement.includes('checkpoint_status') && (await hasCheckpoint()) === true)
        await sql.exec('CHECKPOINT RELEASE');
      return result;
    },
  };
  await expect(copyWith(ended)).rejects.toMatchObject({ code: 'checkpoint_lost' });
});

it('a copy that comes a moment after another one fails, and leaves that its checkpoint', async () => {
  const late = {
    ...sql,
    exec: async (statement: string, timeoutMs?: number) => {
      if (statement === create) await sql.exec(create);
      return sql.exec(statement, timeoutMs);
    },
  };
  await expect(copyWith(late)).rejects.toMatchObject({
    code: 'checkpoint_in_progress',
    message: expect.stringContaining('wait for it'),
  });
  expect(await hasCheckpoint()).toBe(true);
});

it('a copy whose checkpoint is made and not answered fails, and leaves none', async () => {
  const silent = {
    ...sql,
    exec: async (statement: string, timeoutMs?: number) => {
      const result = await sql.exec(statement, timeoutMs);
      if (statement === create) throw new Fault('transient', 'questdb_unavailable', 'no answer');
      return result;
    },
  };
  await expect(copyWith(silent)).rejects.toMatchObject({ code: 'questdb_unavailable' });
  expect(await hasCheckpoint()).toBe(false);
});

it('a copy by itself leaves no checkpoint, and takes the place of one that was left', async () => {
  await sql.exec(create);
  await copyWith(sql);
  expect(await hasCheckpoint()).toBe(false);
});
