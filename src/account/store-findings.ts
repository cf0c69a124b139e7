import { ownerIds, type Pipeline } from '../model/signals.ts';
import { daySeconds } from '../model/time.ts';
import { secondsMax } from '../outcomes/times.ts';
import { dayKey } from './days-to-compare.ts';
import { type Difference, isOfStore, streamOfStore } from './difference.ts';
import { mergeEqual, ownerText } from './explain-losses.ts';
import type { FoundDifferences } from './found.ts';
import { takeNamed } from './named-rows.ts';
import type { Place, StoreDifference } from './store-compare.ts';

/** An event day (days since 1970) of one owner, or of all owners of a signal (0). */
export type StorePlace = { readonly pipeline: Pipeline; readonly owner: number; readonly day: number };

/** What differs, and where it was looked for. A difference without a day says that the rows of its owner could not be read. */
export type Compared = {
  readonly differences: readonly StoreDifference[];
  /** What was compared row by row: what it had before and is not among the differences is gone. */
  readonly compared: readonly StorePlace[];
  /** What was read, also where it is written to: it is not unread any more. Without it, what was compared. */
  readonly read?: readonly StorePlace[] | undefined;
};

/** Whether the store refuses to read the rows. */
export const isUnread = (difference: StoreDifference): boolean => difference.isUnread === true;

/** An owner on a day, and all owners of the signal on it. */
export const keysOf = ({ pipeline, dataId, appId, day = 0 }: Place): string[] =>
  [dataId || appId, 0].map((owner) => dayKey({ pipeline, owner, day }));

/** The last event day that a difference can name, 2106-02-07: what differs on later ones stands under it. */
const lastDay = Math.floor(secondsMax / daySeconds);

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

/** Whether a place was read, and is not unread. */
const isReadIn = ({ compared, differences, read = compared }: Compared): ((place: StorePlace) => boolean) =>
  isAmong({
    compared: read,
    differences: differences.filter((each) => each.day === undefined || isUnread(each)),
  });

const kindKey = (each: StoreDifference): string => `${keysOf(each)[0]} ${each.kind}`;

/**
 * What differs after another look: of the days that it did not compare, what was found before stands. Of a day of which it compared a part,
 * the larger figure. What is unread for the first time is marked: a store that lacks files for a moment refuses, too.
 */
export const mergeFindings = (before: readonly StoreDifference[], now: Compared): StoreDifference[] => {
  const isCompared = isAmong(now);
  const parts = new Set(now.differences.filter(({ isAtLeast }) => isAtLeast).flatMap(keysOf));
  const figures = new Map(now.differences.map((each) => [kindKey(each), each.items]));
  const isRead = isReadIn(now);
  const isStanding = (each: StoreDifference): boolean => {
    const [place] = placesOf(each);
    if (place === undefined) return false;
    if (isUnread(each)) return !isRead(place) && !figures.has(kindKey(each));
    return parts.has(dayKey(place)) ? each.items > (figures.get(kindKey(each)) ?? 0) : !isCompared(place);
  };
  const standing = before.filter(isStanding);
  const larger = new Set(standing.map(kindKey));
  const unread = new Set(before.filter(isUnread).map(kindKey));
  const found = now.differences
    .filter((each) => !larger.has(kindKey(each)))
    .map((each) => (isUnread(each) && !unread.has(kindKey(each)) ? { ...each, isFirst: true } : each));
  return [...standing, ...found];
};

/**
 * Adds what looks at the stores found. Rows whose missing line the books have noticed already are not named twice (`byStore`: by stream and
 * minute, those of minutes that this process compared); a day that is not known for its records is no difference, one whose rows cannot be
 * read is.
 */
export const addStoreFindings = async (
  found: FoundDifferences,
  { differences, compared, read = compared }: Compared,
  byStore: ReadonlyMap<string, ReadonlyMap<string, number>>,
  isLeftOut: (pipeline: Pipeline, owner: number, day?: number) => boolean = () => false,
): Promise<void> => {
  const unrecorded = differences.filter(({ kind }) => kind === 'unrecorded');
  const named = takeNamed(unrecorded, found.all, byStore);
  const now = differences.flatMap((difference): Difference[] => {
    const each = nameable(difference);
    const { pipeline, dataId, appId, day, kind, items } = each;
    if (day === undefined || (kind === 'not_known' && (!isUnread(each) || each.isFirst))) return [];
    const known = named.get(difference) ?? 0;
    if (items === known && !isUnread(each)) return [];
    const stream = streamOfStore(pipeline);
    const minute = day * daySeconds;
    return [{ pipeline, dataId, appId, kind, stream, minute, items: items - known, messages: 0 }];
  });
  const all = {
    differences: differences.map(nameable),
    ...{ compared: compared.map(nameable), read: read.map(nameable) },
  };
  const [isInScope, isRead] = [isAmong(all), isReadIn(all)];
  const isCompared = ({ pipeline, dataId, appId, minute, kind }: Difference): boolean => {
    const place = { pipeline, owner: dataId || appId, day: minute / daySeconds };
    if (isLeftOut(pipeline, place.owner, place.day)) return true;
    return kind === 'not_known' ? isRead(place) : isInScope(place);
  };
  await found.replace((each) => isOfStore(each) && isCompared(each), mergeEqual(now));
};
