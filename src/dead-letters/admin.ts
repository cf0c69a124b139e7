import type { Bus } from '../bus/connection.ts';
import {
  type ConfirmedMessage,
  deleteMessage,
  hasMessage,
  isNothingStored,
  publishConfirmed,
} from '../bus/outbox.ts';
import { createStreamReader } from '../bus/stream-reader.ts';
import { Fault } from '../model/fault.ts';
import { sumOf } from '../model/sums.ts';
import type { ReadRecord, ReadRecords } from '../outcomes/record-reader.ts';
import { ledgerSubjects, type OutcomeRow } from '../outcomes/rows.ts';
import { deadLetteredOutcome, droppedOutcome } from '../outcomes/tally.ts';
import { momentText } from '../outcomes/times.ts';
import { isAnswer } from '../stores/clickhouse/faults.ts';
import { type Action, type Claim, type ClaimsDependencies, createClaims } from './claims.ts';
import { type CountedPlace, countedPlaces, isOfNobody } from './counted-places.ts';
import { deadLetterStream, type Letter, type LetterFilter, matches, readLetter } from './dead-letter.ts';
import { isOfClickhouse } from './orphans.ts';
import { type ReadKeptDays, refuseOutlived } from './outlived.ts';
import { type EncodeReceivedItem, isReceivedItem } from './received-item.ts';
import { type RedriveMessage, redriveMessage } from './redrive-message.ts';

/** A page of dead letters; a page may be short and have a `next`, because it reads a limited number. */
export type LetterPage = { readonly letters: readonly Letter[]; readonly next: number | undefined };

/** What the acts of one call on many dead letters share. */
export type BulkCall = {
  /** ClickHouse did not answer one of them: until this time (`performance.now`) the others do not wait for it. */
  clickhouseAwayUntil: number;
  /** Those of the letters that were purged before, where all were looked at together. */
  readonly purged?: ReadonlySet<Letter>;
};

/** The actions of operators on dead letters. Every call throws a transient Fault while NATS is down. */
export type DeadLetterAdmin = {
  /** Newest first, below `before` (a sequence). */
  list(filter: LetterFilter, options: { limit: number; before?: number | undefined }): Promise<LetterPage>;
  /** Oldest first, from a sequence on and not past `last`. */
  listUpwards(
    filter: LetterFilter,
    options: { limit: number; from: number; last: number },
  ): Promise<LetterPage>;
  /** Undefined when there is none (any more). */
  get(sequence: number): Promise<Letter | undefined>;
  /** The sequence of the newest one, 0 when there never was one. */
  last(): Promise<number>;
  /**
   * Sends it back on its way, and removes it once that is stored. May be repeated and done by several at once: its rows are stored
   * once. Permanent Faults: `not_redrivable` (also of one that was purged, which a restored copy of DEADLETTER has again, and of one whose
   * stream nobody may read),
   * `dead_letter_busy` (a purge of it was begun), `not_found` (another act has removed it).
   */
  redrive(letter: Letter, call?: BulkCall): Promise<void>;
  /** Does nothing where a redrive would send it back now; else throws the permanent Fault that a redrive would. */
  checkRedrive(letter: Letter, call?: BulkCall): Promise<void>;
  /** Looks for purged ones among the letters of a dry run at once, not for each: an act looks at its own letter as late as it can. */
  beginChecks(letters: readonly Letter[]): Promise<BulkCall>;
  /**
   * Removes it for good; its items count as dropped by `purged_by_operator`, unless its redrive is recorded: a restored
   * copy of DEADLETTER holds dead letters whose items are stored. May be repeated. Permanent Faults `dead_letter_busy`
   * when its redrive has begun: its rows may be stored; `not_found`. Transient Fault while the records cannot be read.
   */
  purge(letter: Letter): Promise<void>;
  /** Throws the permanent Fault `dead_letter_busy` where a purge would. */
  checkPurge(letter: Letter): Promise<void>;
};

export type DeadLetterAdminDependencies = ClaimsDependencies & {
  readonly encodeItem: EncodeReceivedItem;
  readonly readRecord: ReadRecord;
  readonly readRecords: ReadRecords;
  readonly readKeptDays: ReadKeptDays;
  /** Whether the settings name a consumer of this stream. */
  readonly isRead: (stream: string) => boolean;
};

