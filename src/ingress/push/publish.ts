import type { BatchPublisher, MessageBatch } from '../../bus/batch-publisher.ts';
import type { Payload, Publisher } from '../../bus/publisher.ts';
import { ofInstance } from '../../config/instance-streams.ts';
import { Fault } from '../../model/fault.ts';
import { defaultInstance } from '../../model/instances.ts';
import { cuttingRuleVersion, runBudget } from '../../rules/points/cutting.ts';
import { runLength } from '../../rules/points/encoded-points.ts';
import type { IngressMetrics } from '../../telemetry/metrics.ts';
import type { TraceSpan } from '../../telemetry/tracing.ts';
import { envelopeVersion, sectionsLength } from '../../wire/frame.ts';
import type { RequestTraces } from '../request-traces.ts';
import { type Fragment, messageParts } from './message.ts';

export { buildMessage } from './message.ts';

/** A run and when its sender is answered at the latest, ms of `performance.now()`. */
export type DueFragment = Fragment & { readonly deadlineAt: number };

/**
 * Brings runs to the bus. All calls resolve after the PubAck of everything; they reject with the publisher's Faults, at the
 * fragment's deadline at the latest.
 */
export type PushPublisher = {
  /** The only run of a request without an identity shares a message with requests that arrive while a publish is in flight. */
  share(fragment: DueFragment): Promise<void>;
  /** The runs of one request without an identity are stored all of them or none. */
  publishTogether(fragments: readonly DueFragment[]): Promise<void>;
  /** A run of a request with identity is a message of its own; answers true for a repeat. */
  publishAlone(fragment: DueFragment, sha256Hex: string): Promise<boolean>;
};

const sizeOf = ({ run }: Fragment): number => runLength(run);

