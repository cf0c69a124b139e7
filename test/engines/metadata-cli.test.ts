import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { record } from '../support/admin-api.ts';
import { startEngines, type TestEngines } from '../support/engines.ts';
import { type MetadataRole, startMetadataRole } from '../support/metadata-role.ts';
import { expectSpecified } from '../support/spec-records.ts';

const program = new URL('../../bin/tidemark', import.meta.url).pathname;

let engines: TestEngines;
let metadata: MetadataRole;

beforeAll(async () => {
  engines = await startEngines({ nats: true, questdb: true });
  metadata = await startMetadataRole(engines);
});
afterAll(async () => {
  await metadata?.role.stop();
  await engines?.stop();
});

type Outcome = { code: number | null; stdout: string; stderr: string };

const run = (args: string[], env: NodeJS.ProcessEnv = metadata.env): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });

/** The one JSON object of a command that must work. */
const json = async <T>(schema: z.ZodType<T>, ...args: string[]): Promise<T> => {
  const { code, stdout, stderr } = await run([...args, '--json']);
  expect([code, stderr]).toEqual([0, '']);
  return schema.parse(JSON.parse(stdout));
};

const recordsSchema = z.strictObject({
  custom_report: record,
  data_source: record,
  time_series_group: record,
  result_table: record,
});
const pageSchema = z.strictObject({ items: z.array(record), next_cursor: z.string().nullable() });

describe('tidemark report', () => {
  it('create --json prints the four records, and show, list, disable and enable work on their data id', async () => {
    const created = await json(
      recordsSchema,
      'report',
      'create',
      '--biz',
      '2',
      '--name',
      'demo',
      '--max-rate',
      '7',
    );
    for (const name of ['data_source', 'time_series_group', 'result_table'] as const) {
      expectSpecified(name, created[name]);
    }
    expect(created.time_series_group).toMatchObject({ max_rate: 7, is_split_measurement: false });
    const dataId = String(created.data_source['mon_data_id']);
    expect(await json(recordsSchema, 'report', 'show', dataId)).toEqual(created);
    const page = await json(pageSchema, 'report', 'list', '--biz', '2');
    expect(page).toEqual({ items: [created.custom_report], next_cursor: null });
    const disabled = await json(recordsSchema, 'report', 'disable', dataId);
    for (const name of ['data_source', 'time_series_group', 'result_table'] as const) {
      expect(disabled[name]).toMatchObject({ is_enable: false });
    }
    expect((await json(recordsSchema, 'report', 'enable', dataId)).data_source).toMatchObject({
      is_enable: true,
    });
  });

  it('create takes a split report and a business below 0', async () => {
    const args = ['--biz', '-3', '--name', 'split', '--split', '--space-uid', 'bcs__p', '--data-label', 'x'];
    const created = await json(recordsSchema, 'report', 'create', ...args);
    expect(created.time_series_group).toMatchObject({ is_split_measurement: true, mon_biz_id: -3 });
    expect(created.data_source).toMatchObject({ space_uid: 'bcs__p' });
    expect(created.result_table).toMatchObject({ data_label: 'x' });
  });

  it('prints tables and fields for people', async () => {
    const made = await run(['report', 'create', '--biz', '5', '--name', 'people']);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(/^access token +[0-9a-f]{32}$/m);
    const list = await run(['report', 'list', '--biz', '5']);
    expect(list.stdout).toMatch(
      /^DATA ID +BUSINESS +NAME.*\n\d{7} +5 +people +active +no +5_mon_time_series_\d+\.__default__\n$/,
    );
  });
});

describe('tidemark app', () => {
  it('create --json prints the application with its token; list, show, disable and enable work on it', async () => {
    const answerSchema = z.strictObject({ application: record });
    const { application } = await json(answerSchema, 'app', 'create', '--biz', '2', '--name', 'shop');
    expect(application).toMatchObject({ app_name: 'shop', mon_biz_id: 2, is_enable: true });
    expect(application['token']).toMatch(/^[0-9a-f]{32}$/);
    const appId = String(application['app_id']);
    expect(await json(answerSchema, 'app', 'show', appId)).toEqual({ application });
    expect(await json(pageSchema, 'app', 'list')).toEqual({ items: [application], next_cursor: null });
    const disabled = await json(answerSchema, 'app', 'disable', appId);
    expect(disabled.application).toMatchObject({ is_enable: false });
    expect((await json(answerSchema, 'app', 'enable', appId)).application).toMatchObject({ is_enable: true });
  });
});

describe('a command that fails', () => {
  const expectFailure = (outcome: Outcome, sentence: RegExp): void => {
    expect(outcome.code).not.toBe(0);
    expect(outcome.stdout).toBe('');
    expect(outcome.stderr).toMatch(sentence);
    expect(outcome.stderr.trim().split('\n')).toHaveLength(1);
  };

  it.each([
    [
      'a taken name',
      ['report', 'create', '--biz', '9', '--name', 'twice'],
      /^tidemark: there is a custom report "twice"/,
    ],
    [
      'a missing space',
      ['report', 'create', '--biz', '-9', '--name', 'x'],
      /^tidemark: space_uid: is required/,
    ],
    [
      'an unknown data id',
      ['report', 'show', '42'],
      /^tidemark: there is no custom report with data id 42$/m,
    ],
    ['an unknown application', ['app', 'disable', '42'], /^tidemark: there is no application 42$/m],
  ])('by %s says so in one sentence', async (_, args, sentence) => {
    await run(['report', 'create', '--biz', '9', '--name', 'twice']);
    expectFailure(await run([...args, '--json']), sentence);
  });

  it('says where it looked when nothing answers there, and which variable changes it', async () => {
    const env = { ...metadata.env, TIDEMARK_ADMIN_URL: 'http://127.0.0.1:1' };
    expectFailure(
      await run(['report', 'list'], env),
      /^tidemark: the admin API is not reachable at http:\/\/127\.0\.0\.1:1 .*TIDEMARK_ADMIN_URL$/m,
    );
  });

  it('says which file and variable it needs when it has no token, and when it has a wrong one', async () => {
    const none = { ...metadata.env, TIDEMARK_DATA: join(engines.folder, 'nowhere') };
    expectFailure(await run(['report', 'list'], none), /TIDEMARK_ADMIN_TOKEN.*nowhere\/admin\.token/);
    const wrong = { ...metadata.env, TIDEMARK_ADMIN_TOKEN: 'wrong' };
    expectFailure(
      await run(['app', 'list'], wrong),
      /^tidemark: the admin token is missing or not the right one\./,
    );
  });
});
