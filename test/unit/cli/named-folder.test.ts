import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  createNamedFolder,
  keepNewest,
  removeAbandoned,
} from '../../../src/cli/streams-backup/named-folder.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const now = new Date('2026-11-23T02:10:00.500Z');

describe('the folders of backups', () => {
  it('of one second have different names, whether the earlier one is whole or not', async () => {
    const parent = join(await tempFolder(), 'backups');
    const first = await createNamedFolder(parent, now);
    expect(await first.finish()).toBe(join(parent, '2026-11-23T02-10-00Z'));
    const second = await createNamedFolder(parent, now);
    const third = await createNamedFolder(parent, now);
    expect([second.name, third.name]).toEqual(['2026-11-23T02-10-00Z-1', '2026-11-23T02-10-00Z-2']);
    await Promise.all([third.finish(), second.finish()]);
    expect(readdirSync(parent)).toHaveLength(3);
  });

  it('have their name only once they are whole', async () => {
    const parent = await tempFolder();
    const { path, name } = await createNamedFolder(parent, now);
    expect(readdirSync(parent)).toEqual([`${name}.incomplete`]);
    expect(path).toBe(join(parent, `${name}.incomplete`));
  });

  const putBackups = (parent: string, parts: readonly string[] | undefined, names: readonly string[]) => {
    for (const name of names) {
      mkdirSync(join(parent, name));
      const kind =
        parts === undefined ? { format: 'tidemark-streams' } : { format: 'tidemark-backup', parts };
      writeFileSync(join(parent, name, 'backup.json'), JSON.stringify(kind));
    }
  };
  const all = ['nats', 'questdb', 'clickhouse'];

  it('are removed but for the newest; anything else stays', async () => {
    const parent = await tempFolder();
    const whole = ['2026-11-20T02-10-00Z', '2026-11-20T02-10-00Z-1', '2026-11-22T02-10-00Z'];
    const others = ['2026-11-19T02-10-00Z.incomplete', 'admin', '2026-11-18', '2026-11-17T02-10-00Z'];
    putBackups(parent, all, whole);
    for (const name of others) mkdirSync(join(parent, name));
    expect(await keepNewest(parent, 2, '2026-11-22T02-10-00Z')).toEqual({
      removed: ['2026-11-20T02-10-00Z'],
      later: [],
    });
    expect(readdirSync(parent).toSorted()).toEqual([...whole.slice(1), ...others].toSorted());
  });

  // The clock was ahead once: by its name alone the backup just made would be the oldest.
  it('of later times are named and stay, and so does the one just made', async () => {
    const parent = await tempFolder();
    putBackups(parent, all, ['2026-11-20T02-10-00Z', '2026-11-22T02-10-00Z', '2031-01-01T00-00-00Z']);
    expect(await keepNewest(parent, 1, '2026-11-22T02-10-00Z')).toEqual({
      removed: ['2026-11-20T02-10-00Z'],
      later: ['2031-01-01T00-00-00Z'],
    });
    expect(readdirSync(parent).toSorted()).toEqual(['2026-11-22T02-10-00Z', '2031-01-01T00-00-00Z']);
  });

  // Copies of NATS alone, one an hour, would leave no backup of the databases.
  it('with other parts are not counted, and stay', async () => {
    const parent = await tempFolder();
    putBackups(parent, all, ['2026-11-18T02-10-00Z']);
    putBackups(parent, ['nats', 'questdb'], ['2026-11-19T02-10-00Z']);
    putBackups(parent, undefined, ['2026-11-20T02-10-00Z', '2026-11-21T02-10-00Z', '2026-11-22T02-10-00Z']);
    expect(await keepNewest(parent, 2, '2026-11-22T02-10-00Z')).toMatchObject({
      removed: ['2026-11-20T02-10-00Z'],
    });
    expect(readdirSync(parent)).toHaveLength(4);
  });

  it('are removed a day after they were given up; anything else stays', async () => {
    const parent = await tempFolder();
    const [abandoned, running] = ['2026-11-19T02-10-00Z.incomplete', '2026-11-23T02-10-00Z.incomplete'];
    const others = ['2026-11-20T02-10-00Z', 'admin.incomplete'];
    for (const name of [...others, abandoned, running]) mkdirSync(join(parent, name));
    // A folder of a test is made now, also that of years to come.
    const late = new Date(Date.now() + 25 * 3_600_000);
    utimesSync(join(parent, running), late, late);
    expect(await removeAbandoned(parent, late)).toEqual([abandoned]);
    expect(readdirSync(parent).toSorted()).toEqual([...others, running].toSorted());
    expect(await removeAbandoned(join(parent, 'nowhere'), late)).toEqual([]);
  });

  it('take no room once their backup has failed', async () => {
    const parent = await tempFolder();
    const { path, discard } = await createNamedFolder(parent, now);
    mkdirSync(join(path, 'nats'));
    await discard();
    expect(readdirSync(parent)).toEqual([]);
  });
});
