import { setTimeout as delay } from 'node:timers/promises';
import { errorText } from '../model/fault.ts';
import { type ApplicationPipeline, applicationPipelines, ownerIds, type Pipeline } from '../model/signals.ts';
import { dayMs, firstKeptDay } from '../model/time.ts';
import { ledgerTables } from '../outcomes/rows.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { readApplicationDays, readDistinctRows } from './application-rows.ts';
import type { CaughtUp } from './caught-up.ts';
import { compareDay, type DifferenceKind, needsDistinct, noRows, type RowSum } from './day-difference.ts';
import {
  type PointsTable,
  readDistinctPoints,
  readPointDays,
  readPointsStore,
  whyUnknown,
} from './point-rows.ts';
import {
  type DayFilter,
  readItemsFrom,
  readNamedRows,
  readRetentionDays,
  readSettledDays,
  type SettledDays,
} from './settled-days.ts';

/** Where the rows and their records are. */
export type StoreTargets = {
  readonly clickhouse: Clickhouse;
  /** The tables of the data ids whose rows are kept: neither deleted nor purged. */
  readonly points: readonly PointsTable[];
  /** Owners that are purged or deleted, or otherwise no matter of this account. */
  readonly isLeftOut: (pipeline: Pipeline, owner: number) => boolean;
  /** Waits for what is on its way to these owners, and says of whom all is recorded. */
  readonly caughtUp: CaughtUp;
  /** The first event day whose rows no policy of the owner can have removed; without it none has removed any. */
  readonly keptFrom?: (pipeline: Pipeline, owner: number) => number;
  /** How far ahead of their arrival items of the owner may be, ms; undefined: there is no bound. Without it the bound is small. */
  readonly aheadMsMax?: (pipeline: Pipeline, owner: number) => number | undefined;
  readonly now?: () => number;
  /** Between two rounds, for what is in flight. */
  readonly pause?: () => Promise<void>;
};

/** An owner and event day. */
export type Place = {
  readonly pipeline: Pipeline;
  /** 0 for an application. */
  readonly dataId: number;
  /** 0 for points. */
  readonly appId: number;
  /** Days since 1970; undefined for all days of an owner. */
  readonly day: number | undefined;
};

/**
 * A difference between the records and the store. `items` are rows, the fewest that explain the counts: in a split table one per metric.
 */
export type StoreDifference = Place & {
  readonly kind: DifferenceKind;
  readonly items: number;
  /** Why it is not known; else empty. */
  readonly why: string;
};

export type StoreComparison = {
  readonly differences: readonly StoreDifference[];
  /** Days on which records or rows were on their way in every round. */
  readonly inFlight: readonly Place[];
  /** Owners with a day that was compared. */
  readonly owners: readonly Omit<Place, 'day'>[];
  /** Owners and days that were compared, and their recorded rows. */
  readonly compared: { readonly days: number; readonly rows: number };
};

/** The rows of one owner in its store. */
type OwnerStore = {
  readonly pipeline: Pipeline;
  readonly owner: number;
  readonly collapses: boolean;
  readonly days: ReadonlyMap<number, RowSum>;
  /** Event days before this one are not compared: their rows or records may have expired. */
  readonly dayFirst: number;
  readonly distinct: (day: number, rows: number) => Promise<RowSum>;
};

type Unknown = { readonly pipeline: Pipeline; readonly owner: number; readonly why: string };
type Stores = { readonly known: readonly OwnerStore[]; readonly unknown: readonly Unknown[] };

const roundsMax = 3;
const pauseMs = 2_000;
/** Between two rounds, where the targets name no other. */
export const usualPause = (): Promise<void> => delay(pauseMs);

const ownerOf = (pipeline: Pipeline, owner: number): Omit<Place, 'day'> => ({
  pipeline,
  ...ownerIds(pipeline, owner),
});

const placeOf = (pipeline: Pipeline, owner: number, day: number | undefined): Place => ({
  ...ownerOf(pipeline, owner),
  day,
});

