import { randomUUID } from 'node:crypto';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clickhouseBackups } from '../../src/cli/streams-backup/back-up.ts';
import { backUpClickhouse, moveClickhouse } from '../../src/cli/streams-backup/stores.ts';
import { Fault } from '../../src/model/fault.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

let engines: TestEngines;
let clickhouse: Clickhouse;
let files: string;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  files = clickhouseBackups(engines.folder);
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});

/** What is in ClickHouse's folder of backups; a backup that made it and failed removed it. */
const copies = (): Promise<string[]> => readdir(files).catch(() => []);

const backUp = (name: string, to: string, signal?: AbortSignal): Promise<void> =>
  moveClickhouse({ clickhouse, cluster: undefined, name }, { files, to }, signal);

it('a backup whose target cannot be written leaves no copy on the disk of ClickHouse', async () => {
  const blocked = join(engines.folder, 'a-file');
  await writeFile(blocked, '');
  await expect(backUp('first', join(blocked, 'clickhouse'))).rejects.toMatchObject({ code: 'copy_failed' });
  expect(await copies()).toEqual([]);
});

/** A signal that is given once the server has a statement. */
const stoppedAfterFirst = (): { clickhouse: Clickhouse; signal: AbortSignal } => {
  const stopping = new AbortController();
  const run: Clickhouse['run'] = (...args) => clickhouse.run(...args).finally(() => stopping.abort());
  return { clickhouse: { ...clickhouse, run }, signal: stopping.signal };
};

it('a backup that is stopped leaves no copy there, and ends with an error', async () => {
  const { signal, ...stopped } = stoppedAfterFirst();
  const copy = { ...stopped, cluster: undefined, name: 'second' };
  const to = join(engines.folder, 'second');
  await expect(moveClickhouse(copy, { files, to }, signal)).rejects.toMatchObject({
    code: expect.stringMatching(/^(copy_failed|clickhouse_backup_failed)$/),
  });
  expect(await copies()).toEqual([]);
});

it('a backup that is stopped before its statement begins none', async () => {
  const copy = { clickhouse, cluster: undefined, name: randomUUID(), destination: "File('stopped')" };
  await expect(backUpClickhouse(copy, AbortSignal.abort())).rejects.toMatchObject({ code: 'copy_failed' });
  expect(await copies()).toEqual([]);
});

it('what a killed backup left more than a day ago is removed, and no folder of another name or a present one', async () => {
  const long = new Date(Date.now() - 25 * 3_600_000);
  const [left, present] = [
    'tidemark-2026-11-23T02-10-00Z-0123abcd',
    'tidemark-2026-11-24T02-10-00Z-0123abcd',
  ];
  const others = ['2026-11-23T02-10-00Z', 'tidemark-before-upgrade'];
  for (const name of [left, present, ...others]) {
    await mkdir(join(files, name), { recursive: true });
    if (name !== present) await utimes(join(files, name), long, long);
  }
  const to = join(engines.folder, 'third');
  await backUp('third', to);
  expect((await readdir(files)).toSorted()).toEqual([...others, present].toSorted());
  expect(await readdir(to)).toContain('.backup');
});

// They are in the terminal and in the log of the job.
it.each([
  ['a missing comma', "S3('https://bucket.example/night' 'AKIAKEYOFTESTS','secretOfTheTests/+9')"],
  ['an open quote', "S3('https://bucket.example/night','AKIAKEYOFTESTS','secretOfTheTests/+9)"],
  ['an unknown engine', "S3Bucket('https://bucket.example/night','AKIAKEYOFTESTS','secretOfTheTests/+9')"],
  ['a long one', `S3('${'x'.repeat(90)}' 'AKIAKEYOFTESTS','secretOfTheTests/+9${'x'.repeat(200)}')`],
])('the error of a destination with %s has none of its key', async (_, destination) => {
  const failed = backUpClickhouse({ clickhouse, cluster: undefined, name: randomUUID(), destination });
  const error = await failed.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Fault);
  const shown = inspect(error, { depth: 10 });
  expect(shown).toContain('ClickHouse');
  expect(shown).not.toMatch(/AKIAKE|secret/);
});
