import type { BatchPublisher } from '../bus/batch-publisher.ts';
import type { Publisher } from '../bus/publisher.ts';
import { headerBytesMax, isTooLarge, tooLarge } from '../bus/too-large.ts';
import { Fault } from '../model/fault.ts';
import type { Pipeline } from '../model/signals.ts';
import type { BookEntry, Posting, PublishersBook } from '../outcomes/publishers-book.ts';
import type { IngressMetrics } from '../telemetry/ingress-metrics.ts';
import type { TraceSpan } from '../telemetry/tracing.ts';
import { envelopeVersion, type Section, sectionsLength } from '../wire/frame.ts';
import { bookFailed, bookPublished, storesNothing } from './booking.ts';
import { partlyStored } from './refused.ts';
import type { RequestTraces } from './request-traces.ts';

/** A message on its way to the bus. */
export type Outgoing = {
  readonly subject: string;
  readonly messageId: string;
  readonly payload: readonly Section[];
  readonly entry: BookEntry;
};

/** What messages go through on their way, and the book that they are counted in. */
export type Publishers = {
  readonly single: Publisher;
  readonly batches: BatchPublisher;
  readonly book: PublishersBook;
};

/** Stream and subject of a pipeline; with the same end, those of another QuestDB instance. */
export type Destination = {
  readonly pipeline: Pipeline;
  readonly stream: string;
  readonly subject: string;
};

/** Publishes messages to the bus; counts and times each publish, and books each message when its publish ends. */
export type RequestPublisher = {
  /** Publishes one message, whose requests have these spans. True when it was stored before. Rejects with the publisher's Faults. */
  publish(
    message: Outgoing,
    requests: readonly (TraceSpan | undefined)[],
    deadlineAt: number,
  ): Promise<boolean>;
  /**
   * Publishes the messages of one request. Without a name all of them are stored or none. A request with a name may be repeated: its
   * messages are published one by one, and each one that was stored before is recognised. True when all of them were. Rejects with the
   * publisher's Faults: `not_stored` and `message_too_large` only when nothing of the request was stored; and with `partly_stored` where
   * NATS refused a part of it, and another part may be stored: a repeat stores the rest.
   */
  publishAll(messages: readonly Outgoing[], isNamed: boolean, deadlineAt: number): Promise<boolean>;
};

/** Whether all messages were stored before. Throws `partly_stored` where some may be stored and others are not, `unconfirmed` where all may be. */
const outcomeOf = (results: readonly PromiseSettledResult<boolean>[]): boolean => {
  const failed = results.filter((result) => result.status === 'rejected');
  const fault: unknown = failed[0]?.reason;
  // A message may be new where an earlier try was interrupted between two of them.
  if (fault === undefined)
    return results.length > 0 && results.every((result) => result.status === 'fulfilled' && result.value);
  const isNothingStored =
    failed.length === results.length && failed.every(({ reason }) => storesNothing(reason));
  if (isNothingStored) throw fault;
  const refused = failed.filter(({ reason }) => storesNothing(reason)).length;
  if (refused === 0)
    throw new Fault('transient', 'unconfirmed', 'NATS did not confirm a part of the request', fault);
  const what = `NATS took ${refused} of its ${results.length} messages not`;
  const next = failed.some(({ reason }) => isTooLarge(reason))
    ? 'at least one is too large for it: send the rest in smaller requests'
    : 'a repeat stores what is missing';
  throw new Fault('transient', partlyStored, `${what}, ${next}`, fault);
};

const bytesOf = (messages: readonly Outgoing[]): number =>
  messages.reduce((sum, { payload }) => sum + sectionsLength(payload), 0);

const sizeOf = ({ payload }: Outgoing): number => sectionsLength(payload) + headerBytesMax;

const fits = (messages: readonly Outgoing[], { sizeMax = Infinity }: Publisher): boolean =>
  messages.every((message) => sizeOf(message) <= sizeMax);

/** Throws where one of the messages is larger than NATS takes now: before any is sent, so that the others are not stored either. */
const expectToFit = async (messages: readonly Outgoing[], single: Publisher): Promise<void> => {
  await single.askSizeMax();
  const { sizeMax = Infinity } = single;
  const large = messages.map(sizeOf).find((size) => size > sizeMax);
  if (large !== undefined) throw tooLarge(large, sizeMax);
};

