import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createCli, type Outcome, runCli } from '../support/clients/cli.ts';
import { createReport, operations, record } from '../support/metadata/admin-api.ts';
import { type MetadataRole, type MetadataStack, startMetadataStack } from '../support/metadata/role.ts';
import type { TestEngines } from '../support/stack/engines.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

let stack: MetadataStack;
let engines: TestEngines;
let metadata: MetadataRole;

beforeAll(async () => {
  // No run of the time table comes between two calls that are compared.
  stack = await startMetadataStack({ TIDEMARK_REFRESH_CRON: '0 0 1 1 *' });
  ({ engines, metadata } = stack);
});
afterAll(() => stack?.stop());

const cli = createCli(() => metadata.env);

const answered = async (path: string): Promise<unknown> => (await metadata.ask('GET', path)).body;

const pageSchema = z.strictObject({ items: z.array(record), next_cursor: z.string().nullable() });
const createdSchema = z.looseObject({
  mon_data_id: z.int(),
  custom_report: z.looseObject({ custom_report_id: z.int() }),
});

const newReport = async (name: string) =>
  createdSchema.parse(await createReport(metadata, { mon_biz_id: 2, name }));

describe('tidemark refresh and subscription', () => {
  const runSchema = z.looseObject({
    run_id: z.int(),
    trigger: z.literal('manual'),
    state: z.literal('done'),
    failed: z.tuple([]),
  });

  it('refresh alone runs the job; its record and its subscriptions can be listed and shown', async () => {
    const { mon_data_id: dataId } = await newReport('subscribed');
    const run = await cli.json(runSchema, 'refresh');
    expect(run).toEqual(await answered(`/api/v1/refresh-runs/${run.run_id}`));
    expect(await cli.json(runSchema, `refresh show ${run.run_id}`)).toEqual(run);
    const again = await cli.text('refresh run');
    expect(again).toMatch(/^run +\d+ \(manual\)$/m);
    expect(again).toMatch(/^failed +0$/m);
    expect(await cli.text('refresh list')).toMatch(
      new RegExp(`^${run.run_id} +\\d{4}-.*Z +\\d+ ms +manual +done +\\d+ +0 +\\d+ +0 +0$`, 'm'),
    );
    expect(await cli.json(pageSchema, 'refresh list')).toEqual(await answered('/api/v1/refresh-runs'));

    const shown = await cli.json(record, `subscription show ${dataId}`);
    expect(shown).toEqual(await answered(`/api/v1/subscriptions/${dataId}`));
    const text = await cli.text(`subscription show ${dataId}`);
    expect(text).toMatch(new RegExp(`^data id +${dataId}$`, 'm'));
    expect(text).toMatch(/^ *proxy_token: "[0-9a-f]{4}\*{28}"$/m);
    expect(await cli.text('subscription list --biz 2')).toMatch(
      new RegExp(`^${dataId} +\\S+ +2 +polling +active +\\d{4}-.*Z +[0-9a-f]{32}$`, 'm'),
    );
    expect(await cli.json(pageSchema, 'subscription list')).toEqual(await answered('/api/v1/subscriptions'));
  });
});

