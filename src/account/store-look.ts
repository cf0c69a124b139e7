import { ownerIds, type Pipeline, pipelines } from '../model/signals.ts';
import { secondsMax } from '../outcomes/times.ts';
import { readApplicationDays } from './application-rows.ts';
import { isSame, noRows } from './day-difference.ts';
import {
  dayKey,
  firstDayOf,
  readFirstDays,
  readStoreSizes,
  type SeenDay,
  type StoreSizes,
  seenDays,
} from './days-to-compare.ts';
import { type Difference, isOfStore, type Owner, streamOfStore } from './difference.ts';
import { mergeEqual, ownerText } from './explain-losses.ts';
import type { FoundDifferences } from './found.ts';
import { namedByBooks } from './named-rows.ts';
import type { StoreTargets } from './owner-stores.ts';
import type { DayFilter, SettledDays } from './settled-days.ts';
import { compareStores, type Place, type StoreDifference, usualPause } from './store-compare.ts';
import { readNamedDays, readUnrecordedDays } from './unrecorded-days.ts';
import { createWatchedDays } from './watched-days.ts';

/** Compares the stores with the records at a bounded cost: sizes of partitions first, and row by row only what they do not explain. */
export type StoreLook = {
  /**
   * Compares the days that have changed or differ, and in turn the others. Throws the Faults of ClickHouse; what a QuestDB that does not
   * answer holds is `not_known`.
   */
  look(): Promise<StoreFindings>;
  /**
   * Rows that the stores have of each of these owners and no record names, of the last days and of older ones that seem to have some, by
   * `ownerText` and event day; read at most 20 s ago. Throws the Faults of ClickHouse.
   */
  unrecorded(owners: readonly Owner[]): Promise<UnrecordedRows>;
};

export type UnrecordedRows = {
  readonly rows: ReadonlyMap<string, ReadonlyMap<number, number>>;
  /** How long it only waited for what was on its way, ms. */
  readonly waitedMs: number;
};

/** An event day (days since 1970) of one owner, or of all owners of a signal (0). */
export type StorePlace = { readonly pipeline: Pipeline; readonly owner: number; readonly day: number };

/** What differs, and where it was looked for. A difference without a day says that the rows of its owner could not be read. */
export type Compared = {
  readonly differences: readonly StoreDifference[];
  /** What was compared row by row: what it had before and is not among the differences is gone. */
  readonly compared: readonly StorePlace[];
};

export type StoreFindings = Compared & {
  /** How long the look only waited for what was on its way, ms. */
  readonly waitedMs: number;
  /** How long it read rows, ms: of that it takes its share by itself, so that the sizes are looked at often however many rows there are. */
  readonly readMs: number;
  /** Whether an owner, or a day of it that has expired, is not compared any more: what differed there is no difference. */
  readonly isLeftOut: (pipeline: Pipeline, owner: number, day?: number) => boolean;
  /** A day is new, changes after it was quiet, or is to be read in a moment: the next look is to come soon. */
  readonly isNextSoon: boolean;
};

/** More owners than these are compared together: the records of all are read once. */
const ownersApartMax = 8;
const cachedMs = 20_000;
const dayMs = 86_400_000;

const today = (): number => Math.floor(Date.now() / dayMs);

/** What to compare in one call each: an owner with its days, or all owners of a signal. */
const callsOf = (days: readonly SeenDay[]): { pipeline: Pipeline; owner?: number; days: number[] }[] =>
  pipelines.flatMap((pipeline) => {
    const own = days.filter((each) => each.pipeline === pipeline);
    const owners = Map.groupBy(own, ({ owner }) => owner);
    const isTogether = owners.size > ownersApartMax || owners.has(0);
    if (own.length === 0) return [];
    if (isTogether) return [{ pipeline, days: [...new Set(own.map(({ day }) => day))] }];
    return [...owners].map(([owner, each]) => ({ pipeline, owner, days: each.map(({ day }) => day) }));
  });

/** The same targets, with a clock for the waits. */
const timed = (given: StoreTargets): { readonly targets: StoreTargets; readonly waitedMs: () => number } => {
  let waitedMs = 0;
  const waiting = async <T>(wait: () => Promise<T>): Promise<T> => {
    const since = performance.now();
    const result = await wait();
    waitedMs += performance.now() - since;
    return result;
  };
  const targets: StoreTargets = {
    ...given,
    caughtUp: (owners) => waiting(() => given.caughtUp(owners)),
    pause: () => waiting(given.pause ?? usualPause),
  };
  return { targets, waitedMs: () => waitedMs };
};

