import { setTimeout as delay } from 'node:timers/promises';
import { applicationPipelines, ownerIds, type Pipeline } from '../model/signals.ts';
import { dayMs, firstKeptDay } from '../model/time.ts';
import { ledgerTables } from '../outcomes/rows.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { partDaysMax } from '../wire/part-days.ts';
import {
  compareDay,
  type Difference,
  type DifferenceKind,
  isSame,
  needsDistinct,
  noRows,
  type RowSum,
  type SettledRows,
} from './day-difference.ts';
import {
  type OwnerStore,
  readApplicationStores,
  readPointStores,
  type StoreTargets,
  type Unknown,
} from './owner-stores.ts';
import { readRepeatedRows, repeatedMax, sumOfSlices } from './repeated-rows.ts';
import {
  type DayFilter,
  readNamedRows,
  readRetentionDays,
  readSettledDays,
  type SettledDays,
} from './settled-days.ts';
import { SteadyComparison, storeDayName } from './steady-comparison.ts';

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
  /** More rows may differ: the day is written to. */
  readonly isAtLeast?: boolean;
  /** Not known, because the store refuses to read the rows of the day. */
  readonly isUnread?: boolean;
  /** Unread at one look so far: it may pass. */
  readonly isFirst?: boolean;
};

export type StoreComparison = {
  readonly differences: readonly StoreDifference[];
  /** Days on which records or rows were on their way in every round. */
  readonly inFlight: readonly Place[];
  /** Days that are written to, and of which all but the newest rows were compared. */
  readonly steady: readonly Place[];
  /** Owners with a day that was compared. */
  readonly owners: readonly Omit<Place, 'day'>[];
  /** Owners and days that were compared, and their recorded rows. */
  readonly compared: { readonly days: number; readonly rows: number };
};

const roundsMax = 3;
const confirmingRoundsMax = 2;
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

/** The difference of an owner, or of a day of it, whose rows cannot be read. */
export const notKnownOf = ({ pipeline, owner, why, day }: Unknown): StoreDifference => ({
  ...placeOf(pipeline, owner, day),
  ...{ kind: 'not_known', items: 0, why, isUnread: day !== undefined },
});

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
      .filter((day) => store.unread?.has(day) !== true)
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

const namelessWhy = `records do not name the days of their rows: of messages with more than ${partDaysMax} event days, or of an earlier program`;
const repeatedWhy = `more than ${repeatedMax} requests were repeated after the duplicate window with another outcome, or they could not be read: their rows cannot be distinguished from unrecorded rows`;

const differencesOf = (
  { store: { pipeline, owner }, day }: Candidate,
  differences: readonly Difference[],
  isAtLeast: boolean,
  whyUnknown = namelessWhy,
): StoreDifference[] =>
  differences.map(({ kind, rows }) => ({
    ...placeOf(pipeline, owner, day),
    ...{ kind, items: rows, isAtLeast },
    why: kind === 'not_known' ? whyUnknown : '',
  }));

/** Distinct uids of the days that need them, how many of their copies stay, and which of their rows an earlier try of a repeated request has stored. */
type Uids = {
  readonly distinct: ReadonlyMap<Candidate, RowSum>;
  readonly lastingCopies: ReadonlyMap<Candidate, number>;
  /** `undefined` for a day: too many requests. */
  readonly repeated: ReadonlyMap<Candidate, RowSum | undefined>;
};

const readUids = async (
  clickhouse: Clickhouse,
  candidates: readonly Candidate[],
  settledOfEach: (each: Candidate) => SettledRows,
): Promise<Uids> => {
  const distinct = new Map<Candidate, RowSum>();
  const lastingCopies = new Map<Candidate, number>();
  const repeated = new Map<Candidate, RowSum | undefined>();
  for (const each of candidates) {
    const [settled, rows] = [settledOfEach(each), rowsOf(each)];
    if (!needsDistinct(settled, rows)) continue;
    const uids = await each.store.distinct(each.day, rows.rows);
    distinct.set(each, uids);
    const copies = uids.rows < rows.rows ? await each.store.lastingCopies?.(each.day, rows.rows) : undefined;
    if (copies !== undefined) lastingCopies.set(each, copies);
    if (isSame(uids, settled.before)) continue;
    const slices = await readRepeatedRows(clickhouse, each.store, each.day);
    repeated.set(each, slices === undefined ? undefined : sumOfSlices(slices));
  }
  return { distinct, lastingCopies, repeated };
};

