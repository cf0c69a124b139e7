import { type Pipeline, pipelines } from '../model/signals.ts';
import { dayMs } from '../model/time.ts';
import { readApplicationDays } from './application-rows.ts';
import { isSame, noRows } from './day-difference.ts';
import {
  dayKey,
  type FirstDay,
  firstDayOf,
  readFirstDays,
  readStoreSizes,
  type SeenDay,
  type StoreSizes,
  seenDays,
} from './days-to-compare.ts';
import type { Owner } from './difference.ts';
import { ownerText } from './explain-losses.ts';
import { refusedOwner, type StoreTargets } from './owner-stores.ts';
import type { DayFilter, SettledDays } from './settled-days.ts';
import { compareStores, notKnownOf, type StoreDifference, usualPause } from './store-compare.ts';
import { type Compared, isUnread, keysOf, type StorePlace } from './store-findings.ts';
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

/** Owners that are not known, and of those whose table QuestDB refuses to read also each day that lines have named. */
const unknownIn = (
  { unknown, refused }: StoreSizes,
  named: SettledDays,
  firstDay: FirstDay,
): StoreDifference[] =>
  [...unknown]
    .flatMap(([owner, why]) =>
      refused.has(owner)
        ? refusedOwner(owner, why, {}, named, firstDay('metrics', owner))
        : [{ pipeline: 'metrics', owner, why } as const],
    )
    .map(notKnownOf);

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
  read: all.flatMap(({ compared, read = compared }) => read),
});

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
    // What is repaired, or passes, is to show at the next look.
    for (const key of result.differences.filter(isUnread).flatMap(keysOf)) open.add(key);
    for (const key of [...result.inFlight, ...result.steady].flatMap(keysOf)) written.add(key);
    differences.push(...result.differences);
    for (const day of days) compared.push({ pipeline, owner, day });
  }
  return {
    differences,
    compared: compared.filter((place) => !written.has(dayKey(place))),
    read: compared,
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
      // Those of a table that is refused are new once it can be read, so that they are read soon.
      const away = new Set([...sizes.unknown.keys()].filter((each) => !sizes.refused.has(each)));
      const { due, resting, isNextSoon } = days.next(seenDays(named, sizes, firstDay), away);
      const readable = withoutUnknown(now, sizes);
      const waitedBeforeMs = waitedMs();
      const readSince = performance.now();
      const { settled, ...ofDue } = await compareDue(readable, due);
      const workMs = (): number => performance.now() - readSince - (waitedMs() - waitedBeforeMs);
      const dueMs = workMs();
      const found: Compared[] = [{ differences: unknownIn(sizes, named, firstDay), compared: [] }, ofDue];
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
