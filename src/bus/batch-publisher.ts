import type { Msg } from '@nats-io/transport-node';
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
  /** Belongs to this batch alone. */
  readonly messageId: string;
  readonly payload: Payload;
  /** Its place in the publishers' book, the same in all tries. */
  readonly serial?: string | undefined;
};

/** Messages for one stream, in order, that are stored whole or not at all. */
export type MessageBatch = {
  readonly messages: readonly BatchMessage[];
  readonly version: number;
  /** Goes with each message and is no part of its identity. */
  readonly traceparent?: string | undefined;
  /** When it fails without a confirmation, ms of `performance.now()`. */
  readonly deadlineAt: number;
};

/**
 * Publishes several messages to JetStream so that all of them are stored or none is (atomic batch publish), and waits for the
 * PubAck. The stream has to allow it. After a try without an answer comes another one, at once after a reconnect, until the
 * deadline. Rejects with a transient Fault: `not_stored` (nothing was stored: safe to send again) or `unconfirmed` (all of it may
 * be stored, or nothing).
 */
export type BatchPublisher = {
  /** The sequences of the messages in their stream, in their order. */
  publish(batch: MessageBatch): Promise<readonly number[]>;
  /** Batches that wait for their turn or their answer. */
  readonly pending: number;
  close(): void;
};

export type BatchPublisherOptions = Pick<PublisherOptions, 'awayMs' | 'hasStream' | 'lookAgain'> & {
  /** Batches in progress at once; more wait for their turn. */
  readonly underWayMax?: number;
};

/**
 * The server accepts 50 unfinished batches per stream, those of killed publishers for 10 s more. This limit per process leaves room
 * for a dozen processes; a batch that is refused for lack of room is retried.
 */
const underWayMaxDefault = 4;

const sweepMs = 50;
/** How long a try waits for the answer to its first message, and to its last one, ms. */
const resendMs = { opening: 2_000, committing: 4_000 };
const rests = { firstMs: 200, mostMs: 1_000 };

/** `opening`: the first message waits for its answer; `committing`: the last one does; `completing`: message by message. */
type Step = 'waiting' | 'resting' | 'opening' | 'committing' | 'completing';

type Entry = {
  readonly batch: MessageBatch;
  readonly resolve: (sequences: readonly number[]) => void;
  readonly reject: (fault: Fault) => void;
  step: Step;
  /** The last try, counted from 1. */
  tries: number;
  /** When the try or the rest began. */
  since: number;
  /** Tries whose last message was sent and that may have been stored. */
  readonly open: Set<number>;
  /** The try that was refused because the stream is full. */
  fullTry: number | undefined;
};

const noCopies = createBufferPool(0);

/** The server gives the messages of a batch consecutive sequences; its answer names the last one. */
const sequencesUpTo = (last: number, messages: number): number[] =>
  Array.from({ length: messages }, (_, index) => Math.max(0, last - messages + 1 + index));

const parseAnswer = (message: Msg): PubAck | 'empty' | 'no_responders' => {
  if (message.headers !== undefined && message.headers.code === 503) return 'no_responders';
  return message.data.length === 0 ? 'empty' : message.json<PubAck>();
};

/** Batches and their tries: waiting -> opening -> committing -> settled; a try that failed rests before the next one. */
class BatchTries implements BatchPublisher {
  private readonly bus: Bus;
  private readonly publisher: Pick<Publisher, 'publish'>;
  private readonly awayMs: number;
  private readonly hasStream: BatchPublisherOptions['hasStream'];
  private readonly lookAgain: BatchPublisherOptions['lookAgain'];
  /** Since when nobody takes what is published; undefined while somebody does. */
  private untakenSince: number | undefined;
  private readonly underWayMax: number;
  private readonly inbox: string;
  /** In the order of arrival: the first ones are in progress. */
  private readonly entries = new Map<string, Entry>();
  private underWay = 0;
  private nextToken = 0;
  private readonly subscription: { unsubscribe(): void };
  private readonly timer: NodeJS.Timeout;