const isWanted = ({ pipeline, owner }: DayFilter, ofPipeline: Pipeline, ofOwner?: number): boolean =>
  (pipeline === undefined || pipeline === ofPipeline) &&
  (owner === undefined || ofOwner === undefined || owner === ofOwner);

const readPointStores = async (
  { points, isLeftOut, keptFrom, now = Date.now }: StoreTargets,
  filter: DayFilter,
  settled: SettledDays,
  recordsFrom: number,
): Promise<Stores> => {
  if (!isWanted(filter, 'metrics')) return { known: [], unknown: [] };
  const known: OwnerStore[] = [];
  const unknown: Unknown[] = [];
  const pipeline = 'metrics';
  const wanted = points.filter(
    ({ dataId }) => isWanted(filter, pipeline, dataId) && !isLeftOut(pipeline, dataId),
  );
  for (const [sql, tables] of Map.groupBy(wanted, (each) => each.sql)) {
    try {
      const store = await readPointsStore(sql, new Set(tables.map(({ table }) => table)));
      for (const each of tables) {
        const { dataId: owner, table } = each;
        const state = store.states.get(table);
        const why = whyUnknown(state);
        if (why !== undefined) {
          unknown.push({ pipeline, owner, why });
          continue;
        }
        known.push({
          ...{ pipeline, owner, collapses: false },
          days: state === undefined ? new Map() : await readPointDays(each, filter.days),
          dayFirst: Math.max(
            recordsFrom,
            firstKeptDay(now(), store.ttls.get(table)),
            keptFrom?.(pipeline, owner) ?? 0,
          ),
          distinct: (day, rows) =>
            state === undefined ? Promise.resolve(noRows) : readDistinctPoints(each, day, rows),
        });
      }
    } catch (error) {
      const done = new Set([...known, ...unknown].map(({ owner }) => owner));
      for (const { dataId: owner } of tables)
        if (!done.has(owner)) unknown.push({ pipeline, owner, why: errorText(error) });
    }
  }
  const named = new Set(points.map(({ dataId }) => dataId));
  for (const owner of settled.get(pipeline)?.keys() ?? [])
    if (!named.has(owner) && !isLeftOut(pipeline, owner))
      unknown.push({ pipeline, owner, why: 'no table is known' });
  return { known, unknown };
};

const readApplicationStores = async (
  pipeline: ApplicationPipeline,
  { clickhouse, isLeftOut, keptFrom, now = Date.now }: StoreTargets,
  filter: DayFilter,
  settled: SettledDays,
  recordsFrom: number,
): Promise<Stores> => {
  if (!isWanted(filter, pipeline)) return { known: [], unknown: [] };
  const stored = await readApplicationDays(clickhouse, pipeline, filter.owner, filter.days);
  const from = Math.max(recordsFrom, await readItemsFrom(clickhouse, pipeline, now()));
  const owners = new Set([...stored.keys(), ...(settled.get(pipeline)?.keys() ?? [])]);
  const known = [...owners]
    .toSorted((a, b) => a - b)
    .filter((owner) => !isLeftOut(pipeline, owner))
    .map((owner) => ({
      ...({ pipeline, owner, collapses: true } as const),
      dayFirst: Math.max(from, keptFrom?.(pipeline, owner) ?? 0),
      days: stored.get(owner) ?? new Map<number, RowSum>(),
      distinct: (day: number, rows: number) => readDistinctRows(clickhouse, pipeline, owner, day, rows),
    }));
  return { known, unknown: [] };
};

type Candidate = { readonly store: OwnerStore; readonly day: number };

const settledOf = (settled: SettledDays, { store, day }: Candidate): RowSum =>
  settled.get(store.pipeline)?.get(store.owner)?.days.get(day) ?? noRows;

/** A record arrives at most a day before the event day of its rows: only later days have no row that such a record may stand for. */
const isUnknown = (settled: SettledDays, { store, day }: Candidate): boolean => {
  const until = settled.get(store.pipeline)?.get(store.owner)?.unknownUntil;
  return until !== undefined && day <= until + 1;
};

