import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createCli } from '../support/clients/cli.ts';
import { createReport, operations, record, tableNames } from '../support/metadata/admin-api.ts';
import { type MetadataRole, type MetadataStack, startMetadataStack } from '../support/metadata/role.ts';
import { expectSpecified } from '../support/metadata/spec-records.ts';
import type { TestEngines } from '../support/stack/engines.ts';

let stack: MetadataStack;
let engines: TestEngines;
let metadata: MetadataRole;

beforeAll(async () => {
  stack = await startMetadataStack();
  ({ engines, metadata } = stack);
});
afterAll(() => stack?.stop());

const cli = createCli(() => metadata.env);

const answered = async (path: string): Promise<unknown> => (await metadata.ask('GET', path)).body;

const recordsSchema = z.strictObject({
  custom_report: z.looseObject({
    custom_report_id: z.int(),
    mon_data_id: z.int(),
    table_id: z.string(),
    state: z.string(),
  }),
  data_source: z.looseObject({ token: z.string(), is_enable: z.boolean() }),
  time_series_group: z.looseObject({
    time_series_group_id: z.int(),
    max_rate: z.int(),
    is_enable: z.boolean(),
  }),
  result_table: z.looseObject({ is_enable: z.boolean() }),
});
const createdReportSchema = recordsSchema.extend({ mon_data_id: z.int(), time_series_group_id: z.int() });
const createdApplicationSchema = z.strictObject({
  application: z.looseObject({ app_id: z.int(), token: z.string(), max_rate: z.int() }),
});
const applicationSchema = z.strictObject({ application: record });
const pageSchema = z.strictObject({ items: z.array(record), next_cursor: z.string().nullable() });
const policySchema = z.strictObject({
  policy: record,
  signals: z.record(z.string(), record).optional(),
  own: z.array(z.string()),
});
const signalsSchema = policySchema.required();
const revealedSchema = z.strictObject({
  token: z.string(),
  previous: z.strictObject({ token: z.string(), expires_at: z.int() }).nullable(),
});
const rotatedSchema = z.strictObject({ token: z.string(), previous_expires_at: z.int() });

const recordKinds = ['data_source', 'time_series_group', 'result_table'] as const;

const newReport = async (name: string, mon_biz_id = 2) =>
  createdReportSchema.parse(await createReport(metadata, { mon_biz_id, name }));

const newApplication = async (app_name: string) => {
  const answer = await metadata.ask('POST', '/api/v1/applications', { mon_biz_id: 3, app_name });
  return createdApplicationSchema.parse(answer.body).application;
};

