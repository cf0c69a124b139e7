import { z } from 'zod';
import { recordKeys } from '../directory/keys.ts';
import type {
  Application,
  CustomReport,
  DataSource,
  ResultTable,
  TimeSeriesGroup,
} from '../model/records.ts';
import { found } from './operations.ts';
import type { Records } from './record-store.ts';
import { dataIdOfTableId } from './values.ts';

/** What lists can be narrowed by. Unknown parameters are refused: a misspelt filter would answer everything. */
export const listQuerySchema = z.strictObject({
  mon_biz_id: z
    .string()
    .regex(/^-?\d{1,10}$/, 'must be an integer')
    .transform(Number)
    .optional(),
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

type ListQuery = z.output<typeof listQuerySchema>;

/** One kind of record as the API shows it. */
export type Resource = {
  readonly path: string;
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

const lister =
  <T>(entries: () => Entry<T>[], bizOf: (value: T) => number | undefined, nameOf: (value: T) => string) =>
  (query: ListQuery): Page<T> =>
    pageOf(
      entries().filter(
        ({ value }) =>
          (query.mon_biz_id === undefined || bizOf(value) === query.mon_biz_id) &&
          (query.name === undefined || nameOf(value) === query.name),
      ),
      query,
    );

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
  {
    path: 'custom-reports',
    list: lister<CustomReport>(
      () => records.reports.list(),
      (report) => report.mon_biz_id,
      (report) => report.name,
    ),
    show: (id) => found(records.reports.get(idOf(id)), `custom report ${id}`),
  },
  {
    path: 'data-sources',
    list: lister<DataSource>(
      () => records.dataSources.list(),
      bizOfDataSource,
      (source) => source.data_name,
    ),
    show: (id) => found(records.dataSources.get(idOf(id)), `data source ${id}`),
  },
  {
    path: 'time-series-groups',
    list: lister<TimeSeriesGroup>(
      () => records.groups.list(),
      (group) => group.mon_biz_id,
      (group) => group.time_series_group_name,
    ),
    show: (id) => found(groupById(records, idOf(id)), `time series group ${id}`),
  },
  {
    path: 'result-tables',
    list: lister<ResultTable>(
      () => records.tables.list(),
      (table) => table.mon_biz_id,
      (table) => table.table_name_zh,
    ),
    show: (id) => found(tableById(records, id), `result table ${id}`),
  },
  {
    path: 'applications',
    list: lister<Application>(
      () => records.applications.list(),
      (application) => application.mon_biz_id,
      (application) => application.app_name,
    ),
    show: (id) => found(records.applications.get(idOf(id)), `application ${id}`),
  },
];
