import { z } from 'zod';
import { recordKeys } from '../directory/keys.ts';
import type { DataSource, ResultTable, TimeSeriesGroup } from '../model/records.ts';
import { found } from './operations.ts';
import type { RecordSet, Records } from './record-store.ts';
import { dataIdOfTableId } from './values.ts';

const integer = z
  .string()
  .regex(/^-?\d{1,10}$/, 'must be an integer')
  .transform(Number);

/** What every list can be narrowed by. Unknown parameters are refused: a misspelt filter would answer everything. */
const listQuerySchema = z.strictObject({
  mon_biz_id: integer.optional(),
  mon_data_id: integer.optional(),
  name: z.string().optional(),
  limit: z
    .string()
    .regex(/^\d{1,6}$/, 'must be an integer from 1 to 1000')
    .transform(Number)
    .pipe(z.int().min(1, 'must be an integer from 1 to 1000').max(1000, 'must be an integer from 1 to 1000'))
    .default(100),
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'is none that a list answered')
    .transform((text) => Number(Buffer.from(text, 'base64url').toString('latin1')))
    .pipe(z.int('is none that a list answered'))
    .optional(),
});

/** A list's page by ascending id; `next_cursor` is null on the last one. */
export type Page<T> = { items: T[]; next_cursor: string | null };

/** What a list was asked for. */
export type ListQuery = z.output<typeof listQuerySchema>;

/** One kind of record as the API shows it. */
export type Resource = {
  readonly path: string;
  /** Takes `name` also under the records' own name for it, as `app_name`. */
  readonly querySchema: z.ZodType<ListQuery>;
  list(query: ListQuery): Page<unknown>;
  /** Throws a permanent Fault `not_found`. */
  show(id: string): Promise<unknown>;
};

type Entry<T> = { id: number; value: T };

const pageOf = <T>(entries: Entry<T>[], query: ListQuery): Page<T> => {
  const after = query.cursor;
  const rest = after === undefined ? entries : entries.filter(({ id }) => id > after);
  const page = rest.slice(0, query.limit);
  const last = page.at(-1);
  return {
    items: page.map(({ value }) => value),
    next_cursor:
      rest.length > page.length && last !== undefined
        ? Buffer.from(String(last.id)).toString('base64url')
        : null,
  };
};

type Definition<T> = {
  readonly path: string;
  readonly set: RecordSet<T>;
  readonly nameField: keyof T & string;
  readonly bizOf: (value: T) => number | undefined;
  readonly dataIdOf: (entry: Entry<T>) => number | undefined;
  readonly show: (id: string) => Promise<unknown>;
};

const resource = <T>({ path, set, nameField, bizOf, dataIdOf, show }: Definition<T>): Resource => ({
  path,
  show,
  querySchema: z.preprocess((query) => {
    if (typeof query !== 'object' || query === null || 'name' in query || !(nameField in query)) return query;
    const { [nameField]: name, ...rest } = { ...query };
    return { ...rest, name };
  }, listQuerySchema),
  list: (query) =>
    pageOf(
      set
        .list()
        .filter(
          (entry) =>
            (query.mon_biz_id === undefined || bizOf(entry.value) === query.mon_biz_id) &&
            (query.mon_data_id === undefined || dataIdOf(entry) === query.mon_data_id) &&
            (query.name === undefined || entry.value[nameField] === query.name),
        ),
      query,
    ),
});

const idOf = (text: string): number => (/^\d{1,15}$/.test(text) ? Number(text) : -1);

/** A data source names its business only in data_name: `<biz>_custom_time_series_<name>`. */
const bizOfDataSource = (source: DataSource): number | undefined => {
  const biz = /^(-?\d{1,10})_/.exec(source.data_name)?.[1];
  return biz === undefined ? undefined : Number(biz);
};

const groupById = async (records: Records, id: number): Promise<{ value: TimeSeriesGroup } | undefined> => {
  const dataId = id < 0 ? undefined : await records.lookUp(recordKeys.groupId(id));
  const group = dataId === undefined ? undefined : await records.groups.get(dataId);
  return group?.value.time_series_group_id === id ? group : undefined;
};

const tableById = async (records: Records, tableId: string): Promise<{ value: ResultTable } | undefined> => {
  const dataId = dataIdOfTableId(tableId);
  const table = dataId === undefined ? undefined : await records.tables.get(dataId);
  return table?.value.table_id === tableId ? table : undefined;
};

/** The kinds of records under /api/v1. */
export const resourcesOf = (records: Records): Resource[] => [
  resource({
    path: 'custom-reports',
    set: records.reports,
    nameField: 'name',
    bizOf: (report) => report.mon_biz_id,
    dataIdOf: ({ value }) => value.mon_data_id,
    show: (id) => found(records.reports.get(idOf(id)), `custom report ${id}`),
  }),
  resource({
    path: 'data-sources',
    set: records.dataSources,
    nameField: 'data_name',
    bizOf: bizOfDataSource,
    dataIdOf: ({ id }) => id,
    show: (id) => found(records.dataSources.get(idOf(id)), `data source ${id}`),
  }),
  resource({
    path: 'time-series-groups',
    set: records.groups,
    nameField: 'time_series_group_name',
    bizOf: (group) => group.mon_biz_id,
    dataIdOf: ({ id }) => id,
    show: (id) => found(groupById(records, idOf(id)), `time series group ${id}`),
  }),
  resource({
    path: 'result-tables',
    set: records.tables,
    nameField: 'table_name_zh',
    bizOf: (table) => table.mon_biz_id,
    dataIdOf: ({ id }) => id,
    show: (id) => found(tableById(records, id), `result table ${id}`),
  }),
  resource({
    path: 'applications',
    set: records.applications,
    nameField: 'app_name',
    bizOf: (application) => application.mon_biz_id,
    dataIdOf: () => undefined,
    show: (id) => found(records.applications.get(idOf(id)), `application ${id}`),
  }),
];