const candidatesOf = (
  stores: readonly OwnerStore[],
  settled: SettledDays,
  { days }: DayFilter,
): Candidate[] =>
  stores.flatMap((store) => {
    const own = new Set([
      ...store.days.keys(),
      ...(settled.get(store.pipeline)?.get(store.owner)?.days.keys() ?? []),
    ]);
    return [...own]
      .filter((day) => day >= store.dayFirst && (days === undefined || days.includes(day)))
      .toSorted((a, b) => a - b)
      .map((day) => ({ store, day }));
  });

const rowsOf = ({ store, day }: Candidate): RowSum => store.days.get(day) ?? noRows;

type Verdicts = { readonly differences: StoreDifference[]; readonly inFlight: Candidate[] };

/**
 * Of each day whose records may have arrived before those that are kept: the rows that lines have named and no record does any more. An
 * item ahead of its arrival has its record before its day, so the record may expire first.
 */
const readExpired = async (
  { clickhouse, aheadMsMax, now = Date.now }: StoreTargets,
  candidates: readonly Candidate[],
  settled: SettledDays,
  recordsFrom: number,
): Promise<Map<Candidate, number>> => {
  const tomorrow = Math.floor(now() / dayMs) + 1;
  const mayBeNamedBefore = ({ store: { pipeline, owner }, day }: Candidate): boolean => {
    const aheadMs = aheadMsMax === undefined ? 0 : (aheadMsMax(pipeline, owner) ?? Number.POSITIVE_INFINITY);
    return recordsFrom > 0 && (day > tomorrow || day < recordsFrom + aheadMs / dayMs);
  };
  const expired = new Map<Candidate, number>();
  const some = candidates.filter(mayBeNamedBefore);
  for (const [pipeline, each] of Map.groupBy(some, ({ store }) => store.pipeline)) {
    const days = [...new Set(each.map(({ day }) => day))];
    const named = await readNamedRows(clickhouse, pipeline, days);
    for (const candidate of each) {
      const rows = named.get(`${candidate.store.owner} ${candidate.day}`) ?? 0;
      expired.set(candidate, Math.max(0, rows - settledOf(settled, candidate).rows));
    }
  }
  return expired;
};

/** Reads the records again, and judges the days that seemed to differ. */
const judge = async (
  targets: StoreTargets,
  filter: DayFilter,
  before: SettledDays,
  candidates: readonly Candidate[],
  recordsFrom: number,
): Promise<Verdicts> => {
  const { clickhouse, caughtUp } = targets;
  const verdicts: Verdicts = { differences: [], inFlight: [] };
  const settledBetween = (after: SettledDays, each: Candidate) => ({
    before: settledOf(before, each),
    after: settledOf(after, each),
    isUnknown: isUnknown(after, each),
  });
  const soon = await readSettledDays(clickhouse, filter);
  const distinct = new Map<Candidate, RowSum>();
  for (const each of candidates) {
    const rows = rowsOf(each);
    if (needsDistinct(settledBetween(soon, each), rows))
      distinct.set(each, await each.store.distinct(each.day, rows.rows));
  }
  const isCaughtUp = await caughtUp(candidates.map(({ store }) => store));
  const after = await readSettledDays(clickhouse, filter);
  const expired = await readExpired(targets, candidates, after, recordsFrom);
  for (const each of candidates) {
    const { pipeline, owner, collapses } = each.store;
    const found = distinct.get(each);
    const store = { ...rowsOf(each), ...(found === undefined ? {} : { distinct: found }) };
    const settled = { ...settledBetween(after, each), expired: expired.get(each) ?? 0 };
    const result =
      found === undefined && needsDistinct(settled, store)
        ? ({ state: 'in_flight' } as const)
        : compareDay(settled, store, { isCaughtUp: isCaughtUp(pipeline, owner), collapses });
    if (result.state === 'in_flight') verdicts.inFlight.push(each);
    if (result.state !== 'differs') continue;
    for (const { kind, rows } of result.differences)
      verdicts.differences.push({
        ...placeOf(pipeline, owner, each.day),
        ...{ kind, items: rows },
        why: kind === 'not_known' ? 'records of an earlier program do not name the days of their rows' : '',
      });
  }
  return verdicts;
};

