import { z } from 'zod';
import { dataSource, resultTable, timeSeriesGroup } from '../metadata/api/contract.ts';
import { type AdminClient, pageOf } from './client.ts';
import { tableOfDataId } from './lookups.ts';
import { queryText } from './options.ts';
import { type Cell, printFields } from './output.ts';
import { shownToken } from './token.ts';

// Reports that were made step by step: their three records have no report record, which the API lists.

type Group = z.output<typeof timeSeriesGroup>;
type Table = z.output<typeof resultTable>;

/** A report that was made step by step, as a list shows it. */
export type ListedInSteps = Pick<
  Group,
  'mon_data_id' | 'mon_biz_id' | 'is_split_measurement' | 'table_id'
> & {
  readonly name: string;
  readonly state: keyof typeof stateTexts;
};

const stateTexts = {
  no_table: 'no table yet',
  active: 'step by step',
  disabled: 'disabled',
  deleted: 'deleted',
} as const;

const stateOf = ({ is_enable, is_delete }: Group, own: Table | undefined): ListedInSteps['state'] => {
  if (is_delete || own?.is_deleted === true) return 'deleted';
  if (own === undefined) return 'no_table';
  return is_enable && own.is_enable ? 'active' : 'disabled';
};

const limitMax = 1000;

type Query = Readonly<Record<string, string | number | undefined>>;

/** All of a list, a page after the other. */
const allOf = async <T extends z.ZodType>(
  client: AdminClient,
  item: T,
  path: string,
  query: Query,
): Promise<z.output<T>[]> => {
  const items: z.output<T>[] = [];
  let cursor: string | undefined;
  do {
    const text = queryText({ ...query, limit: limitMax, cursor });
    const { value } = await client.ask(pageOf(item), 'GET', `${path}${text}`);
    items.push(...value.items);
    cursor = value.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return items;
};

/** All of them: they stand behind the last page of the reports. */
export const listInSteps = async (
  client: AdminClient,
  { biz, name, search }: { biz?: number; name?: string; search?: string },
): Promise<ListedInSteps[]> => {
  const of = { mon_biz_id: biz, has_report: 'false' };
  const groups = await allOf(client, timeSeriesGroup, '/api/v1/time-series-groups', { ...of, name, search });
  if (groups.length === 0) return [];
  // A name is that of the group, and not of its table.
  const all = await allOf(client, resultTable, '/api/v1/result-tables', of);
  const tables = new Map(all.map((each) => [each.table_id, each]));
  return groups.map((each) => ({
    mon_data_id: each.mon_data_id,
    mon_biz_id: each.mon_biz_id,
    name: each.time_series_group_name,
    state: stateOf(each, tables.get(each.table_id)),
    is_split_measurement: each.is_split_measurement,
    table_id: each.table_id,
  }));
};

export const rowInSteps = (each: ListedInSteps): Cell[] => [
  each.mon_data_id,
  each.mon_biz_id,
  each.name,
  stateTexts[each.state],
  each.is_split_measurement ? 'yes' : 'no',
  each.table_id,
];

/** The records of a report that was made step by step, as far as it was made. */
export type RecordsInSteps = {
  readonly data_source: z.output<typeof sourceSchema>;
  readonly time_series_group?: Group;
  readonly result_table?: Table;
};

const sourceSchema = dataSource.extend({ token: z.string() });

/** Undefined without a data source of this data id. */
export const recordsInSteps = async (
  client: AdminClient,
  dataId: number,
): Promise<RecordsInSteps | undefined> => {
  const query = queryText({ mon_data_id: dataId, has_report: 'false' });
  const { value: sources } = await client.ask(pageOf(sourceSchema), 'GET', `/api/v1/data-sources${query}`);
  if (sources.items.length === 0) return undefined;
  // A list hides all of the token.
  const { value: source } = await client.ask(sourceSchema, 'GET', `/api/v1/data-sources/${dataId}`);
  const { value } = await client.ask(pageOf(timeSeriesGroup), 'GET', `/api/v1/time-series-groups${query}`);
  const [own] = value.items;
  const ownTable = await tableOfDataId(client, dataId);
  return {
    data_source: source,
    ...(own === undefined ? {} : { time_series_group: own }),
    ...(ownTable === undefined ? {} : { result_table: ownTable }),
  };
};

const onOff = (isEnabled: boolean | undefined): string =>
  isEnabled === undefined ? 'not made yet' : isEnabled ? 'enabled' : 'disabled';

/** Prints them for people. */
export const printInSteps = ({ data_source: source, ...rest }: RecordsInSteps): void => {
  const { time_series_group: own, result_table: ownTable } = rest;
  printFields([
    [
      'report',
      `${own?.time_series_group_name ?? source.data_name}, made step by step: it has no report record`,
    ],
    ['data id', source.mon_data_id],
    ['access token', shownToken(source.token, source.mon_data_id)],
    ['business', own?.mon_biz_id],
    ['table', ownTable?.table_id],
    ['max rate', own?.max_rate],
    ['data source', onOff(source.is_enable)],
    ['group', own?.is_delete ? 'deleted' : onOff(own?.is_enable)],
    ['result table', ownTable?.is_deleted ? 'deleted' : onOff(ownTable?.is_enable)],
  ]);
};