const pageMax = 256;
/** Messages that one page reads at most, for a filter that few of them match. */
const lookedAtMax = 4_096;

/** The record that removes the items of this place from the count of dead letters (architecture 10.1). */
const recordOf = (
  { message, ordinal, redrive, minute }: CountedPlace,
  at: number,
  outcomes: OutcomeRow['outcomes'],
): OutcomeRow => ({
  ...message,
  ordinal,
  redrive: redrive + 1,
  minute,
  received: sumOf(Object.values(outcomes)),
  outcomes,
  at: momentText(at),
});

/** What the acts of a new call share. */
export const newCall = (): BulkCall => ({ clickhouseAwayUntil: 0 });
/** A redrive does not need the answer. Where even the server does not end, the client does two seconds later. */
const purgedTimeoutMs = 3_000;
const awayMs = 30_000;

/** Whether the next look would wait as long for nothing: a refusal at once, as of a busy server, costs nothing. */
const isAway = (error: Fault, sinceMs: number): boolean =>
  error.code === 'clickhouse_unavailable' &&
  (!isAnswer(error) || performance.now() - sinceMs >= purgedTimeoutMs);

const purgedOutcome = droppedOutcome('purged_by_operator');

/** The time of the dead letter: by the clock of NATS also where an earlier transfer, whose own clock was ahead, wrote another one. */
const timeOf = ({ at, keptAt }: Letter): number => Math.min(at, keptAt);

/**
 * Their time is that of the dead letter: a record of its redrive, also one that is still on its way, is later and stands. A restored copy
 * of DEADLETTER holds dead letters whose items are stored. None where no record has counted its items.
 */
const purgedRows = (letter: Letter): OutcomeRow[] =>
  countedPlaces(letter).map((place) =>
    recordOf(place, timeOf(letter), { [deadLetteredOutcome]: -place.items, [purgedOutcome]: place.items }),
  );

/**
 * A malformed message counted as one item without an owner. Once a program can read it, its own records count its
 * items; if it still cannot be read, transfer replaces this record: the time is before that of any settlement of the redrive.
 */
const unreadRows = (letter: Letter): OutcomeRow[] =>
  isOfNobody(letter)
    ? countedPlaces(letter).map((place) =>
        recordOf(place, timeOf(letter) + 1, { dead_lettered: -place.items }),
      )
    : [];

const gone = (sequence: number): Fault =>
  new Fault(
    'permanent',
    'not_found',
    `dead letter ${sequence} does not exist any more: another act has removed it`,
  );

type LetterReads = Pick<DeadLetterAdmin, 'get' | 'last' | 'list' | 'listUpwards'>;

const createLetterReads = (bus: Bus): LetterReads => {
  const reader = createStreamReader(bus);
  return {
    get: async (sequence) => {
      const { entries } = await reader.readForwards(deadLetterStream, { fromSequence: sequence, limit: 1 });
      const [entry] = entries;
      return entry?.sequence === sequence ? readLetter(entry) : undefined;
    },
    last: async () => {
      const { entries } = await reader.readBackwards(deadLetterStream, { limit: 1 });
      return entries[0]?.sequence ?? 0;
    },
    list: async (filter, { limit, before }) => {
      const letters: Letter[] = [];
      let next = before;
      for (let lookedAt = 0; letters.length < limit && lookedAt < lookedAtMax; ) {
        const page = await reader.readBackwards(deadLetterStream, { beforeSequence: next, limit: pageMax });
        for (const entry of page.entries) {
          lookedAt++;
          next = entry.sequence;
          const letter = readLetter(entry);
          if (letter !== undefined && matches(letter, filter)) letters.push(letter);
          if (letters.length === limit) return { letters, next };
        }
        next = page.next;
        if (next === undefined) return { letters, next };
      }
      return { letters, next };
    },
    listUpwards: async (filter, { limit, from, last }) => {
      const letters: Letter[] = [];
      let next = from;
      for (let lookedAt = 0; letters.length < limit && lookedAt < lookedAtMax; ) {
        const page = await reader.readForwards(deadLetterStream, { fromSequence: next, limit: pageMax });
        for (const entry of page.entries) {
          if (entry.sequence > last) return { letters, next: undefined };
          lookedAt++;
          next = entry.sequence + 1;
          const letter = readLetter(entry);
          if (letter !== undefined && matches(letter, filter)) letters.push(letter);
          if (letters.length === limit) return { letters, next: next <= last ? next : undefined };
        }
        if (page.next === undefined || page.next > last) return { letters, next: undefined };
        next = page.next;
      }
      return { letters, next };
    },
  };
};

