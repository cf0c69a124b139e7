import { readFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createReport,
  expectProblem,
  operations,
  record,
  tableNames,
} from '../../support/metadata/admin-api.ts';
import type { MetadataRole } from '../../support/metadata/role.ts';
import { expectSpecified } from '../../support/metadata/spec-records.ts';
import type { TestEngines } from '../../support/stack/engines.ts';
import { sharedStack } from './stack.ts';

let engines: TestEngines;
let metadata: MetadataRole;

beforeAll(async () => {
  ({ engines, metadata } = await sharedStack());
});

describe('CreateCustomTimeSeries', () => {
  it('creates the four records of the specification, and the table, before it answers', async () => {
    const before = Math.floor(Date.now() / 1000);
    const created = await createReport(metadata, { mon_biz_id: 2, name: 'demo' });
    expect(await tableNames(engines)).toContain(created.result_table['table_id']);
    for (const name of ['data_source', 'time_series_group', 'result_table'] as const) {
      expectSpecified(name, created[name]);
      expect(created[name]['create_time']).toBeGreaterThanOrEqual(before);
    }
    const dataId = created.mon_data_id;
    const tableId = `2_mon_time_series_${dataId}.__default__`;
    expect(dataId).toBeGreaterThanOrEqual(1_500_001);
    expect(created.custom_report).toMatchObject({ state: 'active', mon_data_id: dataId, table_id: tableId });
    expect(created.data_source).toMatchObject({
      mon_data_id: dataId,
      data_name: '2_custom_time_series_demo',
      data_description: '2_custom_time_series_demo',
      etl_config: 'mon_standard_v2_time_series',
      type_label: 'time_series',
      source_label: 'custom',
      source_system: 'unknown',
      custom_label: null,
      is_custom_source: true,
      is_enable: true,
      is_platform_data_id: false,
      transfer_cluster_id: 'default',
      mq_cluster_id: 1,
      mq_config_id: 1,
      space_type_id: 'moncc',
      space_uid: 'moncc__2',
    });
    expect(created.time_series_group).toMatchObject({
      mon_data_id: dataId,
      mon_biz_id: 2,
      table_id: tableId,
      max_rate: -1,
      label: 'others',
      is_enable: true,
      is_delete: false,
      is_split_measurement: false,
      time_series_group_id: created.time_series_group_id,
      time_series_group_name: 'demo',
    });
    expect(created.result_table).toMatchObject({
      table_id: tableId,
      table_name_zh: 'demo',
      is_custom_table: true,
      schema_type: 'free',
      default_storage: 'questdb',
      mon_biz_id: 2,
      is_deleted: false,
      is_enable: true,
      label: 'others',
      data_label: '',
    });
  });

  it('accepts the given values', async () => {
    const created = await createReport(metadata, {
      mon_biz_id: 7,
      name: 'given',
      scenario: 'os',
      data_label: 'a,b.c',
      desc: 'a note',
      is_split_measurement: true,
      max_rate: 50,
      operator: 'someone',
      source_system: 'portal',
    });
    expect(created.custom_report).toMatchObject({
      scenario: 'os',
      description: 'a note',
      is_split_measurement: true,
      creator: 'someone via admin',
    });
    expect(created.data_source).toMatchObject({ source_system: 'portal', creator: 'someone via admin' });
    expect(created.time_series_group).toMatchObject({
      max_rate: 50,
      label: 'os',
      is_split_measurement: true,
    });
    expect(created.result_table).toMatchObject({ label: 'os', data_label: 'a,b.c' });
  });

  it.each([
    [{ mon_biz_id: 0, name: 'p0' }, 0, '', 'all', 'all__0', true],
    [{ mon_biz_id: 4, name: 'p4', is_platform: true }, 0, '', 'all', 'all__0', true],
    [{ mon_biz_id: -5, name: 'n5', space_uid: 'bcs__pr-1' }, -5, '-5_', 'bcs', 'bcs__pr-1', false],
  ])('gives %j its table and its space', async (request, bizId, prefix, spaceType, spaceUid, isPlatform) => {
    const created = await createReport(metadata, request);
    const tableId = `${prefix}mon_time_series_${created.mon_data_id}.__default__`;
    expect(created.result_table).toMatchObject({ table_id: tableId, mon_biz_id: bizId });
    expect(created.time_series_group).toMatchObject({ table_id: tableId, mon_biz_id: bizId });
    expect(created.data_source).toMatchObject({
      space_type_id: spaceType,
      space_uid: spaceUid,
      is_platform_data_id: isPlatform,
    });
    expect(await tableNames(engines)).toContain(tableId);
  });

  it('answers 409 when the name is in use, and 422 naming the field of an invalid value', async () => {
    await createReport(metadata, { mon_biz_id: 2, name: 'taken' });
    expectProblem(
      await metadata.ask('POST', operations.report, { mon_biz_id: 2, name: 'taken' }),
      409,
      'name_taken',
    );
    const refused = await metadata.ask('POST', operations.report, {
      mon_biz_id: 2,
      name: 'x',
      type_label: 'event',
    });
    expectProblem(refused, 422, 'invalid_value');
    expect(refused.body).toMatchObject({ field: 'type_label', remedy: expect.any(String) });
  });
});