type Waiting = {
  readonly fragment: DueFragment;
  /** The span of its request, where that is traced. */
  readonly trace: TraceSpan | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

type Gathering = {
  readonly subject: string;
  waiting: Waiting[];
  size: number;
  /** What each publish in flight holds. */
  readonly flights: Set<readonly Waiting[]>;
  isScheduled: boolean;
};

/** From this size on, bytes do not wait for the publish in flight. */
const fullEnough = 256 * 1024;
const inFlightMax = 4;
/** How late a deadline may be noticed, ms. */
const sweepMs = 50;

/** Answers those whose deadline has passed. A message stays under way for the others in it. */
const expire = (waiting: readonly Waiting[], now: number, code: 'not_stored' | 'unconfirmed'): void => {
  for (const { fragment, reject } of waiting)
    if (fragment.deadlineAt <= now) reject(new Fault('transient', code, 'the deadline has passed'));
};

const lastDeadline = (batch: readonly Waiting[]): number =>
  batch.reduce((last, { fragment }) => Math.max(last, fragment.deadlineAt), 0);

export type PushPublisherOptions = { readonly subject: string; readonly shards: number };

export const createPushPublisher = (
  { single, batches }: { readonly single: Publisher; readonly batches: BatchPublisher },
  options: PushPublisherOptions,
  metrics: IngressMetrics,
  traces?: RequestTraces,
): PushPublisher => {
  const gatheringsAt = (instance: string): Gathering[] =>
    Array.from(
      { length: options.shards },
      (_, shard): Gathering => ({
        subject: `${ofInstance(options.subject, instance)}.${shard}`,
        waiting: [],
        size: 0,
        flights: new Set(),
        isScheduled: false,
      }),
    );
  const first = gatheringsAt(defaultInstance);
  /** Those of other QuestDB instances: their points travel in streams of their own, and share no message with others. */
  const further = new Map<string, Gathering[]>();
  const seconds = metrics.publishSeconds.labels('metrics');
  const stored = metrics.publishes.labels('metrics', 'stored');
  let sweeping: NodeJS.Timeout | undefined;

  const noteFailure = (error: unknown, messages: number): string => {
    const failure = error instanceof Fault ? error.code : 'failed';
    metrics.publishes.inc({ pipeline: 'metrics', outcome: failure }, messages);
    return failure;
  };

  const send = async (
    subject: string,
    messageId: string,
    payload: Payload,
    span: TraceSpan | undefined,
    deadlineAt: number,
  ): Promise<boolean> => {
    const end = seconds.startTimer();
    let failure: string | undefined;
    try {
      const { duplicate } = await single.publish(
        subject,
        messageId,
        payload,
        envelopeVersion,
        span?.traceparent,
        deadlineAt,
      );
      if (duplicate) metrics.publishes.inc({ pipeline: 'metrics', outcome: 'duplicate' });
      else stored.inc();
      return duplicate;
    } catch (error) {
      failure = noteFailure(error, 1);
      throw error;
    } finally {
      end();
      span?.end(failure);
    }
  };

  /** Publishes messages of which all or none are stored. */
  const sendTogether = async (batch: MessageBatch, span: TraceSpan | undefined): Promise<void> => {
    const end = seconds.startTimer();
    let failure: string | undefined;
    try {
      await batches.publish(batch);
      stored.inc(batch.messages.length);
    } catch (error) {
      failure = noteFailure(error, batch.messages.length);
      throw error;
    } finally {
      end();
      span?.end(failure);
    }
  };

  /** Takes waiting fragments up to what one message may hold. */
  const takeBatch = (gathering: Gathering): Waiting[] => {
    let size = 0;
    let count = 0;
    for (const { fragment } of gathering.waiting) {
      size += sizeOf(fragment);
      if (size > runBudget && count > 0) break;
      count++;
    }
    const batch = gathering.waiting.splice(0, count);
    for (const { fragment } of batch) gathering.size -= sizeOf(fragment);
    return batch;
  };

  const flush = (gathering: Gathering): void => {
    const { flights } = gathering;
    gathering.isScheduled = false;
    while (
      gathering.waiting.length > 0 &&
      (flights.size === 0 || (gathering.size >= fullEnough && flights.size < inFlightMax))
    ) {
      const batch = takeBatch(gathering);
      const leading = batch[0]?.fragment;
      if (leading === undefined) return;
      flights.add(batch);
      sweeping ??= setInterval(sweep, sweepMs).unref();
      const payload = messageParts(batch.map((each) => each.fragment));
      const span = traces?.publish(
        'metrics',
        batch.map(({ trace }) => trace),
        sectionsLength(payload),
      );
      const messageId = `${leading.base.text}:${leading.run.first}`;
      send(gathering.subject, messageId, payload, span, lastDeadline(batch))
        .then(
          () => {
            for (const { resolve } of batch) resolve();
          },
          (error: unknown) => {
            for (const { reject } of batch) reject(error);
          },
        )
        .finally(() => {
          flights.delete(batch);
          flush(gathering);
        });
    }
  };

  const expireWaiting = (gathering: Gathering, now: number): void => {
    const { waiting } = gathering;
    expire(waiting, now, 'not_stored');
    gathering.waiting = waiting.filter(({ fragment }) => fragment.deadlineAt > now);
    gathering.size = gathering.waiting.reduce((size, { fragment }) => size + sizeOf(fragment), 0);
  };

  /** Whoever waits behind a publish that hangs is answered in time as well. */
  const sweep = (): void => {
    const now = performance.now();
    let isBusy = false;
    for (const gathering of [...first, ...[...further.values()].flat()]) {
      expireWaiting(gathering, now);
      for (const batch of gathering.flights) expire(batch, now, 'unconfirmed');
      isBusy ||= gathering.flights.size > 0;
    }
    if (isBusy) return;
    clearInterval(sweeping);
    sweeping = undefined;
  };

  const gatheringOf = ({ source }: Fragment): Gathering => {
    const { dataId, questdb } = source;
    let gatherings = questdb === defaultInstance ? first : further.get(questdb);
    if (gatherings === undefined) {
      gatherings = gatheringsAt(questdb);
      further.set(questdb, gatherings);
    }
    const shard = dataId % options.shards;
    const gathering = gatherings[shard];
    if (gathering === undefined) throw new Fault('internal', 'no_shard', `there is no shard ${shard}`);
    return gathering;
  };

  return {
    share: (fragment) =>
      new Promise((resolve, reject) => {
        const gathering = gatheringOf(fragment);
        gathering.waiting.push({ fragment, trace: traces?.current(), resolve, reject });
        gathering.size += sizeOf(fragment);
        if (gathering.isScheduled) return;
        gathering.isScheduled = true;
        // After the other requests that this turn of the event loop has read.
        setImmediate(flush, gathering);
      }),
    publishTogether: async (fragments) => {
      const payloads = fragments.map((fragment) => messageParts([fragment]));
      const bytes = payloads.reduce((sum, payload) => sum + sectionsLength(payload), 0);
      const span = traces?.publish('metrics', [traces.current()], bytes);
      const messages = fragments.map((fragment, index) => ({
        subject: gatheringOf(fragment).subject,
        messageId: `${fragment.base.text}:${fragment.run.first}`,
        payload: payloads[index] ?? [],
      }));
      const deadlineAt = Math.min(...fragments.map((fragment) => fragment.deadlineAt));
      const traceparent = span?.traceparent;
      await sendTogether({ messages, version: envelopeVersion, traceparent, deadlineAt }, span);
    },
    publishAlone: (fragment, sha256Hex) => {
      const payload = messageParts([fragment]);
      return send(
        gatheringOf(fragment).subject,
        `${sha256Hex}:${fragment.run.first}-${fragment.run.last}:${cuttingRuleVersion}`,
        payload,
        traces?.publish('metrics', [traces.current()], sectionsLength(payload)),
        fragment.deadlineAt,
      );
    },
  };
};
