import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createReport,
  expectProblem,
  operations,
  record,
  tableNames,
} from '../../support/metadata/admin-api.ts';
import { makeOld, oldTexts } from '../../support/metadata/old-records.ts';
import { type Answer, type MetadataRole, startMetadataStack } from '../../support/metadata/role.ts';
import type { TestEngines } from '../../support/stack/engines.ts';
import { fetchEngine } from '../../support/stack/fetch-engine.ts';
import { until } from '../../support/until.ts';
import { sharedStack } from './stack.ts';

let engines: TestEngines;
let metadata: MetadataRole;

beforeAll(async () => {
  ({ engines, metadata } = await sharedStack());
});

const etagOf = (answer: Answer): string => answer.headers.get('etag') ?? '';

/** PATCH with an If-Match. */
const patchIf = async (path: string, ifMatch: string, body: object): Promise<Answer> => {
  const token = await adminToken();
  const response = await fetch(`${metadata.url}${path}`, {
    method: 'PATCH',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/merge-patch+json',
      'If-Match': ifMatch,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
};

const adminToken = async (): Promise<string> =>
  (await readFile(`${metadata.dataFolder}/admin.token`, 'utf8')).trim();

const exec = async (sql: string): Promise<unknown[][]> => {
  const response = await fetchEngine(`${engines.questdb.url}/exec?query=${encodeURIComponent(sql)}`);
  return z.object({ dataset: z.array(z.array(z.unknown())) }).parse(await response.json()).dataset;
};

describe('a merge patch', () => {
  it.each([
    [
      'data-sources',
      'data_source',
      { data_description: 'new', custom_label: 'own', source_system: 'portal' },
    ],
    ['time-series-groups', 'time_series_group', { label: 'os', max_rate: 7 }],
    ['result-tables', 'result_table', { table_name_zh: 'shown', label: 'os', data_label: 'a,b' }],
  ] as const)('changes fields of %s and records who and when', async (path, kind, change) => {
    const created = await createReport(metadata, { mon_biz_id: 2, name: `patched ${kind}` });
    const id = {
      data_source: created.mon_data_id,
      time_series_group: created.time_series_group_id,
      result_table: String(created.result_table['table_id']),
    }[kind];
    const url = `/api/v1/${path}/${id}`;
    const before = await metadata.ask('GET', url);
    const patched = await metadata.ask('PATCH', url, change);
    expect(patched).toMatchObject({ status: 200, body: { ...change, last_modify_user: 'admin' } });
    const after = await metadata.ask('GET', url);
    expect(after.body).toEqual(patched.body);
    expect(etagOf(after)).toBe(etagOf(patched));
    expect(etagOf(after)).not.toBe(etagOf(before));
    // The same again changes nothing: neither the revision nor who changed it last.
    const again = await metadata.ask('PATCH', url, change);
    expect(again.body).toEqual(after.body);
    expect(etagOf(again)).toBe(etagOf(after));
  });

  it('takes a whole record back as it was read, with one field edited', async () => {
    const { mon_data_id } = await createReport(metadata, { mon_biz_id: 2, name: 'round trip' });
    const url = `/api/v1/data-sources/${mon_data_id}`;
    const shown = record.parse((await metadata.ask('GET', url)).body);
    const patched = await metadata.ask('PATCH', url, { ...shown, data_description: 'edited' });
    // The change has a time of its own, in seconds.
    const edited = { ...shown, data_description: 'edited', last_modify_time: expect.any(Number) };
    expect(patched).toMatchObject({ status: 200, body: edited });
    expect(record.parse(patched.body)['last_modify_time']).toBeGreaterThanOrEqual(
      Number(shown['last_modify_time']),
    );
  });

  it('of a report changes its group and table with it', async () => {
    const created = await createReport(metadata, { mon_biz_id: 2, name: 'whole' });
    const url = `/api/v1/custom-reports/${created.custom_report['custom_report_id']}`;
    const change = { description: 'd', scenario: 'os', data_label: 'x', max_rate: 9 };
    expect((await metadata.ask('PATCH', url, change)).body).toMatchObject({
      custom_report: { description: 'd', scenario: 'os', data_label: 'x' },
      time_series_group: { label: 'os', max_rate: 9 },
      result_table: { label: 'os', data_label: 'x' },
    });
  });

  it.each([
    [{ is_split_measurement: true }, 409, 'fixed_at_creation', 'is_split_measurement'],
    [{ mon_data_id: 1 }, 409, 'fixed_at_creation', 'mon_data_id'],
    [{ is_enable: false }, 409, 'has_own_operation', 'is_enable'],
    [{ max_rate: null }, 422, 'invalid_value', 'max_rate'],
    [{ max_rate: 1.5 }, 422, 'invalid_value', 'max_rate'],
    [{ label: 'nonsense' }, 422, 'invalid_value', 'label'],
    [{ nonsense: 1 }, 422, 'invalid_value', 'nonsense'],
    [JSON.parse('{"__proto__":1}'), 422, 'invalid_value', '__proto__'],
  ])('refuses %j by the name of the field', async (change, status, code, field) => {
    const name = `refused ${JSON.stringify(change)}`;
    const { time_series_group_id } = await createReport(metadata, { mon_biz_id: 2, name });
    const answer = await metadata.ask('PATCH', `/api/v1/time-series-groups/${time_series_group_id}`, change);
    expectProblem(answer, status, code);
    expect(answer.body).toMatchObject({ field });
  });

  it.each(['', ' '])('refuses %j, which no caller means by a change', async (body) => {
    const { mon_data_id } = await createReport(metadata, { mon_biz_id: 2, name: `empty ${body.length}` });
    expectProblem(
      await metadata.ask('PATCH', `/api/v1/data-sources/${mon_data_id}`, body),
      400,
      'body_not_json',
    );
  });

  it('on the strength of a revision that has passed is a 412, before anything else is looked at', async () => {
    const { mon_data_id } = await createReport(metadata, { mon_biz_id: 2, name: 'lost update' });
    const url = `/api/v1/data-sources/${mon_data_id}`;
    const etag = etagOf(await metadata.ask('GET', url));
    const answers = await Promise.all([
      patchIf(url, etag, { data_description: 'mine' }),
      patchIf(url, etag, { data_description: 'yours' }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412]);
    const lost = answers.find(({ status }) => status === 412);
    if (lost !== undefined) expectProblem(lost, 412, 'precondition_failed');
    expectProblem(await patchIf(url, etag, { nonsense: 1 }), 412, 'precondition_failed');
    expectProblem(await patchIf(url, '"abc"', { data_description: 'x' }), 412, 'precondition_failed');
    expect((await patchIf(url, '*', { data_description: 'any' })).status).toBe(200);
    expectProblem(await patchIf('/api/v1/data-sources/1', '"1"', {}), 404, 'not_found');
  });

  it('on the strength of several revisions is made where one of them is current, else a 412', async () => {
    const { mon_data_id } = await createReport(metadata, { mon_biz_id: 2, name: 'several revisions' });
    const url = `/api/v1/data-sources/${mon_data_id}`;
    const first = etagOf(await metadata.ask('GET', url));
    const change = (ifMatch: string, text: string) => patchIf(url, ifMatch, { data_description: text });
    const one = await change(`"1", "abc", ${first}`, 'one');
    expect(one.status).toBe(200);
    const two = await change(`${first},${etagOf(one)} , "2"`, 'two');
    expect(two).toMatchObject({ status: 200, body: { data_description: 'two' } });
    // A weak tag is equal to none, an opaque one may hold commas, and a star stands alone.
    for (const none of [`${first}, ${etagOf(one)}`, `W/${etagOf(two)}, "1"`, `"a,17,b"`, '*, "1"', ','])
      expectProblem(await change(none, 'three'), 412, 'precondition_failed');
  });
});

describe('a token', () => {
  it('is shown whole by its creation, a rotation and an audited reveal, and nowhere else', async () => {
    const created = await createReport(metadata, { mon_biz_id: 2, name: 'secret' });
    const first = String(created.data_source['token']);
    const url = `/api/v1/data-sources/${created.mon_data_id}`;
    const rotated = await metadata.ask('POST', `${url}/rotate-token`, { overlap_seconds: 600 });
    const { token: second } = z
      .object({ token: z.string(), previous_expires_at: z.int() })
      .parse(rotated.body);
    expect(second).toMatch(/^[0-9a-f]{32}$/);
    expect(second).not.toBe(first);
    expect((await metadata.ask('POST', `${url}/reveal-token`)).body).toMatchObject({
      token: second,
      previous: { token: first },
    });
    const reportUrl = `/api/v1/custom-reports/${created.custom_report['custom_report_id']}`;
    const elsewhere = [
      await metadata.ask('GET', url),
      await metadata.ask('GET', '/api/v1/data-sources?limit=1000'),
      await metadata.ask('GET', `${reportUrl}/records`),
      await metadata.ask('POST', `${reportUrl}/disable`),
      await metadata.ask('GET', '/api/v1/audit?limit=1000'),
    ];
    for (const { status, body } of elsewhere) {
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain(first);
      expect(JSON.stringify(body)).not.toContain(second);
    }
    const audited = JSON.stringify(elsewhere.at(-1)?.body);
    for (const action of ['data_source.rotate_token', 'data_source.reveal_token']) {
      expect(audited).toContain(action);
    }
    for (const line of engines.lines) expect(line).not.toContain(second);
  });

  // Who looks up which tokens somebody saw would otherwise find another one.
  it('is named by its data source in the audit log, also where it was asked for by its report', async () => {
    const created = await createReport(metadata, { mon_biz_id: 2, name: 'asked for by its report' });
    const reportUrl = `/api/v1/custom-reports/${created.custom_report['custom_report_id']}`;
    for (const act of ['reveal', 'rotate']) {
      expect((await metadata.ask('POST', `${reportUrl}/${act}-token`)).status).toBe(200);
      const query = `target_kind=data_source&action=data_source.${act}_token&limit=1`;
      expect((await metadata.ask('GET', `/api/v1/audit?${query}`)).body).toMatchObject({
        items: [{ target: { id: String(created.data_source['mon_data_id']) }, outcome: 'done' }],
      });
    }
    expect(await metadata.ask('POST', '/api/v1/custom-reports/999999/reveal-token')).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
  });

  // Such a token would be valid, and its creation would fail at the terminal, where it is shown only once.
  it('of the API is not made with an end that is no time', async () => {
    const body = { name: 'for ages', role: 'viewer', expires_at: 4_294_967_296 };
    const refused = await metadata.ask('POST', '/api/v1/admin-tokens', body);
    expectProblem(refused, 422, 'invalid_value');
    expect(JSON.stringify(refused.body)).toContain('expires_at');
    const last = { ...body, expires_at: 4_294_967_295 };
    expect((await metadata.ask('POST', '/api/v1/admin-tokens', last)).body).toMatchObject({
      admin_token: { expires_at: 4_294_967_295 },
    });
  });

  it('of the API allows the calls of its role', async () => {
    const tokens = new Map<string, string>();
    for (const role of ['viewer', 'editor', 'node']) {
      const made = await metadata.ask('POST', '/api/v1/admin-tokens', { name: `a ${role}`, role });
      tokens.set(role, z.object({ token: z.string() }).parse(made.body).token);
    }
    const created = await createReport(metadata, { mon_biz_id: 2, name: 'roles' });
    const url = `/api/v1/custom-reports/${created.custom_report['custom_report_id']}`;
    const table = { table_id: created.result_table['table_id'] };
    const statuses = async (role: string): Promise<number[]> => {
      const ask = async (method: string, path: string, body?: object): Promise<number> =>
        (await metadata.askAs(tokens.get(role), method, path, body)).status;
      return [
        await ask('GET', url),
        await ask('PATCH', url, { description: role }),
        await ask('POST', operations.report, { mon_biz_id: 2, name: `by ${role}` }),
        await ask('POST', `${url}/purge`, table),
        await ask('GET', '/api/v1/admin-tokens'),
        await ask('GET', '/api/v1/export'),
      ];
    };
    expect(await statuses('viewer')).toEqual([200, 403, 403, 403, 403, 403]);
    expect(await statuses('editor')).toEqual([200, 200, 200, 403, 403, 403]);
    expect(await statuses('node')).toEqual([403, 403, 403, 403, 403, 403]);
    const byEditor = await metadata.ask('GET', '/api/v1/custom-reports?name=by%20editor');
    expect(byEditor.body).toMatchObject({ items: [{ creator: 'a editor', last_modify_user: 'a editor' }] });
  });
});

describe('the audit log', () => {
  it('shows one entry by its id, and 404 for an unknown one', async () => {
    await createReport(metadata, { mon_biz_id: 2, name: 'audited' });
    const listed = await metadata.ask('GET', '/api/v1/audit?limit=1');
    const { items } = z.object({ items: z.array(record) }).parse(listed.body);
    const one = await metadata.ask('GET', `/api/v1/audit/${items[0]?.['audit_id']}`);
    expect(one).toMatchObject({ status: 200, body: items[0] });
    for (const id of ['00000000-0000-4000-8000-000000000000', 'x', '*', '>']) {
      expectProblem(await metadata.ask('GET', `/api/v1/audit/${id}`), 404, 'not_found');
    }
  });
});

describe('a policy', () => {
  it('shows the values in effect, accepts "off" and null, and names the field in a refusal', async () => {
    const { mon_data_id } = await createReport(metadata, { mon_biz_id: 2, name: 'policy' });
    const url = `/api/v1/data-sources/${mon_data_id}/policy`;
    const defaults = {
      mon_data_id,
      ahead_seconds_max: 3600,
      age_seconds_max: 'off',
      points_max: 50_000,
      metric_columns_max: 512,
      dimension_columns_max: 64,
      retention_days: 'off',
    };
    expect((await metadata.ask('GET', url)).body).toEqual({ policy: defaults, own: [] });
    const set = await metadata.ask('PATCH', url, { ahead_seconds_max: 'off', points_max: 10 });
    expect(set.body).toEqual({
      policy: { ...defaults, ahead_seconds_max: 'off', points_max: 10 },
      own: ['ahead_seconds_max', 'points_max'],
    });
    expectProblem(await patchIf(url, '"1"', { points_max: 11 }), 412, 'precondition_failed');
    expect((await patchIf(url, etagOf(set), { points_max: null })).body).toEqual({
      policy: { ...defaults, ahead_seconds_max: 'off' },
      own: ['ahead_seconds_max'],
    });
    for (const change of [{ points_max: 0 }, { points_max: 'off' }, { points_maxx: 1 }]) {
      const refused = await metadata.ask('PATCH', url, change);
      expectProblem(refused, 422, 'invalid_value');
      expect(refused.body).toMatchObject({ field: Object.keys(change)[0] });
    }
  });

  it('of retention is the TTL of the table, and again without one', async () => {
    const created = await createReport(metadata, { mon_biz_id: 2, name: 'retention' });
    const url = `/api/v1/data-sources/${created.mon_data_id}/policy`;
    const table = String(created.result_table['table_id']);
    const ttl = async (): Promise<unknown[] | undefined> =>
      (await exec(`SELECT ttlValue, ttlUnit FROM tables() WHERE table_name = '${table}'`))[0];
    expect((await metadata.ask('PATCH', url, { retention_days: 9 })).status).toBe(200);
    await until('the TTL is 9 days', async () => JSON.stringify(await ttl()) === '[9,"DAY"]');
    expect((await metadata.ask('PATCH', url, { retention_days: null })).status).toBe(200);
    await until('there is no TTL', async () => (await ttl())?.[0] === 0);
  });
});

describe('export and import', () => {
  it('bring all records into another deployment, which answers and works the same', async () => {
    const split = { mon_biz_id: 31, name: 'split', is_split_measurement: true };
    const created = await createReport(metadata, split);
    const gone = await createReport(metadata, { mon_biz_id: 31, name: 'gone' });
    await metadata.ask('DELETE', `/api/v1/custom-reports/${gone.custom_report['custom_report_id']}`);
    await metadata.ask('POST', `/api/v1/data-sources/${created.mon_data_id}/rotate-token`);
    await metadata.ask('PATCH', `/api/v1/data-sources/${created.mon_data_id}/policy`, { retention_days: 3 });
    await metadata.ask('POST', '/api/v1/applications', {
      mon_biz_id: 31,
      app_name: 'shop',
      deduplicate: false,
    });
    await metadata.ask('POST', operations.refresh);
    // What a former version took is put back as it was.
    await makeOld(engines, gone.mon_data_id);
    await until('the old record is known', async () => {
      const shown = await metadata.ask('GET', `/api/v1/data-sources/${gone.mon_data_id}`);
      return record.parse(shown.body)['creator'] === oldTexts.creator;
    });
    const exported = await metadata.ask('GET', '/api/v1/export');
    expect(exported).toMatchObject({
      status: 200,
      body: { subscriptions: { [created.mon_data_id]: { mon_biz_id: 31 } } },
    });
    const withoutTime = (answer: Answer): unknown => ({ ...record.parse(answer.body), exported_at: 0 });

    const { engines: target, metadata: other, stop } = await startMetadataStack();
    try {
      const imported = await other.ask('POST', '/api/v1/import', record.parse(exported.body));
      expect(imported).toMatchObject({ status: 200, body: { unchanged: 0 } });
      expect(withoutTime(await other.ask('GET', '/api/v1/export'))).toEqual(withoutTime(exported));
      expect(await tableNames(target)).toContain(created.result_table['table_id']);
      const again = await other.ask('POST', '/api/v1/import', record.parse(exported.body));
      expect(again).toMatchObject({ status: 200, body: { created: 0 } });
      expectProblem(await other.ask('POST', operations.report, split), 409, 'name_taken');
      const next = await createReport(other, { mon_biz_id: 31, name: 'gone' });
      expect(next.mon_data_id).toBeGreaterThan(gone.mon_data_id);
      await other.ask('PATCH', `/api/v1/data-sources/${created.mon_data_id}`, { data_description: 'other' });
      const refused = await other.ask('POST', '/api/v1/import', record.parse(exported.body));
      expectProblem(refused, 409, 'import_conflict');
      expect(JSON.stringify(refused.body)).toContain(`data_source.${created.mon_data_id}`);
    } finally {
      await stop();
    }
  });
});
