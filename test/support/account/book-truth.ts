import type { Evidence, HeldMessage } from '../../../src/account/compare.ts';
import type { Difference } from '../../../src/account/difference.ts';
import type { BookHistory, Message } from './book-history.ts';
import { plainBooks, standingIn } from './plain-books.ts';

/** What a comparison has to say of a history, from what became of each message. */
export type Truth = {
  /** Items by minute and owner: of messages that are gone, or of an owner whose line is gone. */
  readonly missing: ReadonlyMap<string, number>;
  /** Of those, the items of owners whose message is settled; only where no message of the same life and minute is lost. */
  readonly unrecorded: ReadonlyMap<string, number>;
  readonly notCounted: ReadonlyMap<string, number>;
  readonly stuck: ReadonlyMap<string, number>;
  /** Messages that are gone, by minute. */
  readonly lostMessages: ReadonlyMap<number, number>;
  readonly inFlight: number;
  readonly pending: ReadonlySet<number>;
};

/** Keeps no zeros. */
const add = <K>(sums: Map<K, number>, key: K, items: number): void => {
  if (items !== 0) sums.set(key, items + (sums.get(key) ?? 0));
};

export const keyOf = ({ minute, dataId }: Pick<Difference, 'minute' | 'dataId'>): string =>
  `${minute} ${dataId}`;

export const sumsOf = (
  differences: readonly Difference[],
  ...kinds: readonly string[]
): Map<string, number> => {
  const sums = new Map<string, number>();
  for (const each of differences) if (kinds.includes(each.kind)) add(sums, keyOf(each), each.items);
  return sums;
};

export const heldOf = (sequence: number, { life, serial, minute, owners }: Message): HeldMessage => ({
  ...{ sequence, life, serial, minute },
  items: [...owners].map(([dataId, items]) => ({ dataId, appId: 0, items })),
});

/** Messages that wait in the stream, those with a line not among them. */
export const waitingIn = ({ stream, settled }: BookHistory): [number, Message][] =>
  [...stream.messages].filter(
    ([sequence, { life, serial }]) =>
      !settled.some((line) =>
        life === 0
          ? line.life === 0 && line.sequence === sequence
          : line.life === life && line.serial === serial,
      ),
  );

type Fate = 'settled' | 'lost' | 'waiting' | 'stuck';

/**
 * `isHeldRead`: the messages of the stream were read one by one. Of one life, minute and owner, items that are missing and items that are
 * settled but not in the published line (a doubtful line that was lost) cancel: the books have sums.
 */
