import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readManifest } from '../../../src/cli/streams-backup/folder.ts';
import {
  finishWithList,
  readTimes,
  readWholeFolder,
  timesName,
  writeTimes,
} from '../../../src/cli/streams-backup/whole-folder.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const at = '2026-11-23T02:10:00.000Z';
let folder: string;
let file: string;

const content = (): object => JSON.parse(readFileSync(file, 'utf8'));
const add = (to: object): void =>
  writeFileSync(file, JSON.stringify({ ...to, further: 'of a later version' }));

beforeEach(async () => {
  folder = await tempFolder();
  file = join(folder, 'backup.json');
});

// A backup before an upgrade is what an undone upgrade is restored from, and it may be made by the new version.
describe('a whole backup', () => {
  beforeEach(async () => {
    await writeTimes(folder, { clickhouse_started_at: at });
    await finishWithList(folder, { program: '1.0.0', started_at: at, parts: ['nats'] });
  });

  it('has the time of ClickHouse beside backup.json, whose fields are those of earlier versions', async () => {
    expect(Object.keys(content()).toSorted()).toEqual(
      ['files', 'finished_at', 'format', 'parts', 'program', 'started_at', 'version'].toSorted(),
    );
    expect(await readTimes(folder)).toEqual({ clickhouse_started_at: at });
  });

  it('of a later version is read without the fields that it adds', async () => {
    const { id: _, ...before } = await readWholeFolder(folder);
    add({ ...content(), files: { ...before.files, further: 1 } });
    expect(await readWholeFolder(folder)).toMatchObject(before);
  });

  it('of a version with another meaning is refused', async () => {
    writeFileSync(file, JSON.stringify({ ...content(), version: 2 }));
    await expect(readWholeFolder(folder)).rejects.toMatchObject({ code: 'backup_unusable' });
  });

  it('of an earlier version has no such times, and damaged ones are said', async () => {
    expect(await readTimes(await tempFolder())).toEqual({});
    writeFileSync(join(folder, timesName), '{');
    await expect(readTimes(folder)).rejects.toMatchObject({
      code: 'backup_unusable',
      message: expect.stringContaining(timesName),
    });
  });
});

it('a copy of NATS of a later version is read without the fields that it adds', async () => {
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
  writeFileSync(join(folder, 'METRICS.snapshot'), '');
  const state = { messages: 0, bytes: 0, firstSequence: 1, lastSequence: 0, removed: 0 };
  const stream = {
    stream: 'METRICS',
    config: {},
    state,
    file: 'METRICS.snapshot',
    file_bytes: 0,
    sha256: empty,
  };
  const manifest = { format: 'tidemark-streams', version: 1, started_at: at, finished_at: at };
  add({ ...manifest, streams: [{ ...stream, further: 1, state: { ...state, further: 1 } }] });
  expect((await readManifest(folder)).streams).toEqual([stream]);
});
