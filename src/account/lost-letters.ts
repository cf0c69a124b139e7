import type { OpenLetterOf } from '../outcomes/record-reader.ts';
import { type Difference, type Owner, streamOfStore } from './difference.ts';
import { ownerText } from './explain-losses.ts';
import type { Stretch } from './uncounted.ts';

/** The losses of dead letters are dated by this second of the minute of arrival, so that no comparison of the minute replaces them. */
const lettersSecond = 15;

/** Whether it names dead letters that are gone: their items count as dead-lettered in the records. */
export const isOfLetters = ({ kind, minute }: Pick<Difference, 'kind' | 'minute'>): boolean =>
  kind === 'lost_in_the_stream' && minute % 60 === lettersSecond;

/** A dead letter, by its message and its place there; without its owner, as the message of a redrive names it. */
type NamedLetter = Pick<OpenLetterOf, 'pipeline' | 'base' | 'first' | 'ordinal' | 'redrive'>;

export const textOfLetter = ({ pipeline, base, first, ordinal, redrive }: NamedLetter): string =>
  `${pipeline} ${base} ${first} ${ordinal} ${redrive}`;

/** The same with its owner. */
export const textOfOwnLetter = (letter: Omit<OpenLetterOf, 'items' | 'minute'>): string =>
  `${letter.data_id} ${letter.app_id} ${textOfLetter(letter)}`;

export type LostLettersDependencies = {
  /** Open dead letters in the records; undefined where they are too many. */
  readonly readOpen: () => Promise<readonly OpenLetterOf[] | undefined>;
  /** `textOfOwnLetter` of the letters in DEADLETTER, of one without an owner `textOfLetter`; undefined where they are too many. */
  readonly readKept: () => Promise<ReadonlySet<string> | undefined>;
  /** The stream that brings the items of a letter's owner, and so its redrives; undefined while that is not known. */
  readonly streamOf: (letter: OpenLetterOf) => string | undefined;
  /** The last sequence of each stream of items; without those that cannot be read. */
  readonly readEnds: () => Promise<ReadonlyMap<string, number>>;
  /**
   * `textOfLetter` of the redrives that wait in a stream, up to a sequence; undefined where too many messages do, or it cannot be read.
   */
  readonly readRedrives: (stream: string, last: number) => Promise<ReadonlySet<string> | undefined>;
  /** Resolves once what transfer has acknowledged is in the records. */
  readonly untilRecorded: () => Promise<unknown>;
};

/**
 * Finds dead letters that are gone: the records name them, DEADLETTER does not hold them, and no redrive of them is on its way. Throws
 * what its dependencies throw; nothing has changed then.
 */
export type LostLetters = {
  /**
   * The letters that are lost; undefined where that cannot be said now: nothing that was found earlier is to change. A letter is lost where two
   * searches miss it.
   */
  find(): Promise<readonly OpenLetterOf[] | undefined>;
  /**
   * Letters that the last search missed and that cannot be judged, because the redrives in the stream of their owner cannot be read: what was
   * found earlier of these owners stands, and they make `find` undefined for no other.
   */
  readonly unjudged: readonly OpenLetterOf[];
  /** Whether the last search missed letters that are not judged yet. */
  readonly isSearching: boolean;
  /** Where in a stream the redrives of the lost letters were, if that is how they were lost: at most these messages of these sequences. */
  redrivesIn(stream: string): readonly Stretch[];
};

/** Last sequences by stream. */
type Ends = ReadonlyMap<string, number>;

/**
 * Letters that one search was the first to miss. Their redrives are beyond where the streams ended at the start of the search before, which
 * found them in DEADLETTER, and not beyond where they ended after this one.
 */
type Missed = { readonly begin: Ends | undefined; readonly ends: Ends };

/**
 * Items far from the base of their message have a letter under their own uid, with first and ordinal 0, and the message's record names
 * them with ordinal 0 (`itemKeyOf`). While such a letter is there, those of its owner with ordinal 0 cannot be distinguished.
 */
const farOwners = (texts: Iterable<string>, open: ReadonlySet<string>): Set<string> => {
  const owners = new Set<string>();
  for (const text of texts) {
    const parts = text.split(' ');
    const [pipeline, , first, ordinal] = parts.slice(-5);
    if (first !== '0' || ordinal !== '0' || open.has(parts.slice(-5).join(' '))) continue;
    owners.add(parts.length === 5 ? `${pipeline}` : `${pipeline} ${parts[0]} ${parts[1]}`);
  }
  return owners;
};

/** The redrives that wait, as far as they can be read, and the streams of which they cannot. */
type Waiting = { readonly redrives: ReadonlySet<string>; readonly unread: ReadonlySet<string> };

