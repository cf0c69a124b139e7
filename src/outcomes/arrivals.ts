import { z } from 'zod';
import { authorisationReasons } from '../model/authorisation.ts';
import { isOfApplications, ownerConditions } from '../model/signals.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { type Drop, readDrops } from './drops.ts';
import { ledgerTables } from './rows.ts';
import { storedOutcome } from './tally.ts';
import type { UsageOwner } from './usage.ts';

/** The last accepted request of an owner: Unix seconds to the millisecond, and its sender. */
export type LastRequest = { readonly at: number; readonly sender: string; readonly sdk: string };

const lastRow = z.object({ last_ms: z.coerce.number(), last_sender: z.string(), last_sdk: z.string() });

/** Undefined where no request is known, for as long as usage is kept. Throws the Faults of the ClickHouse client. */
export const readLastRequest = async (
  clickhouse: Clickhouse,
  { dataId, appId }: UsageOwner,
): Promise<LastRequest | undefined> => {
  const [row] = await clickhouse.rows(
    lastRow,
    `SELECT toUnixTimestamp64Milli(max(last_at)) AS last_ms, argMax(sender, last_at) AS last_sender, argMax(sdk, last_at) AS last_sdk
     FROM ${database}.${ledgerTables.usage} WHERE data_id = {dataId:Int64} AND app_id = {appId:Int64} HAVING count() > 0`,
    { params: { dataId, appId } },
  );
  return row === undefined
    ? undefined
    : { at: row.last_ms / 1000, sender: row.last_sender, sdk: row.last_sdk };
};

const storedRow = z.object({ last_ms: z.coerce.number() });

/** When an item of the owner was last settled as stored, at or after `since` (Unix seconds); undefined where none was. Throws likewise. */
export const readLastStored = async (
  clickhouse: Clickhouse,
  { dataId, appId }: UsageOwner,
  since: number,
): Promise<number | undefined> => {
  const [row] = await clickhouse.rows(
    storedRow,
    `SELECT toUnixTimestamp64Milli(max(at)) AS last_ms FROM ${database}.${ledgerTables.outcomes}
     WHERE ${dataId === 0 ? ownerConditions.appId : ownerConditions.dataId}
       AND minute >= toStartOfMinute(toDateTime({since:UInt32})) AND at >= toDateTime64({since:UInt32}, 3, 'UTC')
       AND outcomes['${storedOutcome}'] > 0 HAVING count() > 0`,
    { params: { dataId, appId, since } },
  );
  return row === undefined ? undefined : row.last_ms / 1000;
};

/** A receiver writes the data id that a request names without a right to it behind its detail. */
const namedPattern = /(?:^|; )data id ([0-9]{1,15})$/;

/** Whether a sample is of this owner, or of a request that named its data id without a valid token. */
export const isOfOwner = ({ pipeline, data_id, app_id, detail }: Drop, owner: UsageOwner): boolean => {
  if (owner.dataId === 0) return isOfApplications(pipeline) && app_id === owner.appId;
  if (isOfApplications(pipeline)) return false;
  return data_id === owner.dataId || (data_id === 0 && namedPattern.exec(detail)?.[1] === `${owner.dataId}`);
};

/** Of these samples the ones that name a data id are found: no more are looked through. */
const unnamedMax = 200;

/**
 * Samples of an owner since this time (Unix seconds), the newest first; those of requests that named its data id without a valid token, too,
 * as far as they are among the newest. `isOnePerReason`: the newest of each reason, so that a loud one hides no other. Throws the Faults of the ClickHouse client.
 */
export const readOwnerDrops = async (
  clickhouse: Clickhouse,
  owner: UsageOwner,
  since: number,
  limit: number,
  isOnePerReason = false,
): Promise<Drop[]> => {
  const isPush = owner.dataId !== 0;
  const filter = isPush ? { dataId: owner.dataId, since } : { appId: owner.appId, since };
  const [own, without] = await Promise.all([
    readDrops(clickhouse, filter, limit, undefined, isOnePerReason),
    isPush ? readDrops(clickhouse, { dataId: 0, since }, unnamedMax, undefined) : undefined,
  ]);
  const named = (without?.items ?? []).filter(
    (drop) => authorisationReasons.has(drop.reason) && isOfOwner(drop, owner),
  );
  const found = [...own.items, ...named].toSorted((left, right) => right.at - left.at);
  const reasons = new Set<string>();
  const isFirst = ({ reason }: Drop): boolean => reasons.size < reasons.add(reason).size;
  return (isOnePerReason ? found.filter(isFirst) : found).slice(0, limit);
};