/** How an act on a dead letter goes: its claim, its messages, the removal, and the end of the claim. */
const createActs = (deps: ClaimsDependencies) => {
  const { bus } = deps;
  const { claim, isBegun, requireFree, cancel, end } = createClaims(deps);

  const isThere = ({ sequence }: Letter): Promise<boolean> => hasMessage(bus, deadLetterStream, sequence);

  /**
   * Publishes in this order. Where NATS refuses the first message, nothing has happened: a claim that the act has made itself and
   * shares with no other ends, and the letter is free for either act.
   */
  const publishAll = async (
    letter: Letter,
    begun: Claim,
    messages: readonly ConfirmedMessage[],
  ): Promise<void> => {
    for (const [index, message] of messages.entries())
      try {
        await publishConfirmed(bus, message);
      } catch (error) {
        // A claim that stays costs a repeat of the act; the refusal is what to act on.
        if (index === 0 && !begun.isRepeated && isNothingStored(error))
          await cancel(letter, begun).catch(() => false);
        throw error;
      }
  };

  /**
   * Nothing is done for one that is gone: an act that was begun before may have removed it. Of equal acts at once, the one that ends the
   * claim has done it.
   */
  const act = async (
    letter: Letter,
    action: Action,
    messages: readonly ConfirmedMessage[],
  ): Promise<void> => {
    const begun = await claim(letter, action);
    const wasThere = await isThere(letter);
    if (wasThere) await publishAll(letter, begun, messages);
    await deleteMessage(bus, deadLetterStream, letter.sequence);
    const isOwn = await end(letter, begun);
    if (!isOwn || (!wasThere && !begun.isRepeated)) throw gone(letter.sequence);
  };
  return { act, isBegun, requireFree };
};

const wasPurged = (known: OutcomeRow['outcomes'] | undefined): boolean =>
  known !== undefined && purgedOutcome in known;

/** What the records say of purges, earlier ones and the one that is to come. */
const createPurgeLooks = ({
  readRecord,
  readRecords,
}: Pick<DeadLetterAdminDependencies, 'readRecord' | 'readRecords'>) => {
  /** Without those of which a record of its redrive has the items, which a purge would replace. */
  const purgeRecords = async (letter: Letter): Promise<OutcomeRow[]> => {
    const rows: OutcomeRow[] = [];
    for (const row of purgedRows(letter)) {
      const known = await readRecord(row);
      if (known === undefined || wasPurged(known)) rows.push(row);
    }
    return rows;
  };

  /** What `look` finds; undefined where ClickHouse does not answer: then nothing is known, and the call may not wait for it again. */
  const whereItAnswers = async <T>(call: BulkCall, look: () => Promise<T>): Promise<T | undefined> => {
    const now = performance.now();
    return look().catch((error: unknown) => {
      if (!isOfClickhouse(error)) throw error;
      if (isAway(error, now)) call.clickhouseAwayUntil = performance.now() + awayMs;
      return undefined;
    });
  };

  const isPurged = async (letter: Letter, call: BulkCall): Promise<boolean> => {
    if (call.purged !== undefined) return call.purged.has(letter);
    for (const row of purgedRows(letter)) {
      if (performance.now() < call.clickhouseAwayUntil) return false;
      if (wasPurged(await whereItAnswers(call, () => readRecord(row, purgedTimeoutMs)))) return true;
    }
    return false;
  };

  return {
    purgeRecords,
    /**
     * A restored copy of DEADLETTER has it again: its redrive would store what the operator gave up, and take back the purge. Where the
     * records cannot be read, nothing is known of an earlier purge, and a redrive is not held up: most letters never had one.
     */
    requireNotPurged: async (letter: Letter, call: BulkCall): Promise<void> => {
      if (!(await isPurged(letter, call))) return;
      const why = `dead letter ${letter.sequence} was purged before, and a copy of NATS brought it back: purge it again`;
      throw new Fault('permanent', 'not_redrivable', why);
    },
    /** Where a busy ClickHouse refuses the one look, each letter has its own. */
    beginChecks: async (letters: readonly Letter[]): Promise<BulkCall> => {
      const call = newCall();
      const places = letters.flatMap((letter) => purgedRows(letter).map((row) => ({ letter, row })));
      const rows = places.map(({ row }) => row);
      const known = await whereItAnswers(call, () => readRecords(rows, purgedTimeoutMs));
      if (known === undefined) return call;
      const purged = places.filter((_, index) => wasPurged(known[index]));
      return { ...call, purged: new Set(purged.map(({ letter }) => letter)) };
    },
  };
};

