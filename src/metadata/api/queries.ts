import { z } from 'zod';
import { systemOwners } from '../../directory/system-owners.ts';
import { secondsMax } from '../../outcomes/times.ts';
import { numberText } from '../number-text.ts';
import { fieldFault, notFound } from '../problem.ts';
import type { Records } from '../records/store.ts';

// Parts of queries that several endpoints have.

const idText = 'must be an id: digits only';
const timeText = 'must be Unix seconds';

/** A number of a query: text of digits, with its bounds. */
export const number = (digits: RegExp, why: string, max: number, description: string, example: number) =>
  numberText(
    digits,
    why,
    z
      .int()
      .min(0)
      .max(max)
      .meta({ description, examples: [example] }),
  ).optional();

/** The owner of a query: at most one of the two. */
export const ownerQuery = {
  data_id: number(/^\d{1,15}$/, idText, 999_999_999_999_999, 'Only this data id', 1500001),
  app_id: number(/^\d{1,15}$/, idText, 999_999_999_999_999, 'Only this application', 1),
};

export const timeQuery = {
  since: number(/^\d{1,10}$/, timeText, secondsMax, 'At or after this time, Unix seconds', 1_800_000_000),
  until: number(/^\d{1,10}$/, timeText, secondsMax, 'Up to this time, Unix seconds', 1_800_003_600),
};

const bizText = 'must be an integer of at most 10 digits';

export const bizQuery = numberText(
  /^-?\d{1,10}$/,
  bizText,
  z.int().min(-9_999_999_999).max(9_999_999_999).meta({ description: 'Only the owners of this business' }),
).optional();

/** The format of an answer that is CSV, too. */
export const formatQuery = z
  .enum(['json', 'csv'], 'must be json or csv')
  .optional()
  .meta({ description: 'Wins over Accept; default json' });

type Times = { readonly since?: number | undefined; readonly until?: number | undefined };

/** Throws the permanent Fault `invalid_value` where the period ends before it begins. */
export const refuseReversed = ({ since, until }: Times): void => {
  if (since !== undefined && until !== undefined && since > until)
    throw fieldFault('invalid_value', 'since', 'must not be after until');
};

/** The period that is asked for, by default these seconds up to now. Throws the same. */
export const periodOf = (asked: Times, now: number, defaultSeconds: number) => {
  const until = asked.until ?? now;
  const since = asked.since ?? Math.max(0, until - defaultSeconds);
  refuseReversed({ since, until });
  return { since, until };
};

export type Owners = { readonly data_id?: number | undefined; readonly app_id?: number | undefined };

/** Throws the permanent Fault `invalid_value` where both are given. */
export const ownerOf = ({ data_id: dataId, app_id: appId }: Owners) => {
  if (dataId !== undefined && appId !== undefined)
    throw fieldFault('invalid_value', 'app_id', 'cannot be combined with data_id');
  return { dataId, appId };
};

/** The same beside a business, which cannot be combined with either. */
export const ownerOrBizOf = (query: Owners & { readonly mon_biz_id?: number | undefined }) => {
  const { dataId, appId } = ownerOf(query);
  const { mon_biz_id: biz } = query;
  if (biz !== undefined && (dataId !== undefined || appId !== undefined))
    throw fieldFault('invalid_value', 'mon_biz_id', 'cannot be combined with data_id or app_id');
  return { dataId, appId, biz };
};

/** The owners that Tidemark made for itself, where the query names no owner and does not ask for them. Permanent Fault as of `ownerOf`. */
export const exceptOf = (records: Records, query: Owners & { readonly system?: boolean | undefined }) => {
  const { dataId, appId } = ownerOf(query);
  if (query.system === true || dataId !== undefined || appId !== undefined) return undefined;
  const own = systemOwners(records);
  return { dataIds: [...own.dataIds], appIds: [...own.appIds] };
};

/** A data id or an application that was never given out would read like one without items. Throws the permanent Fault `not_found`. */
export const refuseUnknownOwner = async (
  records: Pick<Records, 'dataSources' | 'applications'>,
  { data_id: dataId, app_id: appId }: Owners,
): Promise<void> => {
  if (dataId !== undefined && (await records.dataSources.get(dataId)) === undefined)
    throw notFound(`data id ${dataId}`);
  if (appId !== undefined && (await records.applications.get(appId)) === undefined)
    throw notFound(`application ${appId}`);
};