/** Reads the records again, and judges the days that seemed to differ. */
const judge = async (
  targets: StoreTargets,
  filter: DayFilter,
  before: SettledDays,
  candidates: readonly Candidate[],
  recordsFrom: number,
  steady: SteadyComparison,
): Promise<Verdicts> => {
  const { clickhouse, caughtUp } = targets;
  const verdicts: Verdicts = { differences: [], inFlight: [] };
  const settledBetween = (after: SettledDays, each: Candidate) => ({
    before: settledOf(before, each),
    after: settledOf(after, each),
    isUnknown: isUnknown(after, each),
  });
  const soon = await readSettledDays(clickhouse, filter);
  // Before the wait: of what is there without a record by then, every record comes.
  const { distinct, lastingCopies, repeated } = await readUids(clickhouse, candidates, (each) =>
    settledBetween(soon, each),
  );
  await steady.read(candidates.filter((each) => !isUnknown(before, each)));
  const isCaughtUp = await caughtUp(candidates.map(({ store }) => store));
  const after = await readSettledDays(clickhouse, filter);
  const expired = await readExpired(targets, candidates, after, recordsFrom);
  for (const each of candidates) {
    const { pipeline, owner, collapses } = each.store;
    const found = distinct.get(each);
    const store = { ...rowsOf(each), distinct: found, lastingCopies: lastingCopies.get(each) };
    const isTooMany = repeated.has(each) && repeated.get(each) === undefined;
    const between = settledBetween(after, each);
    const settled = {
      ...{ ...between, isUnknown: between.isUnknown || isTooMany },
      ...{ expired: expired.get(each) ?? 0, repeated: repeated.get(each) },
    };
    const isCaught = isCaughtUp(pipeline, owner);
    const result =
      found === undefined && needsDistinct(settled, store)
        ? ({ state: 'in_flight' } as const)
        : compareDay(settled, store, { isCaughtUp: isCaught, collapses });
    const differences = result.state === 'differs' ? result.differences : [];
    const isWritten = !isSame(settled.before, settled.after);
    if (result.state === 'in_flight' || (isWritten && steady.isRead(each) && !expired.has(each))) {
      verdicts.inFlight.push(each);
      if (!expired.has(each)) await steady.judge(each, isCaught, differences);
    } else
      verdicts.differences.push(
        ...differencesOf(each, differences, isWritten, between.isUnknown ? namelessWhy : repeatedWhy),
      );
  }
  return verdicts;
};

/** One round: records, stores, and for the days that seem to differ the records again. */
const compareOnce = async (
  targets: StoreTargets,
  filter: DayFilter,
  recordsFrom: number,
  steady: SteadyComparison,
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
      : await judge(targets, filter, before, differing, recordsFrom, steady);
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

/** Lets further rounds confirm what was found in slices. */
const confirm = async (
  { caughtUp, pause = usualPause }: StoreTargets,
  inFlight: readonly Candidate[],
  steady: SteadyComparison,
  rounds: number,
): Promise<void> => {
  for (let round = 0; round < rounds; round++) {
    const asking = inFlight.filter((each) => steady.isAsking(each));
    if (asking.length === 0) return;
    await pause();
    await steady.read(asking);
    const isCaughtUp = await caughtUp(asking.map(({ store }) => store));
    for (const each of asking)
      await steady.judge(each, isCaughtUp(each.store.pipeline, each.store.owner), []);
  }
};

/**
 * Compares what the records say that the stores have taken with what the stores hold, by owner and event day (architecture 10.2).
 * Days on which something is on its way are compared again, up to `rounds` times in all, and slices of days that are written to
 * until another reading has confirmed what differs. Left out: event days whose rows or records may have expired, and the owners that
 * `isLeftOut` names. Throws the Faults of ClickHouse; a QuestDB that does not answer makes its owners `not_known`.
 */
export const compareStores = async (
  targets: StoreTargets,
  filter: DayFilter = {},
  rounds = roundsMax,
): Promise<StoreComparison> => {
  const { clickhouse, now = Date.now, pause = usualPause } = targets;
  const recordsFrom = firstKeptDay(now(), await readRetentionDays(clickhouse, ledgerTables.outcomes));
  const steady = new SteadyComparison(clickhouse, now());
  const first = await compareOnce(targets, filter, recordsFrom, steady);
  const differences = [...first.differences];
  let { inFlight } = first;
  const isOpen = (): boolean => inFlight.some((each) => !steady.isWhole(each));
  for (let round = 1; round < rounds && isOpen(); round++) {
    await pause();
    const again = new Set(inFlight.map(storeDayName));
    const isAgain = ({ pipeline, dataId, appId, day }: Place): boolean =>
      again.has(`${pipeline} ${dataId || appId} ${day}`);
    const days = [...new Set(inFlight.map(({ day }) => day))];
    const next = await compareOnce(targets, { ...filter, days }, recordsFrom, steady);
    differences.push(...next.differences.filter(isAgain));
    const isUnknownNow = (each: Candidate): boolean =>
      next.unknown.some(
        ({ pipeline, owner, day = each.day }) =>
          pipeline === each.store.pipeline && owner === each.store.owner && day === each.day,
      );
    inFlight = [
      ...inFlight.filter(isUnknownNow),
      ...next.inFlight.filter(({ store, day }) => isAgain(placeOf(store.pipeline, store.owner, day))),
    ];
  }
  await confirm(targets, inFlight, steady, confirmingRoundsMax);
  const ofSteady = inFlight.flatMap((each) =>
    differencesOf(each, steady.differences(each), true, repeatedWhy),
  );
  const placed = ({ store, day }: Candidate): Place => placeOf(store.pipeline, store.owner, day);
  return {
    differences: [...first.unknown.map(notKnownOf), ...differences, ...ofSteady],
    inFlight: inFlight.filter((each) => !steady.isWhole(each)).map(placed),
    steady: inFlight.filter((each) => steady.isWhole(each)).map(placed),
    owners: first.owners,
    compared: first.compared,
  };
};
