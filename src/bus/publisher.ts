import type { Msg } from '@nats-io/transport-node';
import { Fault } from '../model/fault.ts';
import { createBufferPool } from './buffer-pool.ts';
import type { Bus } from './connection.ts';
import { faultOfApiError } from './nats-fault.ts';
import { type Command, publishCommand } from './publish-command.ts';
import { isTooLarge } from './too-large.ts';

/** The result of a stored publish. */
export type Published = {
  /** The answer to its first try was a duplicate: this id was stored before. */
  readonly duplicate: boolean;
  /** The answer was a duplicate. After several tries the stored message may be one of them, or one from before. */
  readonly wasKnown: boolean;
  /** Tries until the answer. */
  readonly tries: number;
  /** Sequence of the stored message in its stream. */
  readonly sequence: number;
};

/** What goes with a publish beside its message; nothing of it is part of the identity of the message. */
export type PublishOptions = {
  readonly traceparent?: string | undefined;
  /** Its place in the publishers' book, the same in all tries. */
  readonly serial?: string | undefined;
  /** When it fails without a confirmation, ms of `performance.now()`; by default after the publisher's own deadline. */
  readonly deadlineAt?: number | undefined;
};

/** The bytes of a message, or its parts one after the other; text goes as UTF-8. They are copied before `publish` returns. */
export type Payload = Uint8Array | readonly (Uint8Array | string)[];

/**
 * Publishes to JetStream and waits for the PubAck. A publish without an answer is sent again with the same id, at once after
 * a reconnect, until its deadline. Rejects with a transient Fault: `not_stored` (nothing was stored: safe to send again) or
 * `unconfirmed` (it was sent and no answer came: it may be stored); or with a permanent one, at once and with nothing stored:
 * `message_too_large`.
 */
export type Publisher = {
  publish(
    subject: string,
    messageId: string,
    payload: Payload,
    version: number,
    options?: PublishOptions,
  ): Promise<Published>;
  /** Publishes that wait for their answer. */
  readonly pending: number;
  /** The bytes that a message with its header may have; undefined while the server has not told it. */
  readonly sizeMax: number | undefined;
  /** Asks the server for it again, where it was not asked lately: it may have been raised. */
  askSizeMax(): Promise<void>;
  close(): void;
};

export type PublisherOptions = {
  /** Total time of a publish without a deadline of its own, ms. */
  readonly deadlineMs: number;
  /** How long after its loss publishes wait for the connection to come back, and for a server that takes none to begin, ms. */
  readonly awayMs: number;
  /**
   * Whether a stream for this subject exists, as far as this process knows. A publish to a subject without one fails at once, as
   * `not_stored`, instead of waiting for a stream. All have one by default.
   */
  readonly hasStream?: (subject: string) => boolean;
  /** Looks whether the streams are there; asked when nobody takes a publish whose stream was there at the last look. */
  readonly lookAgain?: () => Promise<void>;
};

type Entry = {
  readonly command: Command;
  readonly subject: string;
  readonly deadlineAt: number;
  readonly resolve: (published: Published) => void;
  readonly reject: (fault: Fault) => void;
  sentAt: number;
  tries: number;
  /** Tries that were sent without an answer so far: above 0, the message may be stored. */
  unanswered: number;
};

const sweepMs = 50;
const resendMs = 2_000;
const freeBytesMax = 4 * 2 ** 20;
const refusedResendMs = 250;

/** Sentinel for "no responders"; JetStream has no error code 0. */
const noResponders = 0;

type PubAck = { seq?: number; duplicate?: boolean; error?: { err_code: number; description: string } };

const parsePubAck = (message: Msg): PubAck => {
  // A status without body: no responders, that is, JetStream is not available (yet).
  if (message.data.length === 0)
    return { error: { err_code: noResponders, description: 'no answer from JetStream' } };
  return message.json<PubAck>();
};

const publishedOf = ({ seq = 0, duplicate = false }: PubAck, tries: number): Published => ({
  duplicate: duplicate && tries === 1,
  wasKnown: duplicate,
  tries,
  sequence: seq,
});

/** The error of a publish that did not succeed. A Fault is one that every later try would have: where nothing was stored, it is the error. */
const failure = (entry: Entry, why: string | Fault): Fault => {
  if (entry.unanswered > 0) {
    const text = why instanceof Fault ? why.message : why;
    return new Fault('transient', 'unconfirmed', `published, but not confirmed: ${text}`);
  }
  return why instanceof Fault ? why : new Fault('transient', 'not_stored', `nothing was stored: ${why}`);
};

