import type { BatchPublisher } from '../bus/batch-publisher.ts';
import type { Publisher } from '../bus/publisher.ts';
import { Fault } from '../model/fault.ts';
import type { IngressMetrics } from '../telemetry/metrics.ts';
import type { TraceSpan } from '../telemetry/tracing.ts';
import { envelopeVersion, type Section, sectionsLength } from '../wire/frame.ts';
import type { RequestTraces } from './request-traces.ts';

/** A message on its way to the bus. */
export type Outgoing = {
  readonly subject: string;
  readonly messageId: string;
  readonly payload: readonly Section[];
};

/** Publishes messages to the bus; counts and times each publish. */
export type RequestPublisher = {
  /** Publishes one message, whose requests have these spans. True when it was stored before. Rejects with the publisher's Faults. */
  publish(
    message: Outgoing,
    requests: readonly (TraceSpan | undefined)[],
    deadlineAt: number,
  ): Promise<boolean>;
  /**
   * Publishes the messages of one request: all of them are stored or none. A request with a name may be repeated: its messages are
   * published one by one, and each one that was stored before is recognised. True when all of them were. Rejects with the
   * publisher's Faults: `not_stored` only when nothing of the request was stored.
   */
  publishAll(messages: readonly Outgoing[], isNamed: boolean, deadlineAt: number): Promise<boolean>;
};

/** Whether all messages were stored before. Throws `unconfirmed` where some may be stored and others are not. */
const outcomeOf = (results: readonly PromiseSettledResult<boolean>[]): boolean => {
  const failed = results.filter((result) => result.status === 'rejected');
  const fault: unknown = failed[0]?.reason;
  // A message may be new where an earlier try was interrupted between two of them.
  if (fault === undefined)
    return results.length > 0 && results.every((result) => result.status === 'fulfilled' && result.value);
  const isNothingStored =
    failed.length === results.length &&
    failed.every(({ reason }) => reason instanceof Fault && reason.code === 'not_stored');
  throw isNothingStored
    ? fault
    : new Fault('transient', 'unconfirmed', 'NATS did not confirm a part of the request', fault);
};

const bytesOf = (messages: readonly Outgoing[]): number =>
  messages.reduce((sum, { payload }) => sum + sectionsLength(payload), 0);

type Measured = <T>(
  messages: readonly Outgoing[],
  requests: readonly (TraceSpan | undefined)[],
  send: (traceparent: string | undefined) => Promise<T>,
) => Promise<T>;

/** Runs a publish of some messages with its timer, its span and its count of outcomes. */
const measuring = (
  pipeline: 'metrics' | 'traces',
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

export const createRequestPublisher = (
  pipeline: 'metrics' | 'traces',
  { single, batches }: { readonly single: Publisher; readonly batches: BatchPublisher },
  metrics: IngressMetrics,
  traces?: RequestTraces,
): RequestPublisher => {
  const measured = measuring(pipeline, metrics, traces);
  const stored = metrics.publishes.labels(pipeline, 'stored');

  const publish: RequestPublisher['publish'] = (message, requests, deadlineAt) =>
    measured([message], requests, async (traceparent) => {
      const { subject, messageId, payload } = message;
      const { duplicate } = await single.publish(
        subject,
        messageId,
        payload,
        envelopeVersion,
        traceparent,
        deadlineAt,
      );
      if (duplicate) metrics.publishes.inc({ pipeline, outcome: 'duplicate' });
      else stored.inc();
      return duplicate;
    });

  return {
    publish,
    publishAll: async (messages, isNamed, deadlineAt) => {
      const requests = [traces?.current()];
      if (isNamed || messages.length <= 1) {
        return outcomeOf(
          await Promise.allSettled(messages.map((message) => publish(message, requests, deadlineAt))),
        );
      }
      await measured(messages, requests, async (traceparent) => {
        await batches.publish({ messages, version: envelopeVersion, traceparent, deadlineAt });
        stored.inc(messages.length);
      });
      return false;
    },
  };
};
