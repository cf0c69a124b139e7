import type { Delivery } from '../bus/puller.ts';
import { setNewest } from '../model/bounded-map.ts';
import { serialText } from '../wire/message-serial.ts';
import type { HeldMessage } from './held-message.ts';

/** The wide messages that a worker does not take, so that room remains for others: a wide one is held over many writes. */
export type WideMessages<E> = {
  /**
   * The message as the worker takes it, or, where there is no room for it, the ms after which NATS is to deliver it again. Call it at once with
   * each delivery of a wide message.
   */
  admit(message: HeldMessage<E>, hasRoom: boolean): HeldMessage<E> | number;
  /** Whether one was returned in the last minute: more are waiting than are held. */
  readonly areWaiting: boolean;
};

const leastDelayMs = 1_000;
/**
 * However many wait, each process asks for this many bytes of them in a second: a fixed delay would bring all of them at once. It is more
 * than the store takes of them, so the held ones do not run out.
 */
const againBytesPerMs = (16 * 2 ** 20) / 1_000;
/** To read a header of many parts costs about as much as to take over these bytes. */
const headerBytes = 128 * 1024;
const waitingMs = 60_000;
/** More than a consumer delivers before some are acknowledged, as it is shipped. */
const knownMax = 8_192;

/** A stream that was made again has other messages under the same sequences. Undefined for a message whose serial is not known. */
const nameOf = ({ streamSequence, serial }: Delivery): string | undefined =>
  serial === undefined ? undefined : `${streamSequence} ${serialText(serial)}`;

/** `elapsed` is the clock of `createElapsed`, ms. */
export const createWideMessages = <E>(elapsed: () => number): WideMessages<E> => {
  /** By `nameOf`: how often NATS had delivered a message when this process returned it. No process had written any of it. */
  const untouched = new Map<string, number>();
  let nextAt = Number.NEGATIVE_INFINITY;
  let returnedAt = Number.NEGATIVE_INFINITY;

  /** Whether no process can have written any of it: this one alone had it, and returned it each time. */
  const isUntouched = (name: string | undefined, { redelivered, earlier }: Delivery): boolean =>
    earlier !== undefined && (!redelivered || (name !== undefined && untouched.get(name) === earlier));

  const delayFor = (bytes: number): number => {
    const now = elapsed();
    returnedAt = now;
    nextAt = Math.max(nextAt, now + leastDelayMs);
    const delayMs = Math.ceil(nextAt - now);
    nextAt += (headerBytes + bytes) / againBytesPerMs;
    return delayMs;
  };

  return {
    admit: (message, hasRoom) => {
      const { delivery } = message;
      const name = nameOf(delivery);
      const isNew = isUntouched(name, delivery);
      if (name !== undefined) untouched.delete(name);
      if (hasRoom)
        return isNew && delivery.redelivered
          ? { ...message, delivery: { ...delivery, redelivered: false } }
          : message;
      if (isNew && name !== undefined) setNewest(untouched, name, (delivery.earlier ?? 0) + 1, knownMax);
      return delayFor(message.bytes);
    },
    get areWaiting() {
      return elapsed() - returnedAt < waitingMs;
    },
  };
};
