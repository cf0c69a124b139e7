import { createInbox, type Msg } from '@nats-io/transport-node';
import { Fault } from '../model/fault.ts';
import { backOffMs } from '../runtime/back-off.ts';
import { batchAnswerOf, type PubAck } from './batch-answers.ts';
import { createBufferPool } from './buffer-pool.ts';
import type { Bus } from './connection.ts';
import { publishCommand } from './publish-command.ts';
import type { Payload, Publisher, PublisherOptions } from './publisher.ts';

/** A message that is stored together with others. Its payload must not change until the batch is settled. */
export type BatchMessage = {
  readonly subject: string;
  /** Of nobody else's: it is minted for this batch. */
  readonly messageId: string;
  readonly payload: Payload;
};

/** What is stored whole or not at all: messages for one stream, in order. */
export type MessageBatch = {
  readonly messages: readonly BatchMessage[];
  readonly version: number;
  /** Goes with each message and is no part of what it is. */
  readonly traceparent?: string | undefined;
  /** When it fails for want of a confirmation, ms of `performance.now()`. */
  readonly deadlineAt: number;
};

/**
 * Publishes several messages to JetStream so that all of them are stored or none is (atomic batch publish), and waits for the
 * PubAck. The stream has to allow it. A try without an answer is followed by another one, at once after a reconnect, until
 * the deadline. Rejects with a transient Fault: `not_stored` (nothing was stored: safe to send again) or `unconfirmed` (all of it may be
 * stored, or nothing).
 */
export type BatchPublisher = {
  publish(batch: MessageBatch): Promise<void>;
  /** Batches that wait for their turn or their answer. */
  readonly pending: number;
  close(): void;
};

export type BatchPublisherOptions = Pick<PublisherOptions, 'awayMs' | 'hasStream'> & {
  /** Batches under way at once; more wait for their turn. */
  readonly underWayMax?: number;
};

/**
 * The server takes 50 unfinished batches a stream, those of killed publishers for 10 s more. This limit per process leaves
 * room for a dozen; what is refused for want of it is tried again.
 */
const underWayMaxDefault = 4;

const sweepMs = 50;
/** Without an answer to its first message a try is given up after this, and to its last one after the other. */
const resendMs = { opening: 2_000, committing: 4_000 };
const rests = { firstMs: 200, mostMs: 1_000 };

/** `opening`: the first message waits for its answer; `committing`: the last one does; `completing`: message by message. */
type Step = 'waiting' | 'resting' | 'opening' | 'committing' | 'completing';

type Entry = {
  readonly batch: MessageBatch;
  readonly startedAt: number;
  readonly resolve: () => void;
  readonly reject: (fault: Fault) => void;
  step: Step;
  /** The last try, counted from 1. */
  tries: number;
  /** When the try or the rest began. */
  since: number;
  /** Tries whose last message was sent and that may have been stored. */
  readonly open: Set<number>;
  /** The try that was told that the stream has no room. */
  fullTry: number | undefined;
};

const noCopies = createBufferPool(0);

const parseAnswer = (message: Msg): PubAck | 'empty' | 'no_responders' => {
  if (message.headers !== undefined && message.headers.code === 503) return 'no_responders';
  return message.data.length === 0 ? 'empty' : message.json<PubAck>();
};

