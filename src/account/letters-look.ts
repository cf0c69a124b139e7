import type { Bus } from '../bus/connection.ts';
import { readStrayItems } from '../outcomes/record-reader.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import type { Owner } from './difference.ts';
import { ownerText } from './explain-losses.ts';
import type { FoundDifferences } from './found.ts';
import { createLetterReads } from './letter-reads.ts';
import {
  createLostLetters,
  isOfLetters,
  itemsIn,
  type LostLettersDependencies,
  ownerOf,
  sumLostLetters,
  textOfOwnLetter,
} from './lost-letters.ts';
import type { AccountedStream } from './queue-state.ts';
import { restAfter, searchShare, urgentShare } from './rest.ts';
import { createUnchangedLetters } from './unchanged-letters.ts';
import type { Stretch } from './uncounted.ts';

export type LettersLookDependencies = {
  readonly bus: Bus;
  readonly clickhouse: Clickhouse;
  /** The streams of the look under way. */
  readonly streams: () => readonly AccountedStream[];
  /** As in `LostLettersDependencies`. */
  readonly streamOf: LostLettersDependencies['streamOf'];
  /** Waits until what transfer has acknowledged is in the records. Returns how long, in ms. */
  readonly untilRecorded: () => Promise<number>;
  /** Rows that the store has of each owner and no record names, by `ownerText`. */
  readonly unrecordedRows: (owners: readonly Owner[]) => Promise<ReadonlyMap<string, number>>;
  /** How many of these rows were there before a minute. */
  readonly rowsBefore: (owner: Owner, minute: number) => number;
};

export type LettersLook = {
  /**
   * Searches for lost dead letters, in a fortieth of the time at most, a tenth while it misses some, and stores what it finds; seldom
   * while DEADLETTER stays as it is. `isTouched`: lines of the books were changed or removed, or another process has stored other losses. Returns how long it waited for LEDGER, in ms.
   * Throws the Faults of NATS and ClickHouse.
   */
  look(found: FoundDifferences, isTouched: boolean): Promise<number>;
  /** Whether letters are missed that may yet be found. */
  readonly isSearching: boolean;
  /** As in `LostLetters`. */
  redrivesIn(stream: string): readonly Stretch[];
};

/** The search rests at least this long while nothing is missed: less than a calm look, so that each of those searches. */
const restMsMin = 35_000;

export const createLettersLook = (deps: LettersLookDependencies): LettersLook => {
  const { bus, clickhouse, streams, streamOf, untilRecorded, unrecordedRows, rowsBefore } = deps;
  let waitedMs = 0;
  let dueAt = 0;
  const reads = createLetterReads(bus, clickhouse, streams);
  const unchanged = createUnchangedLetters(performance.now.bind(performance));
  const letters = createLostLetters({
    ...{ ...reads, streamOf },
    untilRecorded: async () => {
      waitedMs += await untilRecorded();
    },
  });
  const explained = {
    ...{ unrecordedRows, rowsBefore },
    strayItems: ({ pipeline, dataId, appId }: Owner) =>
      readStrayItems(clickhouse, { pipeline, data_id: dataId, app_id: appId }),
  };
  let shown: string | undefined;
  const look = async (found: FoundDifferences, isTouched: boolean): Promise<number> => {
    const startedAt = performance.now();
    if (isTouched) {
      unchanged.touch();
      shown = undefined;
    }
    if (startedAt < dueAt) return 0;
    waitedMs = 0;
    const state = await reads.readState();
    if (unchanged.isSo(state)) return 0;
    const all = await letters.find();
    unchanged.searched(state, all?.length === 0 && !letters.isSearching);
    const searchedMs = performance.now() - startedAt - waitedMs;
    const standing = new Set(letters.unjudged.map((letter) => ownerText(ownerOf(letter))));
    const lost = all?.filter((letter) => !standing.has(ownerText(ownerOf(letter))));
    const text = lost && [...lost.map(textOfOwnLetter).toSorted(), ...[...standing].toSorted()].join('\n');
    if (lost !== undefined && text !== shown) {
      const differences = await sumLostLetters(lost, explained);
      await found.replace((each) => isOfLetters(each) && !standing.has(ownerText(each)), differences);
      // What explains a letter may be gone at the next search.
      shown = itemsIn(differences) === itemsIn(lost) ? text : undefined;
    }
    const restMs = letters.isSearching
      ? restAfter(searchedMs, urgentShare)
      : Math.max(restMsMin, restAfter(searchedMs, searchShare));
    dueAt = performance.now() + restMs;
    return waitedMs;
  };
  return {
    look,
    redrivesIn: letters.redrivesIn,
    get isSearching() {
      return letters.isSearching;
    },
  };
};
