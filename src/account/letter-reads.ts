import type { Bus } from '../bus/connection.ts';
import { redriveHeader } from '../bus/message-headers.ts';
import { createStreamReader, type StoredMessage, type StreamReader } from '../bus/stream-reader.ts';
import { isStreamMissing, readStream, type StreamAnswer } from '../bus/stream-state.ts';
import { deadLetterStream, itemsOf, messageOf, readLetter } from '../dead-letters/dead-letter.ts';
import { readOpenLetters } from '../outcomes/record-reader.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { decodeFrame } from '../wire/frame.ts';
import { isRedrive } from '../wire/redrive.ts';
import { pipelineOf } from './difference.ts';
import { type LostLettersDependencies, textOfLetter, textOfOwnLetter } from './lost-letters.ts';
import type { AccountedStream } from './queue-state.ts';

/** Messages with open letters in the records. More are there only where a whole DEADLETTER was lost. */
const openMax = 100_000;
const keptMax = 10_000;
const waitingMax = 5_000;
const pageMax = 256;

/** The letter whose redrive this message is; undefined where this program cannot tell. */
const redriveIn = (stream: string, { payload }: StoredMessage): string | undefined => {
  const frame = decodeFrame(payload, undefined);
  const redrive = frame.kind === 'frame' ? frame.header['redrive'] : undefined;
  if (!isRedrive(redrive) || redrive.outcome === undefined) return undefined;
  const { outcome, number } = redrive;
  return textOfLetter({ ...outcome, pipeline: pipelineOf(stream), redrive: number - 1 });
};

/** Undefined where too many messages wait, or this program cannot read one of them. */
const readRedrivesIn = async (
  bus: Bus,
  reader: StreamReader,
  stream: string,
  last: number,
): Promise<ReadonlySet<string> | undefined> => {
  const redrives = new Set<string>();
  try {
    if (await hasMany(bus, stream, last)) return undefined;
    let read = 0;
    for (let from: number | undefined = 1; from !== undefined && from <= last; ) {
      const page = await reader.readForwards(stream, { fromSequence: from, limit: pageMax });
      for (const entry of page.entries) {
        if (!entry.headers.has(redriveHeader)) continue;
        const letter = redriveIn(stream, entry);
        if (letter === undefined) return undefined;
        redrives.add(letter);
      }
      read += page.entries.length;
      if (read > waitingMax) return undefined;
      from = page.next;
    }
  } catch (error) {
    if (!isStreamMissing(error)) throw error;
  }
  return redrives;
};

type LetterReads = Omit<LostLettersDependencies, 'untilRecorded' | 'streamOf'> & {
  /** Changes whenever a letter comes to DEADLETTER or leaves it. */
  readonly readState: () => Promise<string>;
};

/** A letter never changes: the same numbers are the same letters. */
const stateText = ({ created, state }: StreamAnswer['stream']): string =>
  `${created} ${state.first_seq} ${state.last_seq} ${state.messages}`;

/** The reads of the search for lost dead letters; each is bounded. They throw the Faults of NATS and ClickHouse. */
export const createLetterReads = (
  bus: Bus,
  clickhouse: Clickhouse,
  streams: () => readonly AccountedStream[],
): LetterReads => {
  const reader = createStreamReader(bus);
  let known: { readonly state: string; readonly kept: ReadonlySet<string> | undefined } | undefined;

  /** Undefined where there is a letter that this program cannot read. */
  const readAll = async (): Promise<ReadonlySet<string> | undefined> => {
    const kept = new Set<string>();
    for (let from: number | undefined = 1; from !== undefined; ) {
      const { entries, next } = await reader.readForwards(deadLetterStream, {
        fromSequence: from,
        limit: pageMax,
      });
      for (const entry of entries) {
        const letter = readLetter(entry);
        if (letter === undefined) return undefined;
        const message = messageOf(letter);
        const { ordinal = -1, redrive } = letter.header;
        if (message === undefined || itemsOf(letter) === 0) continue;
        kept.add(textOfOwnLetter({ ...message, ordinal, redrive }));
        // A message of which a part cannot be read: its letter names no owner, and its next settlement writes the first record again.
        if (letter.header.reason === 'unreadable_message')
          for (let earlier = 0; earlier <= redrive; earlier++)
            kept.add(textOfLetter({ ...message, ordinal, redrive: earlier }));
      }
      from = next;
    }
    return kept;
  };

  return {
    readState: async () => {
      try {
        return stateText((await readStream(bus, deadLetterStream)).stream);
      } catch (error) {
        if (isStreamMissing(error)) return '';
        throw error;
      }
    },
    readOpen: () => readOpenLetters(clickhouse, openMax),
    readKept: async () => {
      const { stream } = await readStream(bus, deadLetterStream);
      if (stream.state.messages > keptMax) return undefined;
      const text = stateText(stream);
      if (known?.state !== text) known = { state: text, kept: await readAll() };
      return known.kept;
    },
    readEnds: async () => {
      const ends = new Map<string, number>();
      for (const { name, isUnread, isGone } of streams())
        if (isUnread !== true) ends.set(name, isGone === true ? 0 : await endOf(bus, name));
      return ends;
    },
    readRedrives: async (stream, last) => {
      const now = streams().find(({ name }) => name === stream);
      if (now?.isUnread === true) return undefined;
      return now?.isGone === true ? new Set() : readRedrivesIn(bus, reader, stream, last);
    },
  };
};

/** Whether surely more messages wait up to this sequence than are read: those beyond it are at most as many as their sequences. */
const hasMany = async (bus: Bus, stream: string, last: number): Promise<boolean> => {
  const { messages, last_seq: end } = (await readStream(bus, stream)).stream.state;
  return messages - Math.max(0, end - last) > waitingMax;
};

const endOf = async (bus: Bus, stream: string): Promise<number> => {
  try {
    return (await readStream(bus, stream)).stream.state.last_seq;
  } catch (error) {
    if (isStreamMissing(error)) return 0;
    throw error;
  }
};