const recordsOf = (id: string, { header }: Letter, rows: readonly OutcomeRow[]): ConfirmedMessage[] =>
  rows.map((row) => ({
    subject: ledgerSubjects.outcomes,
    messageId: `${id}:${header.redrive + 1}:${row.data_id || row.app_id}`,
    payload: Buffer.from(`${JSON.stringify(row)}\n`),
  }));

/** Where no process reads its stream, the letter would be neither stored nor among the dead letters. Permanent Fault `not_redrivable`. */
export const requireRead = (
  {
    sequence,
    header: { stream },
  }: { readonly sequence: number; readonly header: Pick<Letter['header'], 'stream'> },
  { isRead }: Pick<DeadLetterAdminDependencies, 'isRead'>,
): void => {
  if (isRead(stream)) return;
  throw new Fault(
    'permanent',
    'not_redrivable',
    `dead letter ${sequence} goes to stream ${stream}, whose QuestDB instance TIDEMARK_QUESTDB_URLS of metadata lacks, so that it may wait there unread: add the instance for every role, then redrive it again`,
  );
};

export const createDeadLetterAdmin = (deps: DeadLetterAdminDependencies): DeadLetterAdmin => {
  const { bus, encodeItem, readKeptDays } = deps;
  const reads = createLetterReads(bus);
  const { act, isBegun, requireFree } = createActs(deps);

  const redriveMessageOf = async (letter: Letter, isForGood: boolean): Promise<RedriveMessage> => {
    const begun = await isBegun(letter);
    // One that was begun may be stored, and cannot be purged: it has to come to its end.
    const keptDays = begun ? undefined : await readKeptDays(letter);
    const isReceived = isReceivedItem(letter);
    const encode = (forGood: boolean) => encodeItem(letter, { isForGood: forGood, isBegun: begun });
    // Its days are known without new names, which would stay registered after a refusal.
    const rows =
      isReceived && (keptDays !== undefined || !isForGood)
        ? await encode(false)
        : { part: letter.header.part, bytes: letter.bytes };
    if (rows.part !== undefined) refuseOutlived(letter, rows.part, keptDays, deps.now());
    return redriveMessage(letter, isReceived && isForGood ? await encode(true) : rows);
  };

  const { purgeRecords, requireNotPurged, beginChecks } = createPurgeLooks(deps);

  /** One whose act was begun cannot be purged any more, and its redrive may wait in the stream already: it has to come to its end. */
  const requireReadUnlessBegun = async (letter: Letter): Promise<void> => {
    if (deps.isRead(letter.header.stream) || (await isBegun(letter))) return;
    requireRead(letter, deps);
  };

  return {
    ...reads,
    redrive: async (letter, call = newCall()) => {
      await requireReadUnlessBegun(letter);
      await requireNotPurged(letter, call);
      const message = await redriveMessageOf(letter, true);
      // Its item leaves the dead letters only once the stream has the message: else a refusal would take it out of the account.
      const records = recordsOf(`rr:${letter.identity}`, letter, unreadRows(letter));
      await act(letter, 'redrive', [message, ...records]);
    },
    checkRedrive: async (letter, call = newCall()) => {
      await requireReadUnlessBegun(letter);
      await requireFree(letter, 'redrive');
      await redriveMessageOf(letter, false);
      await requireNotPurged(letter, call);
    },
    beginChecks,
    purge: async (letter) => {
      await act(letter, 'purge', recordsOf(`pg:${letter.identity}`, letter, await purgeRecords(letter)));
    },
    checkPurge: (letter) => requireFree(letter, 'purge'),
  };
};
