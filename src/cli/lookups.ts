import { z } from 'zod';
import { customReport, dataSource, resultTable, timeSeriesGroup } from '../metadata/api/contract.ts';
import { Fault } from '../model/fault.ts';
import type { AdminClient } from './client.ts';
import { type OwnerOptions, type Subject, subjectPath } from './options.ts';

type CustomReport = z.output<typeof customReport>;
type TimeSeriesGroup = z.output<typeof timeSeriesGroup>;

const first = async <T>(client: AdminClient, item: z.ZodType<T>, path: string): Promise<T | undefined> =>
  (await client.ask(z.object({ items: z.array(item) }), 'GET', path)).value.items[0];

/** The report that a data id belongs to; undefined for a data id without a report and for an unknown one. */
export const reportOfDataId = (client: AdminClient, dataId: number): Promise<CustomReport | undefined> =>
  first(client, customReport, `/api/v1/custom-reports?mon_data_id=${dataId}`);

/** The same; permanent Fault `not_found` where there is none. */
export const requireReport = async (client: AdminClient, dataId: number): Promise<CustomReport> => {
  const report = await reportOfDataId(client, dataId);
  if (report !== undefined) return report;
  const source = await first(client, dataSource, `/api/v1/data-sources?mon_data_id=${dataId}`);
  throw new Fault(
    'permanent',
    'not_found',
    source === undefined
      ? `no custom report has data id ${dataId}`
      : `data id ${dataId} was created step by step and has no report: use tidemark data-source, group and result-table`,
  );
};

/** The time series group of a data id. Permanent Fault `not_found`. */
export const requireGroup = async (client: AdminClient, dataId: number): Promise<TimeSeriesGroup> => {
  const group = await first(client, timeSeriesGroup, `/api/v1/time-series-groups?mon_data_id=${dataId}`);
  if (group !== undefined) return group;
  throw new Fault('permanent', 'not_found', `data id ${dataId} has no time series group`);
};

/**
 * Permanent Fault `not_found` where the owner that the options name does not exist. For a command whose answer is empty:
 * nothing of a wrong id must not look like nothing of a right one.
 */
export const requireOwner = async (client: AdminClient, { dataId, appId }: OwnerOptions): Promise<void> => {
  const known = z.looseObject({});
  if (dataId !== undefined && dataId !== 0)
    await client.ask(known, 'GET', subjectPath({ kind: 'data_id', id: dataId }));
  if (appId !== undefined && appId !== 0)
    await client.ask(known, 'GET', subjectPath({ kind: 'application', id: appId }));
};

const tokenSchema = z.object({ token: z.string() });

/** The token of an owner, which the audit log records. Permanent Fault `not_found` for an unknown one. */
export const tokenOf = async (client: AdminClient, subject: Subject): Promise<string> =>
  (await client.ask(tokenSchema, 'POST', `${subjectPath(subject)}/reveal-token`, { body: {} })).value.token;

/** The path of the group of a data id. Permanent Fault `not_found`. */
export const groupPath = async (client: AdminClient, dataId: number): Promise<string> =>
  `/api/v1/time-series-groups/${(await requireGroup(client, dataId)).time_series_group_id}`;

/** The result table of a data id; undefined where there is none. */
export const tableOfDataId = (
  client: AdminClient,
  dataId: number,
): Promise<z.output<typeof resultTable> | undefined> =>
  first(client, resultTable, `/api/v1/result-tables?mon_data_id=${dataId}`);

/** The path of the result table of a data id. Permanent Fault `not_found`. */
export const tablePath = async (client: AdminClient, dataId: number): Promise<string> => {
  const table = await tableOfDataId(client, dataId);
  if (table !== undefined) return `/api/v1/result-tables/${table.table_id}`;
  throw new Fault('permanent', 'not_found', `data id ${dataId} has no result table`);
};