const readWaiting = async (
  { readRedrives }: LostLettersDependencies,
  missed: Iterable<Missed>,
): Promise<Waiting> => {
  const last = new Map<string, number>();
  for (const { ends } of missed)
    for (const [stream, end] of ends) last.set(stream, Math.max(end, last.get(stream) ?? 0));
  const waiting = { redrives: new Set<string>(), unread: new Set<string>() };
  for (const [stream, end] of last) {
    const redrives = await readRedrives(stream, end);
    if (redrives === undefined) waiting.unread.add(stream);
    for (const each of redrives ?? []) waiting.redrives.add(each);
  }
  return waiting;
};

/** Those that are still missed. One whose redrive waits is not lost, also where an earlier process found that it was. */
const undecidedOf = (
  before: Iterable<string>,
  missed: ReadonlyMap<string, Missed>,
  missing: ReadonlyMap<string, OpenLetterOf>,
  redrives: ReadonlySet<string>,
): Set<string> => {
  const isWaiting = (letter: OpenLetterOf | undefined): boolean =>
    letter !== undefined && redrives.has(textOfLetter(letter));
  return new Set([...before].filter((text) => missed.has(text) && !isWaiting(missing.get(text))));
};

/** Those of searches that could not read the stream of their owner, with where it ends now: a redrive of theirs is not beyond that. */
const createRenewed = ({ ends }: Missed): ((before: Missed) => Missed) => {
  const renewed = new Map<Missed, Missed>();
  return (before) => {
    const now = renewed.get(before) ?? { begin: before.begin, ends };
    renewed.set(before, now);
    return now;
  };
};

/** What the records name and DEADLETTER does not hold, by `textOfOwnLetter`. */
type Missing = {
  readonly missing: ReadonlyMap<string, OpenLetterOf>;
  readonly isAmbiguous: (letter: OpenLetterOf) => boolean;
};

/** Undefined where that cannot be said. */
const readMissing = async (
  { readOpen, readKept }: LostLettersDependencies,
  redrives: ReadonlySet<string>,
): Promise<Missing | undefined> => {
  const open = await readOpen();
  if (open === undefined) return undefined;
  const kept = open.length === 0 ? new Set<string>() : await readKept();
  if (kept === undefined) return undefined;
  const missing = new Map(
    open
      .filter((letter) => !kept.has(textOfOwnLetter(letter)) && !kept.has(textOfLetter(letter)))
      .map((letter) => [textOfOwnLetter(letter), letter]),
  );
  const far = farOwners([...kept, ...redrives], new Set(open.map(textOfLetter)));
  const isAmbiguous = ({ ordinal, pipeline, data_id, app_id }: OpenLetterOf): boolean =>
    ordinal === 0 && (far.has(pipeline) || far.has(`${pipeline} ${data_id} ${app_id}`));
  return { missing, isAmbiguous };
};

type LostLetter = { readonly letter: OpenLetterOf; readonly missed: Missed };

/** Where in their stream the redrives of these letters were. */
const stretchesOf = (stream: string, letters: readonly LostLetter[]): Stretch[] =>
  [...Map.groupBy(letters, (each) => each.missed)].flatMap(([search, { length: messages }]) => {
    const first = search.begin?.get(stream);
    if (first === undefined) return [];
    return [{ first: first + 1, last: search.ends.get(stream) ?? 0, messages }];
  });

/**
 * The order matters. A letter is stored before its record, its redrive and its purge record before it is removed: what DEADLETTER does not
 * hold has a redrive below the ends that are read then, or a record. A redrive that a later search does not find there is
 * recorded, or lost.
 */