  constructor(
    bus: Bus,
    publisher: Pick<Publisher, 'publish'>,
    { awayMs, hasStream, lookAgain, underWayMax = underWayMaxDefault }: BatchPublisherOptions,
  ) {
    this.bus = bus;
    this.inbox = bus.inbox();
    this.publisher = publisher;
    this.awayMs = awayMs;
    this.hasStream = hasStream;
    this.lookAgain = lookAgain;
    this.underWayMax = underWayMax;
    this.subscription = bus.nc.subscribe(`${this.inbox}.>`, {
      callback: (error, message) => {
        if (error === null) this.onAnswer(message);
      },
    });
    this.timer = setInterval(() => this.sweep(), sweepMs).unref();
    bus.onReconnect(() => this.onReconnect());
    bus.onRefused((subject) => this.onRefused(subject));
  }

  publish(batch: MessageBatch): Promise<readonly number[]> {
    return new Promise((resolve, reject) => {
      const now = performance.now();
      const awaySince = this.bus.disconnectedSince;
      if (awaySince !== undefined && now - awaySince > this.awayMs) {
        reject(new Fault('transient', 'not_stored', 'nothing was stored: NATS is not connected'));
        return;
      }
      this.entries.set(String(this.nextToken++), {
        batch,
        resolve,
        reject,
        step: 'waiting',
        tries: 0,
        since: now,
        open: new Set(),
        fullTry: undefined,
      });
      this.startWaiting();
    });
  }

  get pending(): number {
    return this.entries.size;
  }

  close(): void {
    clearInterval(this.timer);
    this.subscription.unsubscribe();
  }

  private idOf({ batch }: Entry, tries: number): string {
    return `${batch.messages[0]?.messageId ?? ''}:${tries}`;
  }

  private send(token: string, entry: Entry, index: number): void {
    const { batch, tries } = entry;
    const message = batch.messages[index];
    if (message === undefined) return;
    const { subject, messageId, payload, serial } = message;
    const isLast = index === batch.messages.length - 1;
    const { bytes, size } = publishCommand(
      {
        subject,
        messageId,
        version: batch.version,
        serial,
        traceparent: batch.traceparent,
        batch: { id: this.idOf(entry, tries), sequence: index + 1, isLast },
        ...(index === 0 || isLast ? { reply: `${this.inbox}.${token}.${tries}` } : {}),
      },
      payload instanceof Uint8Array ? [payload] : payload,
      noCopies,
    );
    // From here on it is unknown whether the whole of it was sent.
    if (isLast) entry.open.add(tries);
    this.bus.sendCommand({ bytes, size });
  }

  private settle(token: string, entry: Entry): void {
    if (entry.step !== 'waiting') this.underWay--;
    this.entries.delete(token);
    this.startWaiting();
  }

  private fail(token: string, entry: Entry, why: string): void {
    this.settle(token, entry);
    entry.reject(
      entry.open.size === 0
        ? new Fault('transient', 'not_stored', `nothing was stored: ${why}`)
        : new Fault('transient', 'unconfirmed', `published, but not confirmed: ${why}`),
    );
  }

  private rest(entry: Entry): void {
    entry.step = 'resting';
    entry.since = performance.now();
  }

  private startTry(token: string, entry: Entry): void {
    if (entry.step === 'waiting') this.underWay++;
    entry.step = 'opening';
    entry.since = performance.now();
    entry.tries++;
    try {
      this.send(token, entry, 0);
    } catch {
      this.rest(entry);
    }
  }

  private startWaiting(): void {
    if (this.underWay >= this.underWayMax || this.bus.disconnectedSince !== undefined) return;
    for (const [token, entry] of this.entries) {
      if (this.underWay >= this.underWayMax) return;
      if (entry.step === 'waiting') this.startTry(token, entry);
    }
  }

  private commit(token: string, entry: Entry): void {
    entry.step = 'committing';
    entry.since = performance.now();
    try {
      for (let index = 1; index < entry.batch.messages.length; index++) this.send(token, entry, index);
    } catch {
      this.rest(entry);
    }
  }

  /**
   * A part of it is stored, so all of it has to be: as a rule an earlier try stored all of it and its answer was lost, and the
   * answer to each message is a duplicate. A server that failed in the middle of a commit may have kept a part.
   */
  private complete(token: string, entry: Entry): void {
    const { messages, version, traceparent, deadlineAt } = entry.batch;
    entry.step = 'completing';
    entry.open.add(entry.tries);
    const publishing = messages.map(({ subject, messageId, payload, serial }) =>
      this.publisher.publish(subject, messageId, payload, version, { traceparent, serial, deadlineAt }),
    );
    Promise.all(publishing).then(
      (published) => {
        this.settle(token, entry);
        entry.resolve(published.map(({ sequence }) => sequence));
      },
      () => this.fail(token, entry, 'NATS did not confirm a part of the batch'),
    );
  }

