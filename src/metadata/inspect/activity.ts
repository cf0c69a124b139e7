import { type Account, readOwnerAccounts } from '../../account/accounts.ts';
import { readRegistry } from '../../directory/column-registry.ts';
import { explain } from '../../model/reasons.ts';
import { sumOf } from '../../model/sums.ts';
import { type LastRequest, readLastStored, readOwnerDrops } from '../../outcomes/arrivals.ts';
import type { Drop } from '../../outcomes/drops.ts';
import { readUsage, type UsageOwner } from '../../outcomes/usage.ts';
import type { Clickhouse } from '../../stores/clickhouse/client.ts';
import type { Records } from '../records/store.ts';
import { capOf, type PolicyDefaults, showSourcePolicy } from '../reports/policies.ts';
import type { Arrivals, Arrived } from './arrivals.ts';

/** A minute of arrival; its numbers are those of the account. */
export type Minute = {
  readonly at: number;
  readonly received: number;
  readonly stored: number;
  readonly dropped: number;
  readonly dead_lettered: number;
  readonly repeated: number;
  readonly lost: number;
  readonly stuck: number;
  readonly unrecorded: number;
  readonly refused_requests: number;
  readonly repeated_requests: number;
  readonly values_lost: number;
};

const minuteSeconds = 60;
/** An owner that sent within this time still sends. */
const recentSeconds = 300;
const refusalsMax = 20;
/** More than there are. */
const reasonsMax = 1_000;

/** The accounts of an owner in a minute together: an application has one for each of its signals. */
export const minuteOf = (at: number, accounts: readonly Account[]): Minute => {
  const refusals = accounts.flatMap((account) => account.refusals);
  const requestsOf = (wanted: 'refused' | 'duplicate'): number =>
    sumOf(refusals.flatMap(({ kind, requests }) => (kind === wanted ? [requests] : [])));
  return {
    at,
    received: sumOf(accounts.map(({ received }) => received)),
    stored: sumOf(accounts.map(({ stored }) => stored)),
    dropped: sumOf(accounts.flatMap(({ dropped }) => Object.values(dropped))),
    dead_lettered: sumOf(accounts.map(({ deadLettered }) => deadLettered)),
    repeated: sumOf(accounts.map(({ repeated }) => repeated)),
    lost: sumOf(accounts.map(({ lost }) => lost)),
    stuck: sumOf(accounts.map(({ stuck }) => stuck)),
    unrecorded: sumOf(accounts.map(({ unrecorded }) => unrecorded)),
    refused_requests: requestsOf('refused'),
    repeated_requests: requestsOf('duplicate'),
    values_lost: sumOf(refusals.flatMap(({ kind, items }) => (kind === 'value_lost' ? [items] : []))),
  };
};

/** The last `count` minutes up to now, the oldest first; those without an item, too. Throws the Faults of the ClickHouse client. */
export const readMinutes = async (
  clickhouse: Clickhouse,
  { dataId, appId }: UsageOwner,
  nowMs: number,
  count: number,
): Promise<Minute[]> => {
  if (count === 0) return [];
  const last = Math.floor(nowMs / 1000 / minuteSeconds) * minuteSeconds;
  const first = last - (count - 1) * minuteSeconds;
  const filter = {
    ...(dataId === 0 ? { appId } : { dataId }),
    sinceMs: first * 1000,
    untilMs: (last + minuteSeconds) * 1000,
  };
  const found = await readOwnerAccounts(clickhouse, filter, 'minute', true);
  const accounts = Map.groupBy(found, ({ minute }) => minute);
  return Array.from({ length: count }, (_, index) => first + index * minuteSeconds).map((at) =>
    minuteOf(at, accounts.get(at) ?? []),
  );
};

type Sample = Pick<
  Drop,
  'at' | 'reason' | 'stage' | 'ordinal' | 'field' | 'value' | 'detail' | 'sender' | 'sdk'
>;

/** A sample, with what to do about it. `sampled` false: nothing but its reason and time is known. */
const refusalOf = (
  { at, reason, stage, ordinal, field, value, detail, sender, sdk }: Sample,
  sampled: boolean,
) => {
  const { meaning = '', remedy = '' } = explain(reason) ?? {};
  return { at, reason, stage, ordinal, field, value, detail, sender, sdk, sampled, meaning, remedy };
};

const unsampled = { ordinal: -1, field: '', value: '', detail: '', sender: '', sdk: '' };

type Refusal = ReturnType<typeof refusalOf>;

const sampleKey = ({ at, reason, ordinal, field, value }: Drop): string =>
  `${at} ${reason} ${ordinal} ${field} ${value}`;