export const truthOf = (history: BookHistory, isHeldRead: boolean, silent: ReadonlySet<number>): Truth => {
  const { stream, settled, published, messages } = history;
  const { of: standing } = standingIn(history);
  const waiting = waitingIn(history);
  const stuckMessages = new Set(
    waiting.filter(([sequence]) => sequence <= stream.floor).map(([, message]) => message),
  );
  const waitingMessages = new Set(waiting.map(([, message]) => message));
  const lines = new Set(settled.map(({ life, serial, owner }) => `${life} ${serial} ${owner}`));
  const hasLine = ({ life, serial }: Message, owner: number): boolean =>
    lines.has(`${life} ${serial} ${owner}`);
  const fateOf = (message: Message): Fate => {
    if ([0, ...message.owners.keys()].some((owner) => hasLine(message, owner))) return 'settled';
    if (stuckMessages.has(message)) return 'stuck';
    return waitingMessages.has(message) ? 'waiting' : 'lost';
  };

  const truth = {
    ...{
      missing: new Map<string, number>(),
      unrecorded: new Map<string, number>(),
      notCounted: new Map<string, number>(),
    },
    ...{
      stuck: new Map<string, number>(),
      lostMessages: new Map<number, number>(),
      inFlight: 0,
      pending: new Set<number>(),
    },
  };
  // Without a serial nothing tells two copies of a message from two messages.
  const unbooked = waiting.flatMap(([sequence, message]) =>
    message.life === 0 && sequence <= stream.floor ? [message] : [],
  );
  const booked = [...stuckMessages].filter(({ life }) => life > 0);
  for (const { minute, owners } of [...booked, ...unbooked])
    for (const [owner, items] of owners) add(truth.stuck, `${minute} ${owner}`, items);

  const places = new Map(
    published.filter(({ owner }) => owner === 0).map((line) => [`${line.life} ${line.minute}`, line]),
  );
  for (const { life, minute } of places.values()) {
    const ofPlace = messages.filter(
      (each) => each.life === life && each.minute === minute && each.result !== 'nothing',
    );
    const named = published.filter((line) => line.life === life && line.minute === minute);
    const sequenceLast = Math.max(...named.map((line) => line.sequenceLast));
    const isDue = !stream.exists || stream.floor >= Math.min(sequenceLast, stream.last);
    const isWhole = isDue || isHeldRead;
    const lost = ofPlace.filter(
      (each) => each.result === 'stored' && fateOf(each) === 'lost' && standing(each, 0) === 'counted',
    );
    if (isWhole) add(truth.lostMessages, minute, lost.length);
    const owners = new Set(ofPlace.flatMap((each) => [...each.owners.keys()]));
    let onTheWay = 0;
    for (const owner of owners) {
      let [missing, waits] = [0, 0];
      for (const message of ofPlace) {
        const items = message.owners.get(owner) ?? 0;
        if (items === 0 || standing(message, owner) !== 'counted') continue;
        const fate = fateOf(message);
        const isThere = hasLine(message, owner) || fate === 'stuck' || (fate === 'waiting' && isHeldRead);
        if (fate === 'waiting' && (message.result === 'stored' || (isHeldRead && isWhole))) waits += items;
        // Its doubtful line was lost: it is there, and no line of a publisher has it.
        if (message.result !== 'stored') missing -= isThere ? items : 0;
        else if (fate !== 'waiting') missing += isThere ? 0 : items;
      }
      if (!isWhole) onTheWay += Math.max(0, missing + waits);
      else {
        onTheWay += waits;
        add(truth.missing, `${minute} ${owner}`, Math.max(0, missing));
        add(truth.notCounted, `${minute} ${owner}`, Math.max(0, -missing));
        if (lost.length === 0) add(truth.unrecorded, `${minute} ${owner}`, Math.max(0, missing));
      }
    }
    truth.inFlight += onTheWay;
    if (onTheWay > 0 || !isDue) truth.pending.add(minute);
  }
  for (const message of messages)
    for (const [owner, items] of message.owners)
      if (silent.has(message.life) && hasLine(message, owner) && standing(message, owner) === 'beyond')
        add(truth.notCounted, `${message.minute} ${owner}`, items);
  return truth;
};

/** What a look would read of a history. */
export const evidenceOf = (history: BookHistory, isHeldRead: boolean): Evidence => {
  const { stream, settled, receivers, messages } = history;
  const waiting = waitingIn(history).map(([sequence, message]) => heldOf(sequence, message));
  const sequences = new Set([...settled.map(({ sequence }) => sequence), ...stream.messages.keys()]);
  return {
    stream: 'METRICS',
    queue: {
      ...{ exists: stream.exists, last: stream.last, floor: stream.floor, messages: stream.messages.size },
      first: Math.min(...stream.messages.keys()),
      begin: 1,
      end: stream.last,
    },
    ...plainBooks(history, new Set(messages.map(({ minute }) => minute))),
    stuck: waiting.filter(({ sequence }) => sequence <= stream.floor),
    isDoubtful: standingIn(history).isDoubtful,
    held: isHeldRead ? waiting : undefined,
    silent: new Set(receivers.filter(({ state }) => state === 'killed').map(({ life }) => life)),
    gapsOf: ({ sequenceFirst, sequenceLast }) => {
      if (!stream.exists || sequenceFirst === 0) return 0;
      let gaps = 0;
      for (let each = sequenceFirst; each <= Math.min(sequenceLast, stream.last); each++)
        if (!sequences.has(each)) gaps++;
      return gaps;
    },
  };
};
