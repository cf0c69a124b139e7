import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { unseenIn } from '../../../src/model/visible-text.ts';
import { createCli } from '../../support/clients/cli.ts';
import { createReport, expectProblem, operations, record } from '../../support/metadata/admin-api.ts';
import { makeOld, oldTexts } from '../../support/metadata/old-records.ts';
import type { MetadataRole } from '../../support/metadata/role.ts';
import type { TestEngines } from '../../support/stack/engines.ts';
import { until } from '../../support/until.ts';
import { sharedStack } from './stack.ts';

let engines: TestEngines;
let metadata: MetadataRole;

beforeAll(async () => {
  ({ engines, metadata } = await sharedStack());
});

const cli = createCli(() => metadata.env);

/**
 * The characters that no text of a record may hold: a control of each kind, characters that change direction, invisible
 * ones, half a character.
 */
const refused = [
  '\u0000',
  '\t',
  '\n',
  '\u001b',
  '\u007f',
  '\u009b',
  '\u061c',
  '\u202e',
  '\u2066',
  '\u200b',
  '\u2028',
  '\ufeff',
  '\ud800',
];

const create = '/api/v1/applications';
/** Every call with a text of its caller, and the field of that text. */
const calls = (): readonly (readonly [method: string, path: string, field: string, body: object])[] => [
  ['POST', operations.report, 'name', { mon_biz_id: 2 }],
  ['POST', operations.report, 'desc', { mon_biz_id: 2, name: 'texts' }],
  ['POST', operations.report, 'description', { mon_biz_id: 2, name: 'texts' }],
  ['POST', operations.report, 'operator', { mon_biz_id: 2, name: 'texts' }],
  ['POST', operations.report, 'source_system', { mon_biz_id: 2, name: 'texts' }],
  ['POST', operations.report, 'space_uid', { mon_biz_id: -2, name: 'texts' }],
  ['POST', operations.report, 'data_label', { mon_biz_id: 2, name: 'texts' }],
  ['POST', operations.dataSource, 'data_name', {}],
  ['POST', operations.dataSource, 'data_description', { data_name: '2_custom_time_series_texts' }],
  ['POST', operations.dataSource, 'custom_label', { data_name: '2_custom_time_series_texts' }],
  ['POST', operations.group, 'time_series_group_name', { mon_data_id: 1, mon_biz_id: 2 }],
  ['POST', operations.resultTable, 'table_name_zh', { mon_data_id: 1 }],
  ['POST', create, 'app_name', { mon_biz_id: 2 }],
  ['POST', create, 'operator', { mon_biz_id: 2, app_name: 'texts' }],
  ['POST', '/api/v1/admin-tokens', 'name', { role: 'viewer' }],
  ['POST', '/api/v1/admin-tokens', 'operator', { role: 'viewer', name: 'texts' }],
  ['PATCH', `${reportPath}`, 'description', {}],
  ['PATCH', `/api/v1/data-sources/${dataId}`, 'data_description', {}],
  ['PATCH', `/api/v1/data-sources/${dataId}`, 'custom_label', {}],
  ['PATCH', `/api/v1/data-sources/${dataId}`, 'source_system', {}],
  ['PATCH', `/api/v1/result-tables/${tableId}`, 'table_name_zh', {}],
  ['POST', `${reportPath}/disable`, 'operator', {}],
  ['DELETE', reportPath, 'operator', {}],
];

const holding = (field: string, text: string): string => {
  if (field === 'data_name') return `2_custom_time_series_a${text}b`;
  if (field === 'space_uid') return `bcs__a${text}b`;
  return `a${text}b`;
};

let reportPath: string;
let dataId: number;
let tableId: string;