describe('a report made step by step', () => {
  it('is made, listed, shown, delivered, changed and deleted by the commands of its records', async () => {
    const source = z
      .looseObject({ mon_data_id: z.int(), token: z.string().regex(/^[0-9a-f]{32}$/) })
      .parse(await cli.json(record, 'data-source create --data-name 31_custom_time_series_steps'));
    const id = source.mon_data_id;
    const rows = async (): Promise<string[]> =>
      (await cli.text('report list --biz 31')).trim().split('\n').slice(1);
    expect(await rows()).toEqual([]);
    const group = await cli.json(record, `group create --data-id ${id} --biz 31 --name steps --max-rate 9`);
    expect(group).toMatchObject({ mon_data_id: id, max_rate: 9, time_series_group_name: 'steps' });
    const table = String(group['table_id']);
    expect(await rows()).toEqual([expect.stringMatching(`^${id} +31 +steps +no table yet +no +${table}$`)]);
    await cli.json(record, `result-table create --data-id ${id} --label os`);
    expect(await rows()).toEqual([expect.stringMatching(`^${id} +31 +steps +step by step +no +${table}$`)]);
    expect(await cli.json(record, 'report list --biz 31')).toEqual({
      items: [],
      next_cursor: null,
      in_steps: [
        {
          mon_data_id: id,
          mon_biz_id: 31,
          name: 'steps',
          state: 'active',
          is_split_measurement: false,
          table_id: table,
        },
      ],
    });
    const shown = await cli.text(`report show ${id}`);
    expect(shown).toMatch(/^report +steps, made step by step/m);
    expect(shown).toMatch(new RegExp(`^access token +${source.token.slice(0, 4)}\\*{28} `, 'm'));
    expect(await cli.json(record, `report show ${id}`)).toMatchObject({ result_table: { label: 'os' } });

    await cli.json(record, 'refresh');
    expect(await cli.json(record, `subscription show ${id}`)).toMatchObject({ custom_report_id: null });
    expect(await cli.text(`subscription show ${id}`)).toMatch(/^report id +none: made step by step$/m);

    expect(await cli.text(`group set ${id} --max-rate 5`)).toMatch(/^max_rate +5$/m);
    expect(await cli.text(`data-source set ${id} --custom-label mine`)).toMatch(/^custom_label +mine$/m);
    expect(await cli.text(`result-table disable ${id}`)).toMatch(/^is_enable +false$/m);
    expect(await rows()).toEqual([expect.stringContaining(' disabled ')]);
    expect(await cli.text(`result-table enable ${id}`)).toMatch(/^is_enable +true$/m);
    const refused = await cli.run(`report delete ${id} --yes`);
    expect(refused.code).toBe(1);
    const unconfirmed = await cli.run(`group delete ${id}`);
    expect(unconfirmed).toMatchObject({ code: 1, stderr: expect.stringContaining('--yes') });
    expect(await cli.json(record, `group delete ${id} --yes`)).toMatchObject({ is_delete: true });
    expect(await rows()).toEqual([expect.stringContaining(' deleted ')]);
    await cli.json(record, 'refresh');
    expect((await cli.run(`subscription show ${id}`)).code).toBe(1);
  });

  it('has a filter of its own in the lists of its records', async () => {
    const whole = await newReport('whole');
    const made = await metadata.ask('POST', operations.dataSource, {
      data_name: '2_custom_time_series_part',
    });
    const { mon_data_id: part } = z.looseObject({ mon_data_id: z.int() }).parse(made.body);
    const ids = async (path: string): Promise<unknown[]> =>
      pageSchema.parse(await answered(path)).items.map((item) => item['mon_data_id']);
    const without = await ids('/api/v1/data-sources?has_report=false');
    expect([without.includes(part), without.includes(whole.mon_data_id)]).toEqual([true, false]);
    const with_ = await ids('/api/v1/data-sources?has_report=true');
    expect([with_.includes(part), with_.includes(whole.mon_data_id)]).toEqual([false, true]);
    const listed = await cli.text('data-source list --without-report');
    expect(listed).toMatch(new RegExp(`^${part} +2_custom_time_series_part +moncc__2 +enabled$`, 'm'));
    expect(listed).not.toContain('_whole');
  });
});

describe('tidemark operation', () => {
  const create = 'CreateDataIDResource';

  it('lists the operations of the specification, and calls each by its name with a body from anywhere', async () => {
    const listed = await cli.text('operation');
    for (const name of Object.values(operations)) expect(listed).toContain(name.replace('/operations/', ''));
    const body = (name: string): string => JSON.stringify({ data_name: `32_custom_time_series_${name}` });
    const file = join(await tempFolder(), 'body.json');
    await writeFile(file, body('file'));
    const outcomes = [
      await runCli(['operation', create, '--body', body('json')], metadata.env),
      await runCli(['operation', create, '--body', file], metadata.env),
      await runCli(
        ['operation', operations.dataSource.slice(12), '--body', '-'],
        metadata.env,
        body('stdin'),
      ),
    ];
    expect(
      outcomes.map(({ stdout, stderr }) => [record.parse(JSON.parse(stdout))['data_name'], stderr]),
    ).toEqual(['json', 'file', 'stdin'].map((name) => [`32_custom_time_series_${name}`, '']));
  });

  it.each([
    [['Nothing'], 'unknown operation Nothing; the operations are CreateCustomTimeSeries,'],
    [[create, '--body', '/nowhere'], 'the body /nowhere is neither a JSON object nor a readable file'],
    [[create, '--body', '{]'], 'the body is not a JSON object'],
    [[create], 'data_name'],
  ])('refuses %j in one line', async (args, text) => {
    const { code, stderr } = await runCli(['operation', ...args], metadata.env);
    expect(code).toBe(1);
    expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(text)]);
  });
});