/** Owners of a signal, each by itself, or many of them in one call, which then takes the targets of `onlyOf`. */
const filtersOf = (pipeline: Pipeline, owners: ReadonlySet<number>): DayFilter[] =>
  owners.size > ownersApartMax ? [{ pipeline }] : [...owners].map((owner) => ({ pipeline, owner }));

/** The same targets without all other owners. */
const onlyOf = (targets: StoreTargets, owners: ReadonlySet<number>): StoreTargets => ({
  ...targets,
  isLeftOut: (pipeline, owner) => !owners.has(owner) || targets.isLeftOut(pipeline, owner),
});

/** The same targets without the data ids whose QuestDB did not answer just now: it would be waited for again. */
const withoutUnknown = (targets: StoreTargets, { unknown }: StoreSizes): StoreTargets => ({
  ...targets,
  points: targets.points.filter(({ dataId }) => !unknown.has(dataId)),
  isLeftOut: (pipeline, owner) =>
    targets.isLeftOut(pipeline, owner) || (pipeline === 'metrics' && unknown.has(owner)),
});

const unknownIn = ({ unknown }: StoreSizes): StoreDifference[] =>
  [...unknown].map(([dataId, why]) => ({
    ...{ pipeline: 'metrics', dataId, appId: 0, day: undefined, kind: 'not_known', items: 0, why },
  }));

const isUnread = (difference: StoreDifference): boolean => difference.isUnread === true;

type RowsByDay = ReadonlyMap<number, number>;
const noRowsByDay: RowsByDay = new Map();

/**
 * Rows without a record of the last days, and of older ones that seem to have some, by owner and event day. Each answer may wait for what
 * is on its way, under steady writing for a while: the owners wait together, and many of them for one reading of the signal.
 */
const countUnrecorded = async (
  targets: StoreTargets,
  pipeline: Pipeline,
  owners: readonly Owner[],
): Promise<Map<string, RowsByDay>> => {
  const asked = new Set(owners.map(({ dataId, appId }) => dataId || appId));
  const filters = filtersOf(pipeline, asked);
  const points = pipeline === 'metrics' ? targets.points.filter(({ dataId }) => asked.has(dataId)) : [];
  const sizes = await readStoreSizes(targets.clickhouse, points);
  const place = { pipeline, owners: asked, today: today() };
  const days = await readUnrecordedDays(targets.clickhouse, place, filters, sizes);
  const alone = onlyOf(withoutUnknown(targets, sizes), asked);
  const compared = await Promise.all(filters.map((each) => compareStores(alone, { ...each, days })));
  const rows = new Map<string, Map<number, number>>();
  for (const each of compared.flatMap(({ differences }) => differences)) {
    if (each.kind !== 'unrecorded' || each.day === undefined) continue;
    const days = rows.get(ownerText(each)) ?? new Map<number, number>();
    rows.set(ownerText(each), days.set(each.day, each.items + (days.get(each.day) ?? 0)));
  }
  return rows;
};

const nothingCompared: Compared = { differences: [], compared: [] };

const joined = (all: readonly Compared[]): Compared => ({
  differences: all.flatMap(({ differences }) => differences),
  compared: all.flatMap(({ compared }) => compared),
});

/** An owner on a day, and all owners of the signal on it. */
const keysOf = ({ pipeline, dataId, appId, day = 0 }: Place): string[] =>
  [dataId || appId, 0].map((owner) => dayKey({ pipeline, owner, day }));

/**
 * Compares these days. `settled` of them are those of which nothing was on its way, or only what came just now: the others are compared
 * again by a later look. Days that are written to take back nothing that was found before: it may be among their newest rows.
 */
const compareDue = async (
  targets: StoreTargets,
  due: readonly SeenDay[],
): Promise<Compared & { readonly settled: readonly SeenDay[] }> => {
  const [open, written] = [new Set<string>(), new Set<string>()];
  const differences: StoreDifference[] = [];
  const compared: StorePlace[] = [];
  for (const { pipeline, owner = 0, days } of callsOf(due)) {
    const result = await compareStores(
      targets,
      owner === 0 ? { pipeline, days } : { pipeline, owner, days },
      1,
    );
    const found = new Set(result.differences.filter((each) => !isUnread(each)).flatMap(keysOf));
    for (const key of result.inFlight.flatMap(keysOf)) if (!found.has(key)) open.add(key);
    for (const key of [...result.inFlight, ...result.steady].flatMap(keysOf)) written.add(key);
    differences.push(...result.differences);
    for (const day of days) compared.push({ pipeline, owner, day });
  }
  return {
    differences,
    compared: compared.filter((place) => !written.has(dayKey(place))),
    settled: due.filter((day) => !open.has(dayKey(day))),
  };
};