describe('the records', () => {
  it('are read with exactly the fields of the specification, right after they were written', async () => {
    const created = await createReport(metadata, { mon_biz_id: 11, name: 'read' });
    const dataId = created.mon_data_id;
    const tableId = String(created.result_table['table_id']);
    for (const [path, name] of [
      [`data-sources/${dataId}`, 'data_source'],
      [`time-series-groups/${created.time_series_group_id}`, 'time_series_group'],
      [`result-tables/${tableId}`, 'result_table'],
      [`custom-reports/${created.custom_report['custom_report_id']}`, 'custom_report'],
    ] as const) {
      const token = String(created[name]['token']);
      const shown = (text: string): object =>
        name === 'data_source' ? { ...created[name], token: text } : created[name];
      const one = await metadata.ask('GET', `/api/v1/${path}`);
      expect(one).toMatchObject({ status: 200, body: shown(`${token.slice(0, 4)}${'*'.repeat(28)}`) });
      expect(one.headers.get('etag')).toMatch(/^"\d+"$/);
      if (name !== 'custom_report') expectSpecified(name, one.body);
      const kind = path.split('/')[0];
      const many = await metadata.ask('GET', `/api/v1/${kind}?mon_biz_id=11`);
      expect(many.body).toEqual({ items: [shown('*'.repeat(32))], next_cursor: null });
    }
  });

  it('agree with the JSON Schemas that are promised', async () => {
    const created = await createReport(metadata, { mon_biz_id: 2, name: 'schemas' });
    const application = await metadata.ask('POST', '/api/v1/applications', {
      mon_biz_id: 2,
      app_name: 'schemas',
    });
    const values: [string, unknown][] = [
      ['data-source', created.data_source],
      ['time-series-group', created.time_series_group],
      ['result-table', created.result_table],
      ['custom-report', created.custom_report],
      ['application', z.object({ application: record }).parse(application.body).application],
    ];
    const ajv = new Ajv2020();
    for (const [name, value] of values) {
      const file = new URL(`../../../schemas/records/${name}.schema.json`, import.meta.url);
      const schema = record.parse(JSON.parse(await readFile(file, 'utf8')));
      expect(ajv.validate(schema, value), `${name}: ${ajv.errorsText()}`).toBe(true);
    }
  });

  it('are listed page by page, each once, by name and by business', async () => {
    const made: unknown[] = [];
    for (let count = 0; count < 5; count++) {
      made.push((await createReport(metadata, { mon_biz_id: 12, name: `page ${count}` })).custom_report);
    }
    const pageSchema = z.object({ items: z.array(record), next_cursor: z.string().nullable() });
    const seen: unknown[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const answer = await metadata.ask('GET', `/api/v1/custom-reports?mon_biz_id=12&limit=2${query}`);
      const page = pageSchema.parse(answer.body);
      seen.push(...page.items);
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(made);
    const named = await metadata.ask('GET', '/api/v1/custom-reports?mon_biz_id=12&name=page%203');
    expect(named.body).toEqual({ items: [made[3]], next_cursor: null });
  });

  it('are found by each word of a search: a part of the name, the beginning of the id, or a business', async () => {
    const { custom_report: report, mon_data_id: id } = await createReport(metadata, {
      mon_biz_id: 13,
      name: 'Searched Shop',
    });
    const found = async (kind: string, search: string): Promise<unknown[]> => {
      const { body } = await metadata.ask('GET', `/api/v1/${kind}?search=${encodeURIComponent(search)}`);
      return z.object({ items: z.array(z.unknown()) }).parse(body).items;
    };
    for (const search of [
      'searched shop',
      'HED biz:13',
      `${id} biz:13`,
      ` ${String(id).slice(0, 5)} searched`,
    ])
      expect(await found('custom-reports', search), search).toEqual([report]);
    for (const search of ['searched biz:14', 'searchedshop', `${String(id).slice(1)} searched`])
      expect(await found('custom-reports', search), search).toEqual([]);
    for (const kind of ['data-sources', 'time-series-groups'])
      expect(await found(kind, 'searched biz:13'), kind).toMatchObject([{ mon_data_id: id }]);
    await metadata.ask('POST', '/api/v1/applications', { mon_biz_id: 13, app_name: 'searched-cart' });
    expect(await found('applications', 'RCHED biz:13')).toMatchObject([{ app_name: 'searched-cart' }]);
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=x', 'limit'],
    ['cursor=!', 'cursor'],
    ['cursor=abc', 'cursor'],
    ['state=activ', 'state'],
    ['mon_biz_id=two', 'mon_biz_id'],
    ['nmae=x', 'nmae'],
  ])('are not listed for %s: it is refused by its name', async (query, field) => {
    const answer = await metadata.ask('GET', `/api/v1/custom-reports?${query}`);
    expectProblem(answer, 422, 'invalid_value');
    expect(answer.body).toMatchObject({ field });
  });

  it.each([
    'custom-reports/999999',
    'data-sources/1',
    'data-sources/x',
    'time-series-groups/999999',
    'result-tables/2_mon_time_series_1.__default__',
    'result-tables/nonsense',
    'applications/999999',
    'nothing',
  ])('that are not there (%s) are a 404', async (path) => {
    expectProblem(await metadata.ask('GET', `/api/v1/${path}`), 404, 'not_found');
  });
});

describe('the other operations alone', () => {
  it('do their one step each, in their order, and refuse to go ahead of it', async () => {
    const missing = { mon_data_id: 2_000_000, mon_biz_id: 2, time_series_group_name: 'steps' };
    expectProblem(await metadata.ask('POST', operations.group, missing), 409, 'data_source_missing');
    const source = await metadata.ask('POST', operations.dataSource, {
      data_name: '2_custom_time_series_steps',
    });
    expectSpecified('data_source', source.body);
    const { mon_data_id } = z.object({ mon_data_id: z.int() }).parse(source.body);
    expectProblem(await metadata.ask('POST', operations.resultTable, { mon_data_id }), 409, 'group_missing');
    const elsewhere = await metadata.ask('POST', operations.group, {
      ...missing,
      mon_data_id,
      mon_biz_id: 3,
    });
    expectProblem(elsewhere, 422, 'invalid_value');
    expect(elsewhere.body).toMatchObject({ field: 'mon_biz_id' });
    const group = await metadata.ask('POST', operations.group, { ...missing, mon_data_id });
    expectSpecified('time_series_group', group.body);
    expectProblem(
      await metadata.ask('POST', operations.group, { ...missing, mon_data_id }),
      409,
      'group_exists',
    );
    const table = await metadata.ask('POST', operations.resultTable, { mon_data_id, data_label: 'steps' });
    expectSpecified('result_table', table.body);
    expect(table.body).toMatchObject({ table_id: `2_mon_time_series_${mon_data_id}.__default__` });
    expect(await tableNames(engines)).toContain(`2_mon_time_series_${mon_data_id}.__default__`);
    expectProblem(await metadata.ask('POST', operations.resultTable, { mon_data_id }), 409, 'table_exists');
    const again = { data_name: '2_custom_time_series_steps' };
    expectProblem(await metadata.ask('POST', operations.dataSource, again), 409, 'name_taken');
  });
});

describe('disabling and enabling', () => {
  it('of a report sets the three flags, and once more changes nothing', async () => {
    const created = await createReport(metadata, { mon_biz_id: 2, name: 'switched' });
    const path = `/api/v1/custom-reports/${created.custom_report['custom_report_id']}`;
    for (const [verb, is_enable] of [
      ['disable', false],
      ['disable', false],
      ['enable', true],
    ] as const) {
      const flags = {
        data_source: { is_enable },
        time_series_group: { is_enable },
        result_table: { is_enable },
      };
      expect(await metadata.ask('POST', `${path}/${verb}`)).toMatchObject({ status: 200, body: flags });
      const source = await metadata.ask('GET', `/api/v1/data-sources/${created.mon_data_id}`);
      expect(source.body).toMatchObject({ is_enable });
    }
    expectProblem(await metadata.ask('POST', '/api/v1/custom-reports/999999/disable'), 404, 'not_found');
  });

  it('of an application sets its flag', async () => {
    const made = await metadata.ask('POST', '/api/v1/applications', { mon_biz_id: 2, app_name: 'switched' });
    const { application } = z.object({ application: record }).parse(made.body);
    expect(application).toMatchObject({ max_rate: 0, is_enable: true, is_delete: false });
    expect(application['token']).toMatch(/^[0-9a-f]{32}$/);
    const path = `/api/v1/applications/${application['app_id']}`;
    const disabled = await metadata.ask('POST', `${path}/disable`, { operator: 'someone' });
    expect(disabled.body).toMatchObject({
      application: { is_enable: false, last_modify_user: 'someone via admin' },
    });
    expect((await metadata.ask('GET', path)).body).toMatchObject({ is_enable: false });
    const enabled = await metadata.ask('POST', `${path}/enable`);
    const { application: last } = z.object({ application: record }).parse(enabled.body);
    expect(last).toMatchObject({ is_enable: true });
    const revealed = await metadata.ask('POST', `${path}/reveal-token`);
    expect(revealed.body).toEqual({ token: application['token'], previous: null });
    for (const query of ['name=switched', 'app_name=switched&mon_biz_id=2']) {
      const listed = await metadata.ask('GET', `/api/v1/applications?${query}`);
      expect(listed.body).toEqual({ items: [{ ...last, token: '*'.repeat(32) }], next_cursor: null });
    }
    const again = { mon_biz_id: 2, app_name: 'switched' };
    expectProblem(await metadata.ask('POST', '/api/v1/applications', again), 409, 'name_taken');
  });
});

describe('HTTP', () => {
  it('answers the same 401 without a token, with a wrong one and for paths that are not there', async () => {
    const answers = [
      await metadata.askAs(undefined, 'GET', '/api/v1/custom-reports'),
      await metadata.askAs('wrong', 'GET', '/api/v1/custom-reports'),
      await metadata.askAs('wrong', 'POST', operations.report, { mon_biz_id: 2, name: 'x' }),
      await metadata.askAs(undefined, 'GET', '/nothing'),
    ];
    for (const answer of answers) {
      expectProblem(answer, 401, 'unauthorized');
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
      expect(answer.body).toEqual(answers[0]?.body);
    }
  });

  it('answers /livez and /readyz without a token', async () => {
    expect(await metadata.askAs(undefined, 'GET', '/livez')).toMatchObject({ status: 200 });
    const ready = await metadata.askAs(undefined, 'GET', '/readyz');
    expect(ready).toMatchObject({ status: 200, body: { ready: true, failing: {} } });
  });

  it.each([
    ['DELETE', '/api/v1/custom-reports', 'GET, HEAD'],
    ['GET', operations.report, 'POST'],
    ['PUT', '/api/v1/applications', 'GET, HEAD, POST'],
    ['GET', '/api/v1/custom-reports/1/disable', 'POST'],
    ['POST', '/v1/subscriptions/2', 'GET, HEAD'],
    ['POST', '/api/v1/drops/live', 'GET, HEAD'],
    ['DELETE', '/livez', 'GET, HEAD'],
  ])('answers 405 with Allow to %s %s', async (method, path, allow) => {
    const answer = await metadata.ask(method, path);
    expectProblem(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('allow')).toBe(allow);
  });

  it.each([
    ['POST', '/api/v1/admin-tokens', { name: 'a', role: 'viewer', expires_at: 1 }, 'expires_at'],
    ['POST', '/api/v1/admin-tokens', { name: 'a', role: 'viewer', mon_biz_id: 2 }, 'mon_biz_id'],
    ['GET', '/api/v1/audit?cursor=x', undefined, 'cursor'],
  ])('names the field in a 422 to %s %s %j', async (method, path, body, field) => {
    expect((await metadata.ask(method, path, body)).body).toMatchObject({ code: 'invalid_value', field });
  });

  it.each([
    ['no JSON', '{', 400, 'body_not_json'],
    ['too much', `"${'x'.repeat(1024 * 1024)}"`, 413, 'body_too_large'],
    ['no object', '[]', 422, 'invalid_value'],
    ['nothing', '', 422, 'invalid_value'],
  ])('refuses a body that is %s', async (_, body, status, code) => {
    expectProblem(await metadata.ask('POST', operations.report, body), status, code);
  });

  it('counts its answers for the operator', async () => {
    const metrics = await (await fetch(`${metadata.role.url}/metrics`)).text();
    expect(metrics).toMatch(/tidemark_metadata_requests_total\{status="200",role="metadata"\} [1-9]/);
  });
});
