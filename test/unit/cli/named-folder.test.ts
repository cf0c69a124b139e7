import { mkdirSync, readdirSync, utimesSync } from 'node:fs';
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

  it('are removed but for the newest; anything else stays', async () => {
    const parent = await tempFolder();
    const whole = ['2026-11-20T02-10-00Z', '2026-11-20T02-10-00Z-1', '2026-11-22T02-10-00Z'];
    const others = ['2026-11-19T02-10-00Z.incomplete', 'admin', '2026-11-18'];
    for (const name of [...whole, ...others]) mkdirSync(join(parent, name));
    expect(await keepNewest(parent, 2)).toEqual(['2026-11-20T02-10-00Z']);
    expect(readdirSync(parent).toSorted()).toEqual([...whole.slice(1), ...others].toSorted());
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