type Measured = <T>(
  messages: readonly Outgoing[],
  requests: readonly (TraceSpan | undefined)[],
  send: (traceparent: string | undefined) => Promise<T>,
) => Promise<T>;

/** Runs a publish of some messages with its timer, its span and its count of outcomes. */
const measuring = (
  pipeline: Pipeline,
  metrics: IngressMetrics,
  traces: RequestTraces | undefined,
): Measured => {
  const seconds = metrics.publishSeconds.labels(pipeline);
  return async (messages, requests, send) => {
    const end = seconds.startTimer();
    const span = traces?.publish(pipeline, requests, bytesOf(messages));
    let failure: string | undefined;
    try {
      return await send(span?.traceparent);
    } catch (error) {
      failure = error instanceof Fault ? error.code : 'failed';
      metrics.publishes.inc({ pipeline, outcome: failure }, messages.length);
      throw error;
    } finally {
      end();
      span?.end(failure);
    }
  };
};

/** The stream of a message: `metrics-b.0` belongs to stream `METRICS-b`. */
const streamIn =
  (destination: Destination) =>
  ({ subject }: Outgoing): string =>
    `${destination.stream}${subject.slice(destination.subject.length, subject.lastIndexOf('.'))}`;

export const createRequestPublisher = (
  destination: Destination,
  { single, batches, book }: Publishers,
  metrics: IngressMetrics,
  traces?: RequestTraces,
): RequestPublisher => {
  const { pipeline } = destination;
  const measured = measuring(pipeline, metrics, traces);
  const stored = metrics.publishes.labels(pipeline, 'stored');
  const streamOf = streamIn(destination);
  const confirmed = (message: Outgoing): void =>
    metrics.publishedBytes.inc({ stream: streamOf(message) }, sectionsLength(message.payload));

  const open = (message: Outgoing): Posting | undefined =>
    book.open(streamOf(message), pipeline, message.entry);

  const publishOne = (
    message: Outgoing,
    requests: readonly (TraceSpan | undefined)[],
    deadlineAt: number,
    isNamed: boolean,
  ): Promise<boolean> =>
    measured([message], requests, async (traceparent) => {
      const { subject, messageId, payload } = message;
      const posting = open(message);
      const options = { traceparent, deadlineAt, serial: posting?.serial };
      try {
        const published = await single.publish(subject, messageId, payload, envelopeVersion, options);
        bookPublished(posting, published, isNamed);
        if (published.duplicate) metrics.publishes.inc({ pipeline, outcome: 'duplicate' });
        else {
          stored.inc();
          confirmed(message);
        }
        return published.duplicate;
      } catch (error) {
        bookFailed(posting, error);
        throw error;
      }
    });

  const publishBatch = (messages: readonly Outgoing[], deadlineAt: number): Promise<void> =>
    measured(messages, [traces?.current()], async (traceparent) => {
      const postings = messages.map(open);
      const batch = messages.map((message, index) => ({ ...message, serial: postings[index]?.serial }));
      try {
        const sequences = await batches.publish({
          messages: batch,
          version: envelopeVersion,
          traceparent,
          deadlineAt,
        });
        for (const [index, posting] of postings.entries()) posting?.stored(sequences[index] ?? 0);
        stored.inc(messages.length);
        for (const message of messages) confirmed(message);
      } catch (error) {
        for (const posting of postings) bookFailed(posting, error);
        throw error;
      }
    });

  return {
    publish: async (message, requests, deadlineAt) => {
      if (!fits([message], single)) await expectToFit([message], single);
      return publishOne(message, requests, deadlineAt, false);
    },
    publishAll: async (messages, isNamed, deadlineAt) => {
      if (!fits(messages, single)) await expectToFit(messages, single);
      if (isNamed || messages.length <= 1) {
        const requests = [traces?.current()];
        const publishing = messages.map((message) => publishOne(message, requests, deadlineAt, isNamed));
        return outcomeOf(await Promise.allSettled(publishing));
      }
      await publishBatch(messages, deadlineAt);
      return false;
    },
  };
};