describe('the defaults of the deployment', () => {
  it('are numbers with their origin, those of the metadata that runs', async () => {
    expect(await answered('/api/v1/defaults')).toMatchObject({
      max_rate: { value: 1000, origin: 'default' },
      data_id: {
        points_max: { value: expect.any(Number), origin: 'metrics.yaml' },
        age_seconds_max: { origin: 'metrics.yaml' },
      },
      application: { spans_max: { origin: 'traces.yaml' }, deduplicate: { value: true, origin: 'default' } },
    });
    expect(JSON.stringify(await answered('/api/v1/defaults'))).not.toContain('retention_days');
    expect(await cli.text('config print')).toContain('--remote prints those of the running metadata process');
  });
});

describe('tidemark audit', () => {
  it('lists the newest first, and prints the page as answered for programs', async () => {
    const { mon_data_id: dataId, custom_report: report } = await newReport('audited');
    await cli.text(`report disable ${dataId}`);
    await cli.text(`report delete ${dataId} --yes`);
    const filter = `--kind report --id ${report.custom_report_id}`;
    const [head, ...lines] = (await cli.text(`audit ${filter}`)).trim().split('\n');
    expect(head).toMatch(/^TIME +WHO +ACTION +TARGET +OUTCOME +CHANGED$/);
    expect(lines.map((line) => line.split(/ {2,}/)[2])).toEqual([
      'custom_report.delete',
      'custom_report.disable',
      'report.create',
    ]);
    expect(lines[1]).toMatch(
      new RegExp(
        `^\\d{4}-.*Z  admin +custom_report\\.disable +report ${report.custom_report_id} +done +.*is_enable`,
      ),
    );
    const page = await cli.json(pageSchema, `audit ${filter}`);
    const query = `target_kind=report&target_id=${report.custom_report_id}`;
    expect(page).toEqual(await answered(`/api/v1/audit?${query}`));
    expect(page.items[0]).toMatchObject({ action: 'custom_report.delete' });
    const { stdout, stderr } = await cli.run('audit --limit 1 --actor admin --action custom_report.delete');
    expect(stdout.trim().split('\n')).toHaveLength(2);
    expect(stderr).toMatch(/^more: --cursor \d+\n$/);
  });

  it.each([
    ['audit --kind custom_report', /^tidemark: target_kind: there is no "custom_report"; there are report, /],
    [
      'audit --action report.creat',
      /there is no "report.creat" \(did you mean report.create\?\); there are report/,
    ],
    ['placement list --questdb nope', /^tidemark: questdb: must be one of default/],
  ])('%s is an error that names what exists, in one line', async (command, text) => {
    const { code, stdout, stderr } = await cli.run(command);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(text);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  it('and a list of placements by an instance that exists has its tables', async () => {
    expect(await cli.text('placement list --questdb default')).toContain('mon_time_series');
  });
});

describe('tidemark admin-token', () => {
  const createdSchema = z.strictObject({
    admin_token: z.looseObject({ token_id: z.int(), create_time: z.int(), expires_at: z.int() }),
    token: z.string(),
  });

  it('create issues a token with a role and an end, list shows it, revoke ends it', async () => {
    const created = await cli.json(
      createdSchema,
      'admin-token create --name board --role viewer --expires 30d',
    );
    const { admin_token: token } = created;
    expect(token).toMatchObject({ name: 'board', role: 'viewer', is_revoked: false });
    expect(Math.abs(token.expires_at - token.create_time - 2_592_000)).toBeLessThan(60);
    const env = { ...metadata.env, TIDEMARK_ADMIN_TOKEN: created.token };
    expect(await cli.run('report list --biz 99', env)).toMatchObject({ code: 0 });
    const refused = await cli.run('report create --biz 99 --name x', env);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^tidemark: this call needs the role editor; .*Use a token with the role/);
    expect(await cli.text('admin-token list')).toMatch(
      new RegExp(`^${token.token_id} +board +viewer +– +\\d{4}-.*Z +\\d{4}-.*Z +valid$`, 'm'),
    );
    expect(await cli.text(`admin-token revoke ${token.token_id} --yes`)).toMatch(/^state +revoked$/m);
    expect((await cli.run('report list', env)).stderr).toContain('missing or not valid');
  });

  it('create takes the business of a node', async () => {
    const text = await cli.text('admin-token create --name node --role node --biz 2');
    expect(text).toMatch(/^business +2$/m);
    expect(text).toMatch(/^expires +never$/m);
    expect(text).toMatch(/^token +[0-9a-f]{64} \(shown only once\)$/m);
  });

  it('list says of a node without a business that it reads the files of all', async () => {
    await cli.text('admin-token create --name nodes-of-all --role node');
    expect(await cli.text('admin-token list')).toMatch(/^\d+ +nodes-of-all +node +all +/m);
    expect(await cli.text('admin-token create --help')).toContain('default all');
    const created = await cli.text('admin-token create --name reader --role viewer');
    expect(created).toMatch(/^business +–$/m);
  });

  it('reset says whose tokens it revokes: those of other roles stay valid', async () => {
    const help = (await cli.text('admin-token reset --help')).replaceAll(/\s+/g, ' ');
    expect(help).toContain(
      'every other token of the role admin in the same step; those of other roles stay valid',
    );
  });
});

describe('tidemark export and import', () => {
  const exportedSchema = z.looseObject({ format: z.literal('tidemark-records'), exported_at: z.int() });
  const importedSchema = z.strictObject({ created: z.int(), unchanged: z.int() });

  it('export writes the document to a file of its owner alone, and import finds everything there', async () => {
    await newReport('exported');
    const file = join(await tempFolder(), 'records.json');
    await writeFile(file, 'what is there', { mode: 0o644 });
    expect(await cli.text(`export --output ${file}`)).toMatch(/^reports +[1-9]\d*$/m);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const document = await readFile(file, 'utf8');
    const printed = await cli.text('export');
    const strip = ({ exported_at: _, ...rest }: z.output<typeof exportedSchema>) => rest;
    expect(strip(exportedSchema.parse(JSON.parse(printed)))).toEqual(
      strip(exportedSchema.parse(JSON.parse(document))),
    );
    const imported = await cli.json(importedSchema, `import ${file}`);
    expect(imported.created).toBe(0);
    expect(imported.unchanged).toBeGreaterThan(3);
    const piped = await runCli(['import', '-'], metadata.env, printed);
    expect(piped).toEqual({
      code: 0,
      stdout: `created    0\nunchanged  ${imported.unchanged}\n`,
      stderr: '',
    });
  });

  it('a malformed file is reported, and a whole file stays when it cannot be written', async () => {
    const folder = await tempFolder();
    await writeFile(join(folder, 'text'), 'no JSON');
    expect((await cli.run(`import ${folder}/text`)).stderr).toMatch(
      /text is not a JSON file of tidemark export/,
    );
    expect((await cli.run(`import ${folder}/none`)).stderr).toMatch(/none cannot be read \(ENOENT/);
    expect((await cli.run(`export --output ${folder}/none/x`)).stderr).toMatch(
      /x cannot be written \(ENOENT/,
    );
  });
});

describe('a command that fails', () => {
  const expectFailure = (outcome: Outcome, sentence: RegExp): void => {
    expect(outcome.code).toBe(1);
    expect(outcome.stdout).toBe('');
    expect(outcome.stderr).toMatch(sentence);
    expect(outcome.stderr.trim().split('\n')).toHaveLength(1);
  };

  it.each([
    [
      'a taken name',
      'report create --biz 9 --name twice',
      /^tidemark: custom report "twice".* exists already.*Choose another name/,
    ],
    ['a missing space', 'report create --biz -9 --name x', /^tidemark: space_uid: is required/],
    ['an unknown data id', 'report show 42', /^tidemark: no custom report has data id 42$/m],
    [
      'a data id without a group',
      'limit show 42 --data-id',
      /^tidemark: data id 42 has no time series group$/m,
    ],
    ['an unknown application', 'app disable 42', /^tidemark: application 42 does not exist$/m],
    ['an unknown admin token', 'admin-token revoke 42 --yes', /^tidemark: admin token 42 does not exist$/m],
    ['nothing to set', 'report set 1500001', /^tidemark: nothing to set: give --description/],
  ])('by %s reports it in one sentence', async (_, line, sentence) => {
    await metadata.ask('POST', operations.report, { mon_biz_id: 9, name: 'twice' });
    expectFailure(await cli.run(`${line} --json`), sentence);
  });

  it('names the address without an answer, and the variable that changes it', async () => {
    const env = { ...metadata.env, TIDEMARK_ADMIN_URL: 'http://127.0.0.1:1' };
    expectFailure(
      await cli.run('report list', env),
      /^tidemark: the admin API is not reachable at http:\/\/127\.0\.0\.1:1 .*TIDEMARK_ADMIN_URL$/m,
    );
  });

  it('names the file and the variable that it needs when it has no token, and when it has a wrong one', async () => {
    const none = { ...metadata.env, TIDEMARK_DATA: join(engines.folder, 'nowhere') };
    expectFailure(await cli.run('report list', none), /TIDEMARK_ADMIN_TOKEN.*nowhere\/admin\.token/);
    const wrong = { ...metadata.env, TIDEMARK_ADMIN_TOKEN: 'wrong' };
    expectFailure(await cli.run('app list', wrong), /^tidemark: the admin token is missing or not valid\./);
  });
});
