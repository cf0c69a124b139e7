import { expect, it } from 'vitest';
import type { AdminClient } from '../../../src/cli/client.ts';
import { listInSteps } from '../../../src/cli/reports-in-steps.ts';
import { newGroup, newResultTable } from '../../../src/metadata/records/values.ts';

const tableOf = (index: number): string => `2_mon_time_series_${1_500_000 + index}.__default__`;
const common = { mon_biz_id: 2, label: 'others', operator: 'test' };
const indices = Array.from({ length: 2_500 }, (_, index) => index);

const groups = indices.map((index) =>
  newGroup({
    ...common,
    time_series_group_id: index,
    time_series_group_name: `report ${index}`,
    mon_data_id: 1_500_000 + index,
    table_id: tableOf(index),
    max_rate: -1,
    is_split_measurement: false,
  }),
);
const tables = indices.map((index) =>
  newResultTable({ ...common, table_id: tableOf(index), table_name_zh: 'report', data_label: '' }),
);

/** The lists of the admin API, a page at a time; as there, tables have another name than their groups. */
const client: AdminClient = {
  ask: async (schema, _method, path) => {
    const { pathname, searchParams } = new URL(path, 'http://localhost');
    const name = searchParams.get('name') ?? searchParams.get('search');
    const named = groups.filter((each) => name === null || each.time_series_group_name === name);
    const from = Number(searchParams.get('cursor') ?? 0);
    const next = from + Number(searchParams.get('limit'));
    const all = pathname === '/api/v1/time-series-groups' ? named : tables;
    const items = all.slice(from, next);
    const json = { items, next_cursor: next < all.length ? String(next) : null };
    return { value: schema.parse(json), json };
  },
  follow: async () => undefined,
};

it('lists every report that was made step by step, with the state of its table', async () => {
  const listed = await listInSteps(client, {});
  expect(new Set(listed.map(({ mon_data_id: id }) => id)).size).toBe(indices.length);
  expect(new Set(listed.map(({ state }) => state))).toEqual(new Set(['active']));
  expect(await listInSteps(client, { name: 'report 2400' })).toMatchObject([{ state: 'active' }]);
  expect(await listInSteps(client, { search: 'report 2400' })).toMatchObject([{ state: 'active' }]);
});
