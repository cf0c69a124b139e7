import type { Bus } from '../bus/connection.ts';
import { createStreamReader, type StreamReader } from '../bus/stream-reader.ts';
import { isStreamMissing, streamHealth } from '../bus/stream-state.ts';
import { Fault } from '../model/fault.ts';
import type { MessageAccount } from '../outcomes/message-account.ts';
import { type ReadMessageAccounts, textOfMessage } from '../outcomes/record-reader.ts';
import { deadLetterStream, itemsOf, type Letter, messageOf, readLetter } from './dead-letter.ts';

/** A dead letter whose items no record counts as dead-lettered. */
export type Orphan = {
  readonly sequence: number;
  /** When it was dead-lettered, ms since 1970. */
  readonly at: number;
  /** The stream that it came from. */
  readonly stream: string;
  /** Undefined for the other signal. */
  readonly dataId: number | undefined;
  readonly appId: number | undefined;
  readonly items: number;
};

/** `next`: the sequence at which the search continues; undefined at the end of the stream. */
export type OrphanPage = { readonly orphans: readonly Orphan[]; readonly next: number | undefined };

/**
 * Orphans: the records of a message count its items elsewhere than in this dead letter. Transfer was killed between the dead letter and
 * the record, and the next delivery was judged otherwise; or a repeat of the request stored the item; or a restored copy of DEADLETTER
 * brought back a letter that was redriven. An orphan is worth nothing in the account: its redrive stores nothing twice, and it can be
 * purged. A letter younger than a minute, or whose message is or may be in its stream still, is none yet; nor is one on which an act was begun: it
 * may be the only copy of what its records count elsewhere.
 */
export type Orphans = {
  /** For each of the letters whether it is one; null while ClickHouse does not answer. One query. Throws the Faults of NATS. */
  areOrphans(letters: readonly Letter[]): Promise<(boolean | null)[]>;
  /**
   * At most `limit` orphans, from a sequence of DEADLETTER on; looks at 4096 letters at most. One query for each page of 256. Throws the
   * Faults of NATS and ClickHouse.
   */
  findOrphans(limit: number, from?: number): Promise<OrphanPage>;
};

export type OrphansDependencies = {
  readonly bus: Bus;
  readonly readAccounts: ReadMessageAccounts;
  /** Whether an act on this letter was begun and has not ended. */
  readonly isBegun: (sequence: number) => Promise<boolean>;
  readonly now: () => number;
};

const settledMs = 60_000;
const pageMax = 256;
const lookedAtMax = 4_096;

/** Whether ClickHouse did not answer, or refused a query. */
export const isOfClickhouse = (error: unknown): error is Fault =>
  error instanceof Fault && error.code.startsWith('clickhouse');

/** Whether the records of its message name the letter, or leave open which letters they mean. */
const isCounted = ({ header }: Letter, items: number, account: MessageAccount): boolean => {
  const { redrive, ordinal = -1 } = header;
  if (!account.isStanding || account.unnamed > 0) return true;
  // No record names the further rows of a point in several tables: they go with its first row.
  if (items === 0) return account.deadLettered > 0;
  return account.open.some((letter) => letter.redrive === redrive && letter.ordinal === ordinal);
};

/** Undefined where this process may not read the stream, or it does not answer. */
const isInStream = async (
  reader: StreamReader,
  stream: string,
  sequence: number,
): Promise<boolean | undefined> => {
  try {
    const { entries } = await reader.readForwards(stream, { fromSequence: sequence, limit: 1 });
    return entries[0]?.sequence === sequence;
  } catch (error) {
    if (isStreamMissing(error)) return false;
    if (error instanceof Fault) return undefined;
    throw error;
  }
};

/** Whether a letter's message may wait in its stream. A stream that cannot be read is asked once. */
const createMayWait = (reader: StreamReader): ((header: Letter['header']) => Promise<boolean>) => {
  const known = new Map<string, boolean>();
  const unread = new Set<string>();
  return async ({ stream, streamSequence }) => {
    if (unread.has(stream)) return true;
    const place = `${stream} ${streamSequence}`;
    const isThere = known.get(place) ?? (await isInStream(reader, stream, streamSequence));
    if (isThere === undefined) unread.add(stream);
    else known.set(place, isThere);
    return isThere ?? true;
  };
};

export const createOrphans = ({ bus, readAccounts, isBegun, now }: OrphansDependencies): Orphans => {
  const reader = createStreamReader(bus);

  const orphansAmong = async (letters: readonly Letter[]): Promise<Set<Letter>> => {
    const messages = letters.map(messageOf);
    const [accounts, ledger] = await Promise.all([
      readAccounts(messages.filter((message) => message !== undefined)),
      streamHealth(bus, 'LEDGER', undefined, now()),
    ]);
    // A record may wait in LEDGER as long as the oldest message there.
    const atMost = now() - settledMs - ledger.oldestAgeSeconds * 1_000;
    const uncounted = letters.filter((letter, index) => {
      const message = messages[index];
      const account = message === undefined ? undefined : accounts.get(textOfMessage(message));
      return account !== undefined && letter.at <= atMost && !isCounted(letter, itemsOf(letter), account);
    });
    const mayWait = createMayWait(reader);
    const orphans = new Set<Letter>();
    for (const letter of uncounted)
      if (!(await mayWait(letter.header)) && !(await isBegun(letter.sequence))) orphans.add(letter);
    return orphans;
  };

  return {
    areOrphans: async (letters) => {
      try {
        const orphans = await orphansAmong(letters);
        return letters.map((letter) => orphans.has(letter));
      } catch (error) {
        if (isOfClickhouse(error)) return letters.map(() => null);
        throw error;
      }
    },
    findOrphans: async (limit, from = 1) => {
      const orphans: Orphan[] = [];
      let next: number | undefined = from;
      for (let lookedAt = 0; next !== undefined && orphans.length < limit && lookedAt < lookedAtMax; ) {
        const page = await reader.readForwards(deadLetterStream, { fromSequence: next, limit: pageMax });
        const letters = page.entries.map(readLetter).filter((letter) => letter !== undefined);
        const found = await orphansAmong(letters);
        lookedAt += page.entries.length;
        next = page.next;
        for (const letter of letters) {
          if (!found.has(letter)) continue;
          if (orphans.length === limit) {
            next = letter.sequence;
            break;
          }
          const { stream, dataId, appId } = letter.header;
          const { sequence, at } = letter;
          orphans.push({ sequence, at, stream, dataId, appId, items: itemsOf(letter) });
        }
      }
      return { orphans, next };
    },
  };
};