describe('tidemark report', () => {
  it('create --json prints the answer of the operation, with the whole token; the others answer on its data id', async () => {
    const created = await cli.json(createdReportSchema, 'report create --biz 12 --name demo --max-rate 7');
    for (const kind of recordKinds) expectSpecified(kind, created[kind]);
    expect(created.time_series_group).toMatchObject({ max_rate: 7, is_split_measurement: false });
    const { mon_data_id: dataId, custom_report: report } = created;
    const path = `/api/v1/custom-reports/${report.custom_report_id}/records`;
    const shown = await cli.json(recordsSchema, `report show ${dataId}`);
    expect(shown).toEqual(await answered(path));
    expect(shown.data_source.token).toBe(`${created.data_source.token.slice(0, 4)}${'*'.repeat(28)}`);
    expect(await cli.json(pageSchema.extend({ in_steps: z.tuple([]) }), 'report list --biz 12')).toEqual({
      items: [report],
      next_cursor: null,
      in_steps: [],
    });
    for (const [verb, is_enable] of [
      ['disable', false],
      ['enable', true],
    ] as const) {
      const changed = await cli.json(recordsSchema, `report ${verb} ${dataId}`);
      for (const kind of recordKinds) expect(changed[kind]).toMatchObject({ is_enable });
      expect(changed).toEqual(await answered(path));
    }
  });

  it('create takes a split report and a business below 0', async () => {
    const created = await cli.json(
      createdReportSchema,
      'report create --biz -3 --name split --split --space-uid bcs__p --data-label x',
    );
    expect(created.time_series_group).toMatchObject({ is_split_measurement: true, mon_biz_id: -3 });
    expect(created.data_source).toMatchObject({ space_uid: 'bcs__p' });
    expect(created.result_table).toMatchObject({ data_label: 'x' });
  });

  it('shows people the token once, and afterwards how to see it', async () => {
    const made = await cli.text('report create --biz 5 --name people');
    expect(made).toMatch(/^access token +[0-9a-f]{32}$/m);
    const dataId = /^data id +(\d+)$/m.exec(made)?.[1];
    expect(await cli.text(`report show ${dataId}`)).toMatch(
      new RegExp(`^access token +[0-9a-f]{4}\\*{28} \\(full: tidemark token show ${dataId}\\)$`, 'm'),
    );
    expect(await cli.text('report list --biz 5')).toMatch(
      /^DATA ID +BUSINESS +NAME.*\n\d{7} +5 +people +active +no +5_mon_time_series_\d+\.__default__\n$/,
    );
  });

  it('list continues where a page ends, by the cursor it names', async () => {
    for (const name of ['one', 'two', 'three']) await newReport(name, 6);
    const { code, stderr } = await cli.run('report list --biz 6 --limit 2');
    expect(code).toBe(0);
    const cursor = /^more: --cursor (\S+)\n$/.exec(stderr)?.[1];
    const rest = await cli.text(`report list --biz 6 --cursor ${cursor}`);
    expect(rest.trim().split('\n')).toHaveLength(2);
    expect(rest).toContain(' three ');
    const found = await cli.text('report list --biz 6 --search THRE');
    expect(found.trim().split('\n')).toHaveLength(2);
    expect(found).toContain(' three ');
  });

  it('set changes the description of a report', async () => {
    const { mon_data_id: dataId } = await newReport('described');
    const changed = await cli.json(
      recordsSchema,
      `report set ${dataId} --description "of the shop" --scenario os --data-label a,b`,
    );
    expect(changed.custom_report).toMatchObject({
      description: 'of the shop',
      scenario: 'os',
      data_label: 'a,b',
    });
    expect(changed.time_series_group).toMatchObject({ label: 'os' });
    expect(await cli.text(`report set ${dataId} --description ""`)).toMatch(/^description +–$/m);
  });

  it('columns lists the received names', async () => {
    const { mon_data_id: dataId, time_series_group_id: groupId } = await newReport('columns');
    const page = await cli.json(pageSchema, `report columns ${dataId}`);
    expect(page).toEqual(await answered(`/api/v1/time-series-groups/${groupId}/columns`));
    expect(await cli.text(`report columns ${dataId}`)).toBe(
      'NAME  KIND  COLUMN  FIRST SEEN  LAST SEEN (HOURLY)\n',
    );
  });

  it('delete is one way and frees the name for another data id', async () => {
    const { mon_data_id: dataId } = await newReport('again');
    expect(await cli.run(`report delete ${dataId}`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/--yes/),
    });
    const deleted = await cli.json(recordsSchema, `report delete ${dataId} --yes`);
    expect(deleted.custom_report.state).toBe('deleted');
    expect(deleted.data_source.is_enable).toBe(false);
    expect(await cli.text(`report show ${dataId}`)).toMatch(/^state +deleted$/m);
    expect((await newReport('again')).mon_data_id).toBeGreaterThan(dataId);
  });

  it('purge wants the name of the table again', async () => {
    const { mon_data_id: dataId, custom_report: report } = await newReport('gone');
    const refused = await cli.run(`report purge ${dataId} --table gone`);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^tidemark: .*Repeat the table_id of the report exactly\.$/m);
    expect(await tableNames(engines)).toContain(report.table_id);
    const purged = await cli.json(recordsSchema, `report purge ${dataId} --table ${report.table_id}`);
    expect(purged.custom_report.state).toBe('purging');
  });
});

describe('tidemark app', () => {
  it('create prints the token in full; show, list, disable, enable and delete answer on its id', async () => {
    const { application } = await cli.json(createdApplicationSchema, 'app create --biz 3 --name shop');
    expect(application).toMatchObject({ app_name: 'shop', mon_biz_id: 3, is_enable: true });
    expect(application.token).toMatch(/^[0-9a-f]{32}$/);
    const appId = application.app_id;
    const shown = await cli.json(record, `app show ${appId}`);
    expect(shown).toEqual(await answered(`/api/v1/applications/${appId}`));
    expect(await cli.text(`app show ${appId}`)).toMatch(
      new RegExp(`^X-MON-TOKEN +[0-9a-f]{4}\\*{28} \\(full: tidemark token show ${appId}\\)$`, 'm'),
    );
    const page = await cli.json(pageSchema, 'app list --biz 3');
    expect(page.items).toEqual([{ ...application, token: '*'.repeat(32) }]);
    expect((await cli.json(applicationSchema, `app disable ${appId}`)).application).toMatchObject({
      is_enable: false,
    });
    expect((await cli.json(applicationSchema, `app enable ${appId}`)).application).toMatchObject({
      is_enable: true,
    });
    expect(await cli.run(`app delete ${appId}`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/--yes/),
    });
    expect((await cli.json(applicationSchema, `app delete ${appId} --yes`)).application).toMatchObject({
      is_delete: true,
    });
    expect(await cli.text('app list --biz 3')).toMatch(/^APP ID.*\n\d+ +3 +shop +deleted\n$/);
  });
});