// An editor may write them, and an admin's terminal shows them: it would obey them.
describe('texts of records', () => {
  beforeAll(async () => {
    const created = await createReport(metadata, { mon_biz_id: 41, name: 'texts' });
    dataId = created.mon_data_id;
    tableId = String(created.result_table['table_id']);
    reportPath = `/api/v1/custom-reports/${created.custom_report['custom_report_id']}`;
  });

  it.each(refused.map((text) => [text.codePointAt(0)?.toString(16), text]))(
    'are refused with U+%s in them, wherever they are written, and the field is named',
    async (_, text) => {
      for (const [method, path, field, body] of calls()) {
        const answer = await metadata.ask(method, path, { ...body, [field]: holding(field, text) });
        expectProblem(answer, 422, 'invalid_value');
        expect(answer.body, `${method} ${path}`).toMatchObject({ field });
      }
    },
  );

  it('are taken as people write them', async () => {
    const description = 'größe 主机 – می\u200cخواهم 👩\u200d👧';
    const answer = await metadata.ask('PATCH', reportPath, { description });
    expect(answer).toMatchObject({ status: 200, body: { custom_report: { description } } });
  });

  // A backup must be restorable (see export and import), and existing records must be readable.
  it('of a former version are read, listed, exported, printed and changed as they are', async () => {
    const { mon_data_id: old } = await createReport(metadata, { mon_biz_id: 41, name: 'old' });
    await makeOld(engines, old);
    const path = `/api/v1/data-sources/${old}`;
    await until('the record is known', async () => {
      const shown = record.parse((await metadata.ask('GET', path)).body);
      return shown['data_description'] === oldTexts.data_description;
    });
    const listed = await metadata.ask('GET', `/api/v1/data-sources?mon_data_id=${old}`);
    expect(listed.body).toMatchObject({ items: [oldTexts] });
    const exported = await metadata.ask('GET', '/api/v1/export');
    expect(exported.body).toMatchObject({ data_sources: { [old]: oldTexts } });
    expect(await metadata.ask('POST', `${path}/disable`)).toMatchObject({ status: 200, body: oldTexts });
    const printed = await cli.text('export');
    expect(printed.split('\n').map(unseenIn).filter(Boolean)).toEqual([]);
    expect(
      z.looseObject({ data_sources: record }).parse(JSON.parse(printed)).data_sources[old],
    ).toMatchObject(oldTexts);
    const changed = await metadata.ask('PATCH', path, { data_description: 'new' });
    expect(changed).toMatchObject({
      status: 200,
      body: { data_description: 'new', creator: oldTexts.creator },
    });
  });
});

// The author is a token. The operator that a caller names stands before it and is never taken for one.
describe('authors of records', () => {
  it('are the token, with the operator that the request names before it', async () => {
    const made = await metadata.ask('POST', '/api/v1/admin-tokens', { name: 'portal', role: 'editor' });
    const { token } = z.object({ token: z.string() }).parse(made.body);
    const as = async (operator: string | undefined, name: string) => {
      const answer = await metadata.askAs(token, 'POST', operations.report, {
        mon_biz_id: 42,
        name,
        operator,
      });
      return z.looseObject({ custom_report: record, data_source: record }).parse(answer.body);
    };
    const alone = await as(undefined, 'alone');
    expect(alone.custom_report).toMatchObject({ creator: 'portal', last_modify_user: 'portal' });
    const named = await as('admin', 'named');
    for (const each of [named.custom_report, named.data_source])
      expect(each).toMatchObject({ creator: 'admin via portal', last_modify_user: 'admin via portal' });
    const own = await as('portal', 'own');
    expect(own.custom_report).toMatchObject({ creator: 'portal' });

    const path = `/api/v1/custom-reports/${named.custom_report['custom_report_id']}`;
    await metadata.ask('POST', `${path}/disable`, { operator: 'ann' });
    expect((await metadata.ask('GET', `${path}/records`)).body).toMatchObject({
      custom_report: { creator: 'admin via portal', last_modify_user: 'ann via admin' },
      result_table: { last_modify_user: 'ann via admin' },
    });
    const audit = await cli.text(`audit --kind report --id ${named.custom_report['custom_report_id']}`);
    expect(
      audit
        .trim()
        .split('\n')
        .map((line) => line.split(/ {2,}/)[1]),
    ).toEqual(['WHO', 'ann via admin', 'admin via portal']);
  });

  it.each([
    'ann via admin',
    'via',
    'via admin',
    'ann VIA admin',
    'ann\u00a0via\u3000admin',
    'ann ｖｉａ admin',
    ' ann',
    'ann ',
  ])('are not forged by an operator %j', async (operator) => {
    const answer = await metadata.ask('POST', operations.report, {
      mon_biz_id: 42,
      name: 'forged',
      operator,
    });
    expectProblem(answer, 422, 'invalid_value');
    expect(answer.body).toMatchObject({ field: 'operator' });
  });

  it('are not forged by the name of a token', async () => {
    for (const name of ['ann via admin', 'a\u2003Via b', 'via']) {
      const answer = await metadata.ask('POST', '/api/v1/admin-tokens', { name, role: 'viewer' });
      expectProblem(answer, 422, 'invalid_value');
      expect(answer.body).toMatchObject({ field: 'name' });
    }
  });

  it('are operators of up to 64 characters, with what the word is a part of', async () => {
    for (const operator of ['x'.repeat(64), 'olivia', 'Via-Net', '王']) {
      const answer = await metadata.ask('POST', operations.report, {
        mon_biz_id: 42,
        name: `by ${operator}`,
        operator,
      });
      expect(answer).toMatchObject({
        status: 200,
        body: { custom_report: { creator: `${operator} via admin` } },
      });
    }
    const long = { mon_biz_id: 42, name: 'long', operator: 'x'.repeat(65) };
    expectProblem(await metadata.ask('POST', operations.report, long), 422, 'invalid_value');
  });
});
