import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Changer,
  type FieldFacts,
  factsOf as factsOfRecord,
} from '../../../src/directory/record-fields.ts';
import { recordSchemas } from '../../../src/directory/records.ts';
import { createReport, expectProblem, record } from '../../support/metadata/admin-api.ts';
import type { MetadataRole } from '../../support/metadata/role.ts';
import { sharedStack } from './stack.ts';

type Name = keyof typeof recordSchemas;
type Values = Record<string, unknown>;

const reportNames = ['data-source', 'time-series-group', 'result-table', 'custom-report'] as const;
const names: readonly Name[] = [...reportNames, 'application'];
const bizId = 31;

let metadata: MetadataRole;
let made = 0;

beforeAll(async () => {
  ({ metadata } = await sharedStack());
});

type Made = {
  readonly name: string;
  readonly path: string;
  readonly reportPath: string;
  readonly values: Values;
};

const pathOf = (kind: Name, id: unknown): string => `/api/v1/${kind}s/${id}`;

/** A record as a business and a name alone make it. */
const create = async (kind: Name, more: object = {}): Promise<Made> => {
  made += 1;
  const name = `made ${made}`;
  if (kind === 'application') {
    const answer = await metadata.ask('POST', '/api/v1/applications', {
      mon_biz_id: bizId,
      app_name: name,
      ...more,
    });
    const { application } = z.object({ application: record }).parse(answer.body);
    return { name, path: pathOf(kind, application['app_id']), reportPath: '', values: application };
  }
  const created = await createReport(metadata, { mon_biz_id: bizId, name, ...more });
  const ids = {
    'data-source': created.mon_data_id,
    'time-series-group': created.time_series_group_id,
    'result-table': created.result_table['table_id'],
    'custom-report': created.custom_report['custom_report_id'],
  };
  const values = {
    'data-source': created.data_source,
    'time-series-group': created.time_series_group,
    'result-table': created.result_table,
    'custom-report': created.custom_report,
  };
  return {
    name,
    path: pathOf(kind, ids[kind]),
    reportPath: pathOf('custom-report', ids['custom-report']),
    values: values[kind],
  };
};

const shown = async ({ path }: Made): Promise<Values> => record.parse((await metadata.ask('GET', path)).body);

const ok = async (method: string, path: string, body?: object): Promise<void> => {
  expect(await metadata.ask(method, path, body), `${method} ${path}`).toMatchObject({ status: 200 });
};

/** Another value than this, of its kind. */
const otherThan = (field: string, value: unknown): unknown => {
  if (field === 'label' || field === 'scenario') return 'os';
  if (typeof value === 'boolean') return !value;
  return typeof value === 'number' ? value + 7 : 'other';
};

const factsOf = (kind: Name): [string, FieldFacts][] => factsOfRecord(recordSchemas[kind]);

const fieldsChangedBy = (kind: Name, changer: Changer): string[] =>
  factsOf(kind)
    .filter(([, { changedBy }]) => changedBy.includes(changer))
    .map(([field]) => field);

const differing = (before: Values, after: Values): string[] =>
  Object.keys(before).filter((field) => !Object.is(before[field], after[field]));

/** The calls behind a changer; those on the report where the record has none of its own, or besides it. */
const calls: Readonly<Record<Exclude<Changer, 'patch' | 'every_change'>, (of: Made) => Promise<void>>> = {
  report_patch: async ({ reportPath }) =>
    ok('PATCH', reportPath, { scenario: 'os', data_label: 'other', max_rate: 6, description: 'other' }),
  switch: async ({ path, reportPath }) =>
    ok('POST', `${reportPath || path}/disable`, { operator: 'someone' }),
  delete: async ({ path, reportPath }) => ok('DELETE', reportPath || path, { operator: 'someone' }),
  purge: async ({ reportPath }) => {
    const { table_id } = record.parse((await metadata.ask('GET', reportPath)).body);
    await ok('POST', `${reportPath}/purge`, { table_id, operator: 'someone' });
  },
  rotate_token: async ({ path, reportPath }) =>
    ok('POST', `${reportPath || path}/rotate-token`, { operator: 'someone' }),
};

const isOfReport = (kind: Name): boolean => kind !== 'application';

const appliesTo = (changer: keyof typeof calls, kind: Name): boolean =>
  changer === 'report_patch'
    ? isOfReport(kind) && kind !== 'custom-report'
    : changer !== 'purge' || isOfReport(kind);

const cases = names.flatMap((kind) =>
  (['report_patch', 'switch', 'delete', 'purge', 'rotate_token'] as const)
    .filter((changer) => appliesTo(changer, kind))
    .map((changer) => [kind, changer] as const),
);

describe('docs/records.md', () => {
  it.each(names)('lists the defaults of a %s', async (kind) => {
    const created = await create(kind);
    const { values } = created;
    expect(Object.keys(values).toSorted()).toEqual(
      factsOf(kind)
        .map(([field]) => field)
        .toSorted(),
    );
    const filled: Values = { ...values, mon_biz_id: bizId, name: created.name };
    if (kind === 'result-table')
      filled['mon_data_id'] = /(\d+)\.__default__$/.exec(String(values['table_id']))?.[1];
    for (const [field, { default: given }] of factsOf(kind)) {
      if ('is' in given) expect(values[field], field).toBe(given.is);
      else if ('looks' in given) expect(String(values[field]), field).toMatch(given.looks);
      else
        expect(String(values[field]), field).toBe(
          given.template.replaceAll(/\{(\w+)\}/g, (_, of) => String(filled[of])),
        );
    }
  });

  it.each(names)('lists the fields of a %s that a PATCH changes, and all others are fixed', async (kind) => {
    const created = await create(kind);
    const open = fieldsChangedBy(kind, 'patch');
    for (const [field] of factsOf(kind)) {
      const before = await shown(created);
      const answer = await metadata.ask('PATCH', created.path, {
        [field]: otherThan(field, before[field]),
      });
      if (!open.includes(field)) {
        expectProblem(answer, 409, field === 'is_enable' ? 'has_own_operation' : 'fixed_at_creation');
        expect(answer.body).toMatchObject({ field });
        expect(await shown(created)).toEqual(before);
      } else {
        expect(answer, field).toMatchObject({ status: 200 });
        const changed = differing(before, await shown(created)).filter(
          (name) => !name.startsWith('last_modify'),
        );
        expect(changed, field).toEqual([field]);
      }
    }
  });

  it.each(cases)('lists the fields of a %s that change with %s', async (kind, changer) => {
    const created = await create(kind, { operator: 'someone else' });
    const before = await shown(created);
    await calls[changer](created);
    const changed = differing(before, await shown(created)).filter(
      (field) => !field.startsWith('last_modify'),
    );
    expect(changed.toSorted()).toEqual(fieldsChangedBy(kind, changer).toSorted());
  });

  it.each(names)('states that each change of a %s is signed', async (kind) => {
    const created = await create(kind, { operator: 'someone else' });
    const isReport = kind === 'custom-report';
    await ok(isReport ? 'DELETE' : 'POST', isReport ? created.path : `${created.path}/disable`, {
      operator: 'me',
    });
    const after = await shown(created);
    expect(after).toMatchObject({ creator: 'someone else via admin', last_modify_user: 'me via admin' });
    expect(Number(after['last_modify_time'])).toBeGreaterThanOrEqual(Number(created.values['create_time']));
    expect(fieldsChangedBy(kind, 'every_change').toSorted()).toEqual([
      'last_modify_time',
      'last_modify_user',
    ]);
  });
});