describe('tidemark token', () => {
  it('rotate issues a new one and prints until when the one before is valid; show shows both', async () => {
    const { mon_data_id: dataId, data_source: source } = await newReport('rotated');
    const before = Math.floor(Date.now() / 1000);
    const rotated = await cli.json(rotatedSchema, `token rotate ${dataId} --overlap 15m`);
    expect(rotated.token).toMatch(/^[0-9a-f]{32}$/);
    expect(rotated.token).not.toBe(source.token);
    expect(rotated.previous_expires_at - before).toBeGreaterThanOrEqual(900);
    expect(rotated.previous_expires_at - before).toBeLessThan(1_000);
    expect(await cli.json(revealedSchema, `token show ${dataId}`)).toEqual({
      token: rotated.token,
      previous: { token: source.token, expires_at: rotated.previous_expires_at },
    });
    expect(await cli.text(`token show ${dataId}`)).toMatch(
      new RegExp(
        `^token +${rotated.token}\\nprevious token +${source.token}, accepted until \\d{4}-\\d\\d-\\d\\d .*Z\\n$`,
      ),
    );
    expect(await cli.run(`token rotate ${dataId} --overlap 0`)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        `^tidemark: the present token of data id ${dataId} is refused at once, .* confirm with --yes`,
      ),
    });
    expect((await cli.json(revealedSchema, `token show ${dataId}`)).token).toBe(rotated.token);
    expect(await cli.text(`token rotate ${dataId} --overlap 0 --yes`)).toMatch(/^new token +[0-9a-f]{32}$/m);
    expect((await cli.json(revealedSchema, `token show ${dataId}`)).previous).toBeNull();
  });

  it('takes the id of an application alike, and writes down who has seen the token', async () => {
    const application = await newApplication('rotated');
    const appId = application.app_id;
    const rotated = await cli.json(rotatedSchema, `token rotate ${appId} --overlap 7d`);
    const shown = await cli.json(revealedSchema, `token show ${appId} --app`);
    expect(shown).toMatchObject({ token: rotated.token, previous: { token: application.token } });
    const audit = await cli.text(`audit --kind application --id ${appId} --action application.reveal_token`);
    expect(audit.trim().split('\n')).toHaveLength(2);
  });

  it('--app and --data-id name the kind of an id, and exclude each other', async () => {
    expect((await cli.run('token show 1500001 --app')).stderr).toContain(
      'application 1500001 does not exist',
    );
    expect((await cli.run('token show 1 --data-id')).stderr).toContain('data source 1 does not exist');
    expect((await cli.run('token show 1 --data-id --app')).stderr).toContain('cannot be used with option');
  });
});

describe('tidemark limit', () => {
  it('set takes every meaning of max_rate, for data ids and applications', async () => {
    const { mon_data_id: dataId } = await newReport('rates');
    const { app_id: appId } = await newApplication('rates');
    const rate = '1000: requests per second; from the default of TIDEMARK_MAX_RATE_DEFAULT';
    for (const [id, option, text] of [
      [dataId, '--max-rate 25', '25 (requests per second)'],
      [dataId, '--max-rate -1', `-1 (the default of the deployment, ${rate})`],
      [dataId, '--max-rate=-5', '-5 (all requests are refused)'],
      [appId, '--max-rate=-1', `-1 (the default of the deployment, ${rate})`],
      [appId, '--max-rate -5', '-5 (all requests are refused)'],
      [appId, '--max-rate 0', '0 (unlimited)'],
    ] as const) {
      expect(await cli.text(`limit set ${id} ${option}`)).toBe(`max rate  ${text}\n`);
    }
    expect(await cli.text(`limit show ${dataId}`)).toBe('max rate  -5 (all requests are refused)\n');
    expect(await cli.text(`limit show ${appId}`)).toBe('max rate  0 (unlimited)\n');
  });

  it('prints the records that were changed as JSON, also for a data id without a report', async () => {
    const { mon_data_id: dataId } = await newReport('limited');
    const changed = await cli.json(recordsSchema, `limit set ${dataId} --max-rate 3`);
    expect(changed.time_series_group.max_rate).toBe(3);
    expect(await cli.json(record, `limit show ${dataId}`)).toEqual(changed.time_series_group);
    const bare = await metadata.ask('POST', operations.dataSource, {
      data_name: '2_custom_time_series_bare',
    });
    const source = z.looseObject({ mon_data_id: z.int() }).parse(bare.body);
    await metadata.ask('POST', operations.group, {
      mon_data_id: source.mon_data_id,
      mon_biz_id: 2,
      time_series_group_name: 'bare',
    });
    const group = await cli.json(record, `limit set ${source.mon_data_id} --max-rate 4`);
    expect(group).toMatchObject({ time_series_group_name: 'bare', max_rate: 4 });
  });
});