export const createBatchPublisher = (
  bus: Bus,
  publisher: Pick<Publisher, 'publish'>,
  { awayMs, hasStream, underWayMax = underWayMaxDefault }: BatchPublisherOptions,
): BatchPublisher => {
  const inbox = createInbox();
  /** In the order in which they came: the first ones are under way. */
  const entries = new Map<string, Entry>();
  let underWay = 0;
  let nextToken = 0;

  const idOf = ({ batch }: Entry, tries: number): string => `${batch.messages[0]?.messageId ?? ''}:${tries}`;

  const send = (token: string, entry: Entry, index: number): void => {
    const { batch, tries } = entry;
    const message = batch.messages[index];
    if (message === undefined) return;
    const { subject, messageId, payload } = message;
    const isLast = index === batch.messages.length - 1;
    const { bytes, size } = publishCommand(
      {
        subject,
        messageId,
        version: batch.version,
        traceparent: batch.traceparent,
        batch: { id: idOf(entry, tries), sequence: index + 1, isLast },
        ...(index === 0 || isLast ? { reply: `${inbox}.${token}.${tries}` } : {}),
      },
      payload instanceof Uint8Array ? [payload] : payload,
      noCopies,
    );
    // Whether the whole of it went out is not known from here on.
    if (isLast) entry.open.add(tries);
    bus.sendCommand({ bytes, size });
  };

  const settle = (token: string, entry: Entry): void => {
    if (entry.step !== 'waiting') underWay--;
    entries.delete(token);
    startWaiting();
  };

  const fail = (token: string, entry: Entry, why: string): void => {
    settle(token, entry);
    entry.reject(
      entry.open.size === 0
        ? new Fault('transient', 'not_stored', `nothing was stored: ${why}`)
        : new Fault('transient', 'unconfirmed', `published, but not confirmed: ${why}`),
    );
  };

  const rest = (entry: Entry): void => {
    entry.step = 'resting';
    entry.since = performance.now();
  };

  const startTry = (token: string, entry: Entry): void => {
    if (entry.step === 'waiting') underWay++;
    entry.step = 'opening';
    entry.since = performance.now();
    entry.tries++;
    try {
      send(token, entry, 0);
    } catch {
      rest(entry);
    }
  };

  const startWaiting = (): void => {
    if (underWay >= underWayMax || bus.disconnectedSince !== undefined) return;
    for (const [token, entry] of entries) {
      if (underWay >= underWayMax) return;
      if (entry.step === 'waiting') startTry(token, entry);
    }
  };

  const commit = (token: string, entry: Entry): void => {
    entry.step = 'committing';
    entry.since = performance.now();
    try {
      for (let index = 1; index < entry.batch.messages.length; index++) send(token, entry, index);
    } catch {
      rest(entry);
    }
  };

  /**
   * Some of it is stored, so that all of it has to be: as a rule it is all of an earlier try whose answer was lost, and each message is
   * answered as a duplicate. A server that failed in the middle of a commit may have kept a part.
   */
  const complete = (token: string, entry: Entry): void => {
    const { messages, version, traceparent, deadlineAt } = entry.batch;
    entry.step = 'completing';
    entry.open.add(entry.tries);
    const publishing = messages.map(({ subject, messageId, payload }) =>
      publisher.publish(subject, messageId, payload, version, traceparent, deadlineAt),
    );
    Promise.all(publishing).then(
      () => {
        settle(token, entry);
        entry.resolve();
      },
      () => fail(token, entry, 'NATS did not confirm a part of the batch'),
    );
  };

  /** A server that answers so may have failed at the last message of a commit. Refused again, it knew none of the ids. */
  const onFull = (token: string, entry: Entry, tries: number): void => {
    if (entry.fullTry === undefined) {
      entry.fullTry = tries;
      startTry(token, entry);
      return;
    }
    entry.open.delete(entry.fullTry);
    entry.open.delete(tries);
    fail(token, entry, 'the stream is full');
  };

  const onNoResponders = (token: string, entry: Entry, tries: number): void => {
    entry.open.delete(tries);
    const [first] = entry.batch.messages;
    if (first !== undefined && hasStream?.(first.subject) === false)
      fail(token, entry, 'no stream has its subject');
    else if (tries === entry.tries) rest(entry);
  };

  const onAnswer = (message: Msg): void => {
    const [token = '', tryText] = message.subject.slice(inbox.length + 1).split('.');
    const entry = entries.get(token);
    if (entry === undefined || entry.step === 'completing') return;
    const tries = Number(tryText);
    const isCurrent = tries === entry.tries;
    const answer = parseAnswer(message);
    if (answer === 'no_responders') return onNoResponders(token, entry, tries);
    if (answer === 'empty') {
      if (isCurrent && entry.step === 'opening') commit(token, entry);
      return;
    }
    const { messages } = entry.batch;
    switch (batchAnswerOf(answer, idOf(entry, tries), messages.length)) {
      case 'stored':
        settle(token, entry);
        entry.resolve();
        return;
      case 'known':
        complete(token, entry);
        return;
      case 'full':
        onFull(token, entry, tries);
        return;
      case 'refused':
        entry.open.delete(tries);
        break;
      case 'unclear':
        break;
    }
    if (isCurrent) rest(entry);
  };

  const subscription = bus.nc.subscribe(`${inbox}.>`, {
    callback: (error, message) => {
      if (error === null) onAnswer(message);
    },
  });

  const sweepEntry = (token: string, entry: Entry, now: number): void => {
    const { step, since, batch, startedAt } = entry;
    const awaySince = bus.disconnectedSince;
    if (step === 'completing') return;
    if (now > batch.deadlineAt) return fail(token, entry, 'the deadline has passed');
    if (awaySince !== undefined) {
      if (now - Math.max(awaySince, startedAt) > awayMs) fail(token, entry, 'NATS is not connected');
      return;
    }
    if (step === 'waiting') return;
    const waitMs = step === 'resting' ? backOffMs(rests, entry.tries) : resendMs[step];
    if (now - since > waitMs) startTry(token, entry);
  };
  const timer = setInterval(() => {
    if (entries.size === 0) return;
    const now = performance.now();
    for (const [token, entry] of entries) sweepEntry(token, entry, now);
    startWaiting();
  }, sweepMs);
  timer.unref();
  bus.onReconnect(() => {
    // What the lost connection had taken is gone with it, or finished by a try that is told of it.
    for (const [token, entry] of entries)
      if (entry.step !== 'waiting' && entry.step !== 'completing') startTry(token, entry);
    startWaiting();
  });

  return {
    publish: (batch) =>
      new Promise((resolve, reject) => {
        const now = performance.now();
        const awaySince = bus.disconnectedSince;
        if (awaySince !== undefined && now - awaySince > awayMs) {
          reject(new Fault('transient', 'not_stored', 'nothing was stored: NATS is not connected'));
          return;
        }
        entries.set(String(nextToken++), {
          batch,
          startedAt: now,
          resolve,
          reject,
          step: 'waiting',
          tries: 0,
          since: now,
          open: new Set(),
          fullTry: undefined,
        });
        startWaiting();
      }),
    get pending() {
      return entries.size;
    },
    close: () => {
      clearInterval(timer);
      subscription.unsubscribe();
    },
  };
};