/** One round: records, stores, and for the days that seem to differ the records again. */
const compareOnce = async (
  targets: StoreTargets,
  filter: DayFilter,
  recordsFrom: number,
): Promise<
  Verdicts & Pick<StoreComparison, 'compared' | 'owners'> & { readonly unknown: readonly Unknown[] }
> => {
  const before = await readSettledDays(targets.clickhouse, filter);
  const points = await readPointStores(targets, filter, before, recordsFrom);
  const stores = [points];
  for (const pipeline of applicationPipelines)
    stores.push(await readApplicationStores(pipeline, targets, filter, before, recordsFrom));
  const all = candidatesOf(
    stores.flatMap(({ known }) => known),
    before,
    filter,
  );
  const differing = all.filter((each) => {
    const [settled, stored] = [settledOf(before, each), rowsOf(each)];
    return settled.rows !== stored.rows || settled.sum !== stored.sum;
  });
  const verdicts: Verdicts =
    differing.length === 0
      ? { differences: [], inFlight: [] }
      : await judge(targets, filter, before, differing, recordsFrom);
  const rows = all.reduce((sum, each) => sum + settledOf(before, each).rows, 0);
  return {
    ...verdicts,
    unknown: stores.flatMap(({ unknown }) => unknown),
    owners: [...new Set(all.map(({ store }) => store))].map(({ pipeline, owner }) =>
      ownerOf(pipeline, owner),
    ),
    compared: { days: all.length, rows },
  };
};

/**
 * Compares what the records say that the stores have taken with what the stores hold, by owner and event day (architecture 10.2).
 * Days on which something is on its way are compared again, up to `rounds` times in all. Left out: event days whose rows or records may have
 * expired, and the owners that `isLeftOut` names. Throws the Faults of ClickHouse; a QuestDB that does not answer makes its owners
 * `not_known`.
 */
export const compareStores = async (
  targets: StoreTargets,
  filter: DayFilter = {},
  rounds = roundsMax,
): Promise<StoreComparison> => {
  const { clickhouse, now = Date.now, pause = usualPause } = targets;
  const recordsFrom = firstKeptDay(now(), await readRetentionDays(clickhouse, ledgerTables.outcomes));
  const first = await compareOnce(targets, filter, recordsFrom);
  const differences = [...first.differences];
  let { inFlight } = first;
  for (let round = 1; round < rounds && inFlight.length > 0; round++) {
    await pause();
    const again = new Set(inFlight.map(({ store, day }) => `${store.pipeline} ${store.owner} ${day}`));
    const isAgain = ({ pipeline, dataId, appId, day }: Place): boolean =>
      again.has(`${pipeline} ${dataId || appId} ${day}`);
    const days = [...new Set(inFlight.map(({ day }) => day))];
    const next = await compareOnce(targets, { ...filter, days }, recordsFrom);
    differences.push(...next.differences.filter(isAgain));
    const isUnknownNow = ({ store }: Candidate): boolean =>
      next.unknown.some(({ pipeline, owner }) => pipeline === store.pipeline && owner === store.owner);
    inFlight = [
      ...inFlight.filter(isUnknownNow),
      ...next.inFlight.filter(({ store, day }) => isAgain(placeOf(store.pipeline, store.owner, day))),
    ];
  }
  const notKnown = first.unknown.map(
    ({ pipeline, owner, why }): StoreDifference => ({
      ...placeOf(pipeline, owner, undefined),
      ...{ kind: 'not_known', items: 0, why },
    }),
  );
  return {
    differences: [...notKnown, ...differences],
    inFlight: inFlight.map(({ store, day }) => placeOf(store.pipeline, store.owner, day)),
    owners: first.owners,
    compared: first.compared,
  };
};