/**
 * Compares the applications of a day that rest while others are written to: those whose records are as they were a look ago. The records of
 * one are read only where its rows are not those that the lines name.
 */
const compareResting = async (
  targets: StoreTargets,
  { pipeline, day }: SeenDay,
  now: SettledDays,
  before: SettledDays,
): Promise<Compared> => {
  if (pipeline === 'metrics') return nothingCompared;
  const resting = [...(now.get(pipeline) ?? [])].flatMap(([owner, { days }]) => {
    const [named, last] = [days.get(day), before.get(pipeline)?.get(owner)?.days.get(day)];
    const isResting = named !== undefined && last !== undefined && isSame(named, last);
    return isResting && !targets.isLeftOut(pipeline, owner) ? [{ owner, named }] : [];
  });
  if (resting.length === 0) return nothingCompared;
  const stored = await readApplicationDays(targets.clickhouse, pipeline, undefined, [day]);
  const differing = new Set(
    resting.flatMap(({ owner, named }) =>
      isSame(named, stored.get(owner)?.get(day) ?? noRows) ? [] : [owner],
    ),
  );
  const differences: StoreDifference[] = [];
  const inFlight = new Set<number>();
  const alone = onlyOf(targets, differing);
  for (const filter of filtersOf(pipeline, differing)) {
    const result = await compareStores(alone, { ...filter, days: [day] }, 1);
    differences.push(...result.differences);
    for (const { appId } of result.inFlight) inFlight.add(appId);
  }
  const compared = [...differing].flatMap((owner) => (inFlight.has(owner) ? [] : [{ pipeline, owner, day }]));
  return { differences, compared };
};

export const createStoreLook = (targets: () => StoreTargets): StoreLook => {
  const cache = new Map<string, { readonly at: number; readonly rows: RowsByDay }>();
  const days = createWatchedDays({ today, elapsed: performance.now.bind(performance) });
  let namedBefore: SettledDays = new Map();

  return {
    look: async () => {
      const { targets: now, waitedMs } = timed(targets());
      const points = now.points.filter(({ dataId }) => !now.isLeftOut('metrics', dataId));
      const firstDays = await readFirstDays(now.clickhouse, Date.now());
      const named = await readNamedDays(now.clickhouse, Math.min(...firstDays.values()));
      const sizes = await readStoreSizes(now.clickhouse, points);
      const firstDay = firstDayOf(firstDays, sizes, now.keptFrom);
      const { due, resting, isNextSoon } = days.next(seenDays(named, sizes, firstDay), sizes.unknown);
      const readable = withoutUnknown(now, sizes);
      const waitedBeforeMs = waitedMs();
      const readSince = performance.now();
      const { settled, ...ofDue } = await compareDue(readable, due);
      const workMs = (): number => performance.now() - readSince - (waitedMs() - waitedBeforeMs);
      const dueMs = workMs();
      const found: Compared[] = [{ differences: unknownIn(sizes), compared: [] }, ofDue];
      for (const day of resting) found.push(await compareResting(readable, day, named, namedBefore));
      namedBefore = named;
      const readMs = workMs();
      days.compared(settled, dueMs, readMs - dueMs);
      const isLeftOut: StoreFindings['isLeftOut'] = (pipeline, owner, day) =>
        now.isLeftOut(pipeline, owner) || (day !== undefined && day < firstDay(pipeline, owner));
      const allWaitedMs = waitedMs() + sizes.waitedMs;
      return { ...joined(found), isLeftOut, waitedMs: allWaitedMs, readMs, isNextSoon };
    },
    unrecorded: async (owners) => {
      // Most looks have none.
      if (owners.length === 0) return { rows: new Map(), waitedMs: 0 };
      const since = performance.now();
      const isKnown = (owner: Owner): boolean =>
        since - (cache.get(ownerText(owner))?.at ?? Number.NEGATIVE_INFINITY) < cachedMs;
      const { targets: now, waitedMs } = timed(targets());
      const asked = Map.groupBy(
        owners.filter((owner) => !isKnown(owner)),
        ({ pipeline }) => pipeline,
      );
      for (const [pipeline, each] of asked) {
        const found = await countUnrecorded(now, pipeline, each);
        for (const owner of each)
          cache.set(ownerText(owner), {
            at: performance.now(),
            rows: found.get(ownerText(owner)) ?? noRowsByDay,
          });
      }
      const rows = new Map(
        owners.map((owner) => [ownerText(owner), cache.get(ownerText(owner))?.rows ?? noRowsByDay] as const),
      );
      for (const [owner, { at }] of cache) if (performance.now() - at >= cachedMs) cache.delete(owner);
      return { rows, waitedMs: waitedMs() };
    },
  };
};