/** Judges publishes that nobody takes: their stream is missing, or the server starts or elects. */
const createUntaken = (
  { hasStream, lookAgain, awayMs }: PublisherOptions,
  fail: (token: string, entry: Entry, why: string) => void,
  isWaiting: (token: string) => boolean,
) => {
  const missing = 'no stream has its subject';
  let since: number | undefined;
  return {
    note: (token: string, entry: Entry): void => {
      if (hasStream?.(entry.subject) === false) return fail(token, entry, missing);
      const now = performance.now();
      since ??= now;
      if (now - since > awayMs) return fail(token, entry, 'JetStream is not available');
      lookAgain?.().then(
        () => {
          if (isWaiting(token) && hasStream?.(entry.subject) === false) fail(token, entry, missing);
        },
        () => {},
      );
    },
    /** Somebody takes them. */
    end: (): void => {
      since = undefined;
    },
  };
};

/** Fails those of this subject. The server took nothing of this try; an earlier one was on a connection with other rights. */
const failRefused = (
  entries: ReadonlyMap<string, Entry>,
  subject: string,
  fail: (token: string, entry: Entry, why: string) => void,
): void => {
  for (const [token, entry] of entries) {
    if (entry.subject !== subject) continue;
    entry.unanswered--;
    fail(token, entry, 'the user of NATS may not publish it');
  }
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the hot path of a publish: the state of its entries and their few steps.
export const createPublisher = (bus: Bus, options: PublisherOptions): Publisher => {
  const inbox = bus.inbox();
  const entries = new Map<string, Entry>();
  const pool = createBufferPool(freeBytesMax);
  let nextToken = 0;

  const send = (token: string, entry: Entry, now: number): void => {
    entry.sentAt = now;
    entry.tries++;
    entry.unanswered++;
    try {
      bus.sendCommand(entry.command);
    } catch (error) {
      entry.unanswered--;
      if (isTooLarge(error)) fail(token, entry, error);
    }
  };

  const fail = (token: string, entry: Entry, why: string | Fault): void => {
    entries.delete(token);
    entry.reject(failure(entry, why));
  };

  const untaken = createUntaken(options, fail, (token) => entries.has(token));

  const onAnswer = (message: Msg): void => {
    const token = message.subject.slice(inbox.length + 1);
    const entry = entries.get(token);
    if (entry === undefined) return;
    const ack = parsePubAck(message);
    if (ack.error?.err_code !== noResponders) untaken.end();
    if (ack.error === undefined) {
      entries.delete(token);
      // The server has all of it. Of a second try the bytes may still be on their way.
      if (entry.tries === 1) pool.give(entry.command.bytes);
      entry.resolve(publishedOf(ack, entry.tries));
      return;
    }
    entry.unanswered--;
    const fault = faultOfApiError(ack.error.err_code, ack.error.description);
    if (fault.code === 'stream_full') return fail(token, entry, 'the stream is full');
    if (ack.error.err_code === noResponders) untaken.note(token, entry);
    // Any other error passes while the server starts or elects; the sweep sends the message again.
    entry.sentAt = performance.now() - resendMs + refusedResendMs;
  };

  const subscription = bus.nc.subscribe(`${inbox}.*`, {
    callback: (error, message) => {
      if (error === null) onAnswer(message);
    },
  });

  const sweep = (): void => {
    const now = performance.now();
    const awaySince = bus.disconnectedSince;
    for (const [token, entry] of entries) {
      if (now > entry.deadlineAt) fail(token, entry, 'the deadline has passed');
      else if (awaySince !== undefined) {
        if (now - awaySince > options.awayMs) fail(token, entry, 'NATS is not connected');
      } else if (now - entry.sentAt > resendMs) send(token, entry, now);
    }
  };
  const timer = setInterval(sweep, sweepMs).unref();
  bus.onReconnect(() => {
    const now = performance.now();
    for (const [token, entry] of entries) send(token, entry, now);
  });
  bus.onRefused((subject) => failRefused(entries, subject, fail));
  return {
    publish: (subject, messageId, payload, version, { traceparent, serial, deadlineAt } = {}) =>
      new Promise((resolve, reject) => {
        const now = performance.now();
        const awaySince = bus.disconnectedSince;
        if (awaySince !== undefined && now - awaySince > options.awayMs) {
          reject(new Fault('transient', 'not_stored', 'nothing was stored: NATS is not connected'));
          return;
        }
        const token = String(nextToken++);
        const parts = payload instanceof Uint8Array ? [payload] : payload;
        const fields = { subject, reply: `${inbox}.${token}`, messageId, version, serial, traceparent };
        const entry: Entry = {
          command: publishCommand(fields, parts, pool),
          subject,
          deadlineAt: deadlineAt ?? now + options.deadlineMs,
          resolve,
          reject,
          sentAt: now,
          tries: 0,
          unanswered: 0,
        };
        entries.set(token, entry);
        if (awaySince === undefined) send(token, entry, now);
      }),
    get pending() {
      return entries.size;
    },
    get sizeMax() {
      return bus.nc.info?.max_payload;
    },
    askSizeMax: bus.askSizeMax,
    close: () => {
      clearInterval(timer);
      subscription.unsubscribe();
    },
  };
};