const merged = (stored: readonly Drop[], { samples, reasons }: Arrived, since: number): Refusal[] => {
  const bySample = new Map([...samples, ...stored].map((drop) => [sampleKey(drop), drop]));
  const found = [...bySample.values()].filter(({ at }) => at >= since).map((drop) => refusalOf(drop, true));
  const known = new Set(found.map(({ reason }) => reason));
  for (const [reason, at] of reasons) {
    if (known.has(reason) || at < since) continue;
    found.push(refusalOf({ at, reason, stage: explain(reason)?.stage ?? '', ...unsampled }, false));
  }
  return found.toSorted((left, right) => right.at - left.at).slice(0, refusalsMax);
};

/** Whether an item was stored or refused since a time (Unix seconds), within about a second of its arrival; and the newest refusals. */
export const readWaiting = async (
  { clickhouse, arrivals }: { readonly clickhouse: Clickhouse; readonly arrivals: Arrivals },
  owner: UsageOwner,
  since: number,
) => {
  // Before the queries: what arrives while they run is in the one or the others.
  const arrived = await arrivals.watch(owner);
  const [storedAt, stored] = await Promise.all([
    arrived.storedAt !== undefined && arrived.storedAt >= since
      ? arrived.storedAt
      : readLastStored(clickhouse, owner, since),
    readOwnerDrops(clickhouse, owner, since, refusalsMax),
  ]);
  const refusals = merged(stored, arrived, since);
  const state = storedAt !== undefined ? 'stored' : refusals.length > 0 ? 'refused' : 'waiting';
  return { waiting: { since, state, stored_at: storedAt ?? null }, refusals };
};

/** The newest refusal of each reason since a time (Unix seconds). Throws the Faults of the ClickHouse client. */
export const readRefusals = async (
  clickhouse: Clickhouse,
  owner: UsageOwner,
  since: number,
): Promise<Refusal[]> =>
  (await readOwnerDrops(clickhouse, owner, since, reasonsMax, true)).map((drop) => refusalOf(drop, true));

/** What the owner does; all that a disabled one sends is refused. */
export const stateOf = (
  isEnabled: boolean,
  last: LastRequest | undefined,
  refusals: readonly Pick<Refusal, 'at'>[],
  now: number,
): 'disabled' | 'receiving' | 'refused' | 'silent' | 'never' => {
  if (!isEnabled) return 'disabled';
  if (last !== undefined && last.at > now - recentSeconds) return 'receiving';
  if ((refusals[0]?.at ?? 0) > now - recentSeconds) return 'refused';
  return last === undefined ? 'never' : 'silent';
};

/** A limit and how much of it is used; null: no limit, or not known. */
export type Limit = {
  readonly name: 'requests_per_second' | 'metric_columns' | 'dimension_columns';
  readonly limit: number | null;
  readonly used: number | null;
};

/** Requests per second that `max_rate` allows; null: no limit. */
const rateOf = (maxRate: number, maxRateDefault: number): number | null => {
  const rate = maxRate === -1 ? maxRateDefault : maxRate;
  return rate === 0 ? null : Math.max(0, rate);
};

const hourSeconds = 3_600;

type LimitDeps = {
  readonly clickhouse: Clickhouse;
  readonly records: Records;
  readonly policyDefaults: PolicyDefaults;
  readonly maxRateDefault: number;
};

/** The limits of an owner against its use: of requests in the busiest second of the last hour, of columns now. */
export const readLimits = async (
  { clickhouse, records, policyDefaults, maxRateDefault }: LimitDeps,
  { dataId, appId }: UsageOwner,
  now: number,
): Promise<Limit[]> => {
  const owners = { dataIds: dataId === 0 ? [] : [dataId], appIds: appId === 0 ? [] : [appId] };
  const [usage] = await readUsage(
    clickhouse,
    { since: now - hourSeconds, until: now + minuteSeconds, owners },
    'owner',
  );
  const maxRate =
    dataId === 0
      ? (await records.applications.get(appId))?.value.max_rate
      : (await records.groups.get(dataId))?.value.max_rate;
  const rate: Limit = {
    name: 'requests_per_second',
    limit: rateOf(maxRate ?? -1, maxRateDefault),
    used: usage?.secondMax ?? 0,
  };
  if (dataId === 0) return [rate];
  const { policy } = await showSourcePolicy(records, policyDefaults, dataId);
  const { metrics, dimensions } = await readRegistry(records.columns, dataId);
  return [
    rate,
    { name: 'metric_columns', limit: capOf(policy, 'metric_columns_max'), used: metrics.length },
    { name: 'dimension_columns', limit: capOf(policy, 'dimension_columns_max'), used: dimensions.length },
  ];
};
