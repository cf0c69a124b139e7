import type { Pipeline } from '../model/signals.ts';
import type { OpenLetterOf } from '../outcomes/record-reader.ts';
import { type Difference, type Owner, pipelineOf, streamOfStore } from './difference.ts';
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
  /** The last sequence of each stream of items. */
  readonly readEnds: () => Promise<ReadonlyMap<string, number>>;
  /**
   * `textOfLetter` of the redrives that wait in a stream, up to a sequence; undefined where too many messages do, or it may not be read.
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

/** The redrives that wait, as far as they can be read, and the signals of which some cannot. */
type Waiting = { readonly redrives: ReadonlySet<string>; readonly unread: ReadonlySet<Pipeline> };

const readWaiting = async (
  { readRedrives }: LostLettersDependencies,
  missed: Iterable<Missed>,
): Promise<Waiting> => {
  const last = new Map<string, number>();
  for (const { ends } of missed)
    for (const [stream, end] of ends) last.set(stream, Math.max(end, last.get(stream) ?? 0));
  const waiting = { redrives: new Set<string>(), unread: new Set<Pipeline>() };
  for (const [stream, end] of last) {
    const redrives = await readRedrives(stream, end);
    if (redrives === undefined) waiting.unread.add(pipelineOf(stream));
    for (const each of redrives ?? []) waiting.redrives.add(each);
  }
  return waiting;
};

/** Those that are still missed. One whose redrive waits is not lost, also where an earlier process found that it was. */
const undecidedOf = (
  before: Iterable<string>,
  missed: ReadonlyMap<string, Missed>,
  isWaiting: (text: string) => boolean,
): Set<string> => new Set([...before].filter((text) => missed.has(text) && !isWaiting(text)));

/**
 * The order matters. A letter is stored before its record, its redrive and its purge record before it is removed: what DEADLETTER does not
 * hold has a redrive below the ends that are read then, or a record. A redrive that a later search does not find there is
 * recorded, or lost.
 */
export const createLostLetters = (deps: LostLettersDependencies): LostLetters => {
  let missed = new Map<string, Missed>();
  let lost = new Map<string, { readonly letter: OpenLetterOf; readonly missed: Missed }>();
  let begin: Ends | undefined;
  /** Letters that the first search missed and that are not judged yet: an earlier process may have found them lost. */
  let undecided: Set<string> | undefined;

  return {
    get isSearching() {
      return missed.size > 0;
    },
    redrivesIn: (stream) => {
      const ofStream = [...lost.values()].filter(({ letter }) => streamOfStore(letter.pipeline) === stream);
      return [...Map.groupBy(ofStream, (each) => each.missed)].flatMap(([search, letters]) => {
        const first = search.begin?.get(stream);
        if (first === undefined) return [];
        return [{ first: first + 1, last: search.ends.get(stream) ?? 0, messages: letters.length }];
      });
    },
    find: async () => {
      const beginNow = await deps.readEnds();
      let waiting: Waiting = { redrives: new Set(), unread: new Set() };
      if (missed.size > 0) {
        waiting = await readWaiting(deps, new Set(missed.values()));
        await deps.untilRecorded();
      }
      const open = await deps.readOpen();
      if (open === undefined) return undefined;
      const kept = open.length === 0 ? new Set<string>() : await deps.readKept();
      if (kept === undefined) return undefined;
      const missing = new Map(
        open
          .filter((letter) => !kept.has(textOfOwnLetter(letter)) && !kept.has(textOfLetter(letter)))
          .map((letter) => [textOfOwnLetter(letter), letter]),
      );
      const far = farOwners([...kept, ...waiting.redrives], new Set(open.map(textOfLetter)));
      const isAmbiguous = ({ ordinal, pipeline, data_id, app_id }: OpenLetterOf): boolean =>
        ordinal === 0 && (far.has(pipeline) || far.has(`${pipeline} ${data_id} ${app_id}`));
      const isNew = [...missing.keys()].some((text) => !missed.has(text) && !lost.has(text));
      const here: Missed = { begin, ends: isNew ? await deps.readEnds() : new Map() };
      const nowMissed = new Map<string, Missed>();
      const nowLost: typeof lost = new Map();
      for (const [text, letter] of missing) {
        const before = missed.get(text);
        const isGone =
          before !== undefined &&
          !waiting.unread.has(letter.pipeline) &&
          !waiting.redrives.has(textOfLetter(letter)) &&
          !isAmbiguous(letter);
        const known = lost.get(text);
        if (known !== undefined) nowLost.set(text, known);
        else if (isGone) nowLost.set(text, { letter, missed: before });
        else nowMissed.set(text, before ?? here);
      }
      missed = nowMissed;
      lost = nowLost;
      begin = beginNow;
      undecided = undecidedOf(undecided ?? missed.keys(), missed, (text) => {
        const letter = missing.get(text);
        return letter !== undefined && waiting.redrives.has(textOfLetter(letter));
      });
      return undecided.size > 0
        ? undefined
        : [...missing].filter(([text]) => lost.has(text)).map(([, each]) => each);
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

const ownerOf = ({ pipeline, data_id: dataId, app_id: appId }: OpenLetterOf): Owner => ({
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
