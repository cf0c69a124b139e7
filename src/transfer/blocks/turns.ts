import type { BlocksEnvelope, BlocksHeader } from '../../wire/blocks-envelope.ts';
import type { HeldMessage } from '../held-message.ts';
import type { DeadLettered, Written } from '../sink.ts';
import { byTableAndDay, type Piece, piecesOf } from './pieces.ts';

type Held = HeldMessage<BlocksEnvelope>;

/**
 * Tables and days of one write: each is an insert of about a tenth of a second, and items of all owners wait for the end of the write. A
 * message may have 256, a request 2,048.
 */
export const tablesAndDaysMax = 32;

/** Where inserts are slow, a batch with a wide message, or with more tables and days than a turn has, is written in smaller turns of about this time. */
const turnSeconds = 2;
const tablesAndDaysMin = 4;

/** Tables and days of a message that is not wide. */
const narrowMax = 16;

/** Whether a message has more than that: it may be stored over many writes, while others come. */
export const isWide = ({ parts }: BlocksHeader): boolean =>
  parts.length > narrowMax &&
  new Set(parts.map(({ itemTable, day }) => `${itemTable} ${day}`)).size > narrowMax;

/** What one write stores of the messages of its batch. It is the same at each try of the batch. */
export type Turn = {
  /** The pieces of these messages by table and day, those of messages with few of them first. */
  piecesOf(messages: readonly Held[]): Piece[][];
  /** Whether a message of these has no pieces beyond the turn. */
  completes(messages: readonly Held[]): boolean;
  /** Call it when its pieces are stored or refused: the result, in which messages with further pieces are unfinished. */
  end(written: Written<BlocksEnvelope>): Written<BlocksEnvelope>;
};

/** Writes messages of many days in several turns, with the messages that have arrived meanwhile. */
export type Turns = {
  next(batch: readonly Held[]): Turn;
  /** How long an insert of the last turn took, seconds on average. Call it between two turns, and not between two tries of one. */
  took(secondsEach: number): void;
};

/**
 * At most `count` tables and days, in the order of their inserts. The oldest message has half of them at least, so that messages of few days do
 * not hold it up for ever.
 */
const choose = (batch: readonly (readonly Piece[])[], count: number): ReadonlySet<string> => {
  const chosen = new Set<string>();
  const each = batch.map((pieces) => new Set(pieces.map(({ tableAndDay }) => tableAndDay)));
  const fewestFirst = each.toSorted((a, b) => a.size - b.size);
  const take = (keys: ReadonlySet<string> | undefined, most: number): void => {
    for (const key of keys ?? []) {
      if (chosen.size >= most) return;
      chosen.add(key);
    }
  };
  for (const keys of fewestFirst) take(keys, Math.floor(count / 2));
  take(each[0], count);
  for (const keys of fewestFirst) take(keys, count);
  return chosen;
};

export const createTurns = (): Turns => {
  /** The pieces that no turn had yet, of messages that are unfinished. */
  const left = new WeakMap<Held, readonly Piece[]>();
  /** What earlier turns refused of them. */
  const refused = new WeakMap<Held, readonly DeadLettered[]>();
  let count = tablesAndDaysMax;
  const leftOf = (message: Held): readonly Piece[] => left.get(message) ?? piecesOf([message]);

  const endOf = (own: ReadonlyMap<Held, readonly Piece[]>, chosen: ReadonlySet<string>): Turn['end'] => {
    return (written) => {
      const unfinished = new Set<Held>();
      const deadLettered = new Map<Held, readonly DeadLettered[]>();
      for (const [message, pieces] of own) {
        if (written.retryLater.has(message)) continue;
        const letters = [...(refused.get(message) ?? []), ...(written.deadLettered.get(message) ?? [])];
        const rest = pieces.filter(({ tableAndDay }) => !chosen.has(tableAndDay));
        if (rest.length > 0) {
          unfinished.add(message);
          left.set(message, rest);
          refused.set(message, letters);
        } else if (letters.length > 0) deadLettered.set(message, letters);
      }
      return { ...written, deadLettered, unfinished };
    };
  };

  return {
    next: (batch) => {
      const own = new Map(batch.map((message) => [message, leftOf(message)]));
      const all = new Set([...own.values()].flat().map(({ tableAndDay }) => tableAndDay));
      const isOrdinary = all.size <= tablesAndDaysMax && !batch.some((message) => message.isWide);
      const most = isOrdinary ? tablesAndDaysMax : count;
      const chosen = all.size <= most ? all : choose([...own.values()], most);
      const places = new Map([...chosen].map((key, place) => [key, place]));
      const placeOf = ([piece]: readonly Piece[]): number =>
        (piece && places.get(piece.tableAndDay)) ?? chosen.size;
      return {
        piecesOf: (messages) => {
          const pieces = messages.flatMap((message) => own.get(message) ?? []);
          const due = pieces.filter(({ tableAndDay }) => chosen.has(tableAndDay));
          return byTableAndDay(due).toSorted((a, b) => placeOf(a) - placeOf(b));
        },
        completes: (messages) =>
          messages.some((message) =>
            (own.get(message) ?? []).every(({ tableAndDay }) => chosen.has(tableAndDay)),
          ),
        end: endOf(own, chosen),
      };
    },
    took: (secondsEach) => {
      const fitting = Math.floor(turnSeconds / secondsEach);
      count = Math.min(tablesAndDaysMax, Math.max(tablesAndDaysMin, fitting));
    },
  };
};