const secondsOfDay = 86_400;
/** The last event day that a difference can name, 2106-02-07: what differs on later ones stands under it. */
const lastDay = Math.floor(secondsMax / secondsOfDay);

const nameable = <P extends { readonly day?: number | undefined }>(place: P): P =>
  place.day === undefined || place.day <= lastDay ? place : { ...place, day: lastDay };

const placesOf = ({ pipeline, dataId, appId, day }: StoreDifference): StorePlace[] =>
  day === undefined ? [] : [{ pipeline, owner: dataId || appId, day }];

/** An owner without a day says that nothing of it could be read, one with a day that this one could not. */
const unreadIn = (differences: readonly StoreDifference[]): ((place: StorePlace) => boolean) => {
  const owners = new Set(differences.filter(({ day }) => day === undefined).map(ownerText));
  const days = new Set(differences.filter(isUnread).flatMap(placesOf).map(dayKey));
  return (place) => {
    const { pipeline, owner } = place;
    return days.has(dayKey(place)) || owners.has(ownerText({ pipeline, ...ownerIds(pipeline, owner) }));
  };
};

/**
 * Whether a place differs, or was compared: by itself, or its day for all owners of the signal whose rows could be read. Of the others
 * stands what was found before.
 */
const isAmong = ({ compared, differences }: Compared): ((place: StorePlace) => boolean) => {
  const differing = new Set(
    differences
      .filter((each) => !isUnread(each))
      .flatMap(placesOf)
      .map(dayKey),
  );
  const places = new Set(compared.map(dayKey));
  const isUnreadNow = unreadIn(differences);
  return (place) => {
    const { pipeline, owner, day } = place;
    if (differing.has(dayKey(place))) return true;
    if (isUnreadNow(place)) return false;
    return [owner, 0].some((each) => places.has(dayKey({ pipeline, owner: each, day })));
  };
};

const kindKey = (each: StoreDifference): string => `${keysOf(each)[0]} ${each.kind}`;

/**
 * What differs after another look: of the days that it did not compare, what was found before stands. Of a day of which it compared a part,
 * the larger figure.
 */
export const mergeFindings = (before: readonly StoreDifference[], now: Compared): StoreDifference[] => {
  const isCompared = isAmong(now);
  const parts = new Set(now.differences.filter(({ isAtLeast }) => isAtLeast).flatMap(keysOf));
  const figures = new Map(now.differences.map((each) => [kindKey(each), each.items]));
  const isStanding = (each: StoreDifference): boolean => {
    const [place] = placesOf(each);
    if (place === undefined) return false;
    return parts.has(dayKey(place)) ? each.items > (figures.get(kindKey(each)) ?? 0) : !isCompared(place);
  };
  const standing = before.filter(isStanding);
  const larger = new Set(standing.map(kindKey));
  return [...standing, ...now.differences.filter((each) => !larger.has(kindKey(each)))];
};

/**
 * Adds what looks at the stores found. Rows whose missing line the books have noticed already are not named twice (`byStore`: by stream and
 * minute, those of minutes that this process compared); a day that is not known for its records is no difference, one whose rows cannot be
 * read is.
 */
export const addStoreFindings = async (
  found: FoundDifferences,
  { differences, compared }: Compared,
  byStore: ReadonlyMap<string, ReadonlyMap<string, number>>,
  isLeftOut: StoreFindings['isLeftOut'] = () => false,
): Promise<void> => {
  const named = namedByBooks(found.all, byStore);
  const now = differences.map(nameable).flatMap((each): Difference[] => {
    const { pipeline, dataId, appId, day, kind, items } = each;
    if (day === undefined || (kind === 'not_known' && !isUnread(each))) return [];
    const owner = ownerText({ pipeline, dataId, appId });
    const known = kind === 'unrecorded' ? Math.min(items, named.get(owner) ?? 0) : 0;
    named.set(owner, (named.get(owner) ?? 0) - known);
    if (items === known && !isUnread(each)) return [];
    const stream = streamOfStore(pipeline);
    const minute = day * secondsOfDay;
    return [{ pipeline, dataId, appId, kind, stream, minute, items: items - known, messages: 0 }];
  });
  const isInScope = isAmong({ compared: compared.map(nameable), differences: differences.map(nameable) });
  const isCompared = ({ pipeline, dataId, appId, minute }: Difference): boolean =>
    isLeftOut(pipeline, dataId || appId, minute / secondsOfDay) ||
    isInScope({ pipeline, owner: dataId || appId, day: minute / secondsOfDay });
  await found.replace((each) => isOfStore(each) && isCompared(each), mergeEqual(now));
};