  /** A server with this answer may have failed at the last message of a commit. A second refusal means that it knew none of the ids. */
  private onFull(token: string, entry: Entry, tries: number): void {
    if (entry.fullTry === undefined) {
      entry.fullTry = tries;
      this.startTry(token, entry);
      return;
    }
    entry.open.delete(entry.fullTry);
    entry.open.delete(tries);
    this.fail(token, entry, 'the stream is full');
  }

  /** The stream is missing, or the server starts or elects. */
  private onNoResponders(token: string, entry: Entry, tries: number): void {
    entry.open.delete(tries);
    const subject = entry.batch.messages[0]?.subject ?? '';
    const isMissing = (): boolean => this.hasStream?.(subject) === false;
    const missing = 'no stream has its subject';
    if (isMissing()) return this.fail(token, entry, missing);
    const now = performance.now();
    this.untakenSince ??= now;
    if (now - this.untakenSince > this.awayMs) return this.fail(token, entry, 'JetStream is not available');
    if (tries === entry.tries) this.rest(entry);
    this.lookAgain?.().then(
      () => {
        if (this.entries.get(token) === entry && isMissing()) this.fail(token, entry, missing);
      },
      () => {},
    );
  }

  private onAnswer(message: Msg): void {
    const [token = '', tryText] = message.subject.slice(this.inbox.length + 1).split('.');
    const entry = this.entries.get(token);
    if (entry === undefined || entry.step === 'completing') return;
    const tries = Number(tryText);
    const isCurrent = tries === entry.tries;
    const answer = parseAnswer(message);
    if (answer === 'no_responders') return this.onNoResponders(token, entry, tries);
    this.untakenSince = undefined;
    if (answer === 'empty') {
      if (isCurrent && entry.step === 'opening') this.commit(token, entry);
      return;
    }
    const { messages } = entry.batch;
    switch (batchAnswerOf(answer, this.idOf(entry, tries), messages.length)) {
      case 'stored':
        this.settle(token, entry);
        entry.resolve(sequencesUpTo(answer.seq ?? 0, messages.length));
        return;
      case 'known':
        this.complete(token, entry);
        return;
      case 'full':
        this.onFull(token, entry, tries);
        return;
      case 'refused':
        entry.open.delete(tries);
        break;
      case 'unclear':
        break;
    }
    if (isCurrent) this.rest(entry);
  }

  private sweepEntry(token: string, entry: Entry, now: number): void {
    const { step, since, batch } = entry;
    const awaySince = this.bus.disconnectedSince;
    if (step === 'completing') return;
    if (now > batch.deadlineAt) return this.fail(token, entry, 'the deadline has passed');
    if (awaySince !== undefined) {
      if (now - awaySince > this.awayMs) this.fail(token, entry, 'NATS is not connected');
      return;
    }
    if (step === 'waiting') return;
    const waitMs = step === 'resting' ? backOffMs(rests, entry.tries) : resendMs[step];
    if (now - since > waitMs) this.startTry(token, entry);
  }

  private sweep(): void {
    if (this.entries.size === 0) return;
    const now = performance.now();
    for (const [token, entry] of this.entries) this.sweepEntry(token, entry, now);
    this.startWaiting();
  }

  /** The server took nothing of this try; an earlier one was on a connection with other rights. */
  private onRefused(subject: string): void {
    for (const [token, entry] of this.entries) {
      if (entry.step === 'completing' || entry.step === 'waiting') continue;
      if (!entry.batch.messages.some((message) => message.subject === subject)) continue;
      entry.open.delete(entry.tries);
      this.fail(token, entry, 'the user of NATS may not publish it');
    }
  }

  private onReconnect(): void {
    // Messages on the lost connection are lost, or the answer to a later try is a duplicate of them.
    for (const [token, entry] of this.entries)
      if (entry.step !== 'waiting' && entry.step !== 'completing') this.startTry(token, entry);
    this.startWaiting();
  }
}

export const createBatchPublisher = (
  bus: Bus,
  publisher: Pick<Publisher, 'publish'>,
  options: BatchPublisherOptions,
): BatchPublisher => new BatchTries(bus, publisher, options);