export const createLostLetters = (deps: LostLettersDependencies): LostLetters => {
  let missed = new Map<string, Missed>();
  let lost = new Map<string, LostLetter>();
  let begin: Ends | undefined;
  /** Letters that the first search missed and that are not judged yet: an earlier process may have found them lost. */
  let undecided: Set<string> | undefined;
  let unjudged: readonly OpenLetterOf[] = [];

  const isReadIn = (ends: Ends, letter: OpenLetterOf): boolean => ends.has(deps.streamOf(letter) ?? '');
  /** Judges what is missing. `ends`: of the start of this search. */
  const judge = async (
    { missing, isAmbiguous }: Missing,
    { redrives, unread }: Waiting,
    ends: Ends,
  ): Promise<void> => {
    const isRead = (letter: OpenLetterOf) =>
      isReadIn(ends, letter) && !unread.has(deps.streamOf(letter) ?? '');
    const isToRenew = (letter: OpenLetterOf, before: Missed): boolean =>
      !isReadIn(before.ends, letter) && isReadIn(ends, letter);
    const needsEnds = ([text, letter]: [string, OpenLetterOf]): boolean => {
      const before = missed.get(text);
      return before === undefined ? !lost.has(text) : isToRenew(letter, before);
    };
    const here: Missed = { begin, ends: [...missing].some(needsEnds) ? await deps.readEnds() : new Map() };
    const renewed = createRenewed(here);
    const nowMissed = new Map<string, Missed>();
    const nowLost: typeof lost = new Map();
    for (const [text, letter] of missing) {
      const before = missed.get(text);
      const isGone =
        before !== undefined &&
        isReadIn(before.ends, letter) &&
        isRead(letter) &&
        !redrives.has(textOfLetter(letter)) &&
        !isAmbiguous(letter);
      const known = lost.get(text);
      if (known !== undefined) nowLost.set(text, known);
      else if (isGone) nowLost.set(text, { letter, missed: before });
      else if (before === undefined) nowMissed.set(text, here);
      else nowMissed.set(text, isToRenew(letter, before) ? renewed(before) : before);
    }
    [missed, lost] = [nowMissed, nowLost];
    undecided = undecidedOf(undecided ?? missed.keys(), missed, missing, redrives);
    unjudged = [...undecided].flatMap((text) => missing.get(text) ?? []).filter((letter) => !isRead(letter));
  };

  return {
    get isSearching() {
      return missed.size > 0;
    },
    get unjudged() {
      return unjudged;
    },
    redrivesIn: (stream) =>
      stretchesOf(
        stream,
        [...lost.values()].filter(({ letter }) => deps.streamOf(letter) === stream),
      ),
    find: async () => {
      const ends = await deps.readEnds();
      const waiting = await readWaiting(deps, new Set(missed.values()));
      if (missed.size > 0) await deps.untilRecorded();
      const found = await readMissing(deps, waiting.redrives);
      if (found === undefined) return undefined;
      await judge(found, waiting, ends);
      begin = ends;
      if ((undecided?.size ?? 0) > unjudged.length) return undefined;
      return [...found.missing].filter(([text]) => lost.has(text)).map(([, each]) => each);
    },
  };
};

/** What explains that letters of an owner are open and gone, in items. */
export type LettersExplained = {
  /** Rows that the store has and no record names, by `ownerText`: they are stored, and only the record of their redrive is gone. */
  readonly unrecordedRows: (owners: readonly Owner[]) => Promise<ReadonlyMap<string, number>>;
  /** How many of these rows were there before the minute of arrival: they are of no redrive. */
  readonly rowsBefore: (owner: Owner, minute: number) => number;
  /** Items that redrives and purges took whose message has no record: those of letters with ordinal 0 that are far from its base. */
  readonly strayItems: (owner: Owner) => Promise<number>;
};

export const itemsIn = (letters: readonly { readonly items: number }[]): number =>
  letters.reduce((sum, { items }) => sum + items, 0);

export const ownerOf = ({ pipeline, data_id: dataId, app_id: appId }: OpenLetterOf): Owner => ({
  pipeline,
  dataId,
  appId,
});

/** Lost letters by owner and minute of arrival, less what is explained. */
export const sumLostLetters = async (
  letters: readonly OpenLetterOf[],
  { unrecordedRows, rowsBefore, strayItems }: LettersExplained,
): Promise<Difference[]> => {
  const owners = new Map(letters.map(ownerOf).map((owner) => [ownerText(owner), owner]));
  const byOwner = Map.groupBy(letters, (letter) => ownerText(ownerOf(letter)));
  const rows = await unrecordedRows([...owners.values()]);
  const differences: Difference[] = [];
  for (const [text, owner] of owners) {
    const ofOwner = byOwner.get(text) ?? [];
    const stream = streamOfStore(owner.pipeline);
    const ofFirstItems = itemsIn(ofOwner.filter(({ ordinal }) => ordinal === 0));
    let strays = ofFirstItems === 0 ? 0 : Math.min(ofFirstItems, await strayItems(owner));
    let stored = rows.get(text) ?? 0;
    for (const [minute, own] of Map.groupBy(ofOwner, (letter) => letter.minute)) {
      const all = itemsIn(own);
      const ofStrays = Math.min(all, strays);
      const ofStore = Math.min(all - ofStrays, Math.max(0, stored - rowsBefore(owner, minute)));
      strays -= ofStrays;
      stored -= ofStore;
      const items = all - ofStrays - ofStore;
      if (items === 0) continue;
      const at = Math.floor(minute / 60) * 60 + lettersSecond;
      const messages = own.length;
      differences.push({ ...owner, kind: 'lost_in_the_stream', stream, minute: at, items, messages });
    }
  }
  return differences;
};