describe('tidemark policy', () => {
  it('sets each field of a data id to a value, off or the default', async () => {
    const { mon_data_id: dataId } = await newReport('policy');
    const path = `/api/v1/data-sources/${dataId}/policy`;
    const initial = await cli.json(policySchema, `policy show ${dataId}`);
    expect(initial).toEqual(await answered(path));
    const set = await cli.json(
      policySchema,
      `policy set ${dataId} --ahead-seconds-max 60 --age-seconds-max off --points-max 5 --metric-columns-max 6 ` +
        '--dimension-columns-max 7 --retention-days 30',
    );
    const wanted = {
      ahead_seconds_max: 60,
      // An older point would be removed at once.
      age_seconds_max: 30 * 86_400,
      points_max: 5,
      metric_columns_max: 6,
      dimension_columns_max: 7,
      retention_days: 30,
    };
    expect(set).toEqual({ policy: { mon_data_id: dataId, ...wanted }, own: Object.keys(wanted).toSorted() });
    const back = await cli.text(`policy set ${dataId} --points-max default`);
    expect(back).toMatch(
      new RegExp(`^points_max +${initial.policy['points_max']} +by default, metrics.yaml$`, 'm'),
    );
    expect(back).toMatch(/^retention_days +30 +here$/m);
    expect(back).toMatch(/^age_seconds_max +2592000 +by retention_days$/m);
    expect(await cli.text(`policy set ${dataId} --age-seconds-max 60`)).toMatch(
      /^age_seconds_max +60 +here$/m,
    );
    expect(await cli.text(`retention set ${dataId} 1 --yes`)).toMatch(/^kept +1 day$/m);
  });

  it('sets each field of an application', async () => {
    const { application } = await cli.json(
      createdApplicationSchema,
      'app create --biz 3 --name policy --fill-dimensions false',
    );
    const set = await cli.json(
      policySchema,
      `policy set ${application.app_id} --ahead-seconds-max off --age-seconds-max 3600 --spans-max 5 --records-max 4 --data-points-max 3 --series-max off ` +
        '--attributes-max 6 --events-max 7 --links-max 8 --value-bytes-max 9 --deduplicate false --retention-days 9 --yes',
    );
    expect(set.policy).toEqual({
      app_id: application.app_id,
      ahead_seconds_max: 'off',
      age_seconds_max: 3_600,
      spans_max: 5,
      records_max: 4,
      data_points_max: 3,
      series_max: 'off',
      attributes_max: 6,
      events_max: 7,
      links_max: 8,
      value_bytes_max: 9,
      deduplicate: false,
      fill_dimensions: false,
      retention_days: 9,
    });
  });

  it('shows what holds for each signal of an application, where the files of its signals differ', async () => {
    const { application } = await cli.json(createdApplicationSchema, 'app create --biz 3 --name signals');
    const shown = await cli.json(
      signalsSchema,
      `policy set ${application.app_id} --attributes-max 6 --series-max 100`,
    );
    expect(shown.policy).toMatchObject({ attributes_max: 6, series_max: 100, value_bytes_max: 'by_signal' });
    expect(shown.signals).toMatchObject({
      traces: { attributes_max: 6, value_bytes_max: 65_536, spans_max: 50_000 },
      logs: { attributes_max: 6, value_bytes_max: 262_144, records_max: 50_000 },
      otel_metrics: { attributes_max: 6, value_bytes_max: 262_144, data_points_max: 50_000, series_max: 100 },
    });
    expect(shown.signals['logs']).not.toHaveProperty('spans_max');
    expect(await cli.text(`policy show ${application.app_id}`)).toMatch(
      /^value_bytes_max +65536 traces, 262144 logs, 262144 otel_metrics +by default, traces\.yaml, logs\.yaml, otel_metrics\.yaml$/m,
    );
  });

  it('refuses in one sentence a value that it cannot set', async () => {
    const { mon_data_id: dataId } = await newReport('refused');
    for (const [options, sentence] of [
      ['--spans-max 5', /^tidemark: --spans-max cannot be set for \d+, which is a data id$/m],
      ['', /^tidemark: nothing to set: /],
      ['--points-max 0', /^tidemark: points_max: must be at least 1\. /],
      ['--points-max many', /It must be an integer, true, false, off or default;/],
    ] as const) {
      const { code, stderr } = await cli.run(`policy set ${dataId} ${options}`);
      expect(code).toBe(1);
      expect(stderr).toMatch(sentence);
    }
  });
});
