import type { BatchPublisher } from '../../bus/batch-publisher.ts';
import type { Publisher } from '../../bus/publisher.ts';
import { ofInstance } from '../../config/instance-streams.ts';
import { Fault } from '../../model/fault.ts';
import { defaultInstance } from '../../model/instances.ts';
import { cuttingRuleVersion, runBudget } from '../../rules/points/cutting.ts';
import { runLength } from '../../rules/points/encoded-points.ts';
import type { IngressMetrics } from '../../telemetry/metrics.ts';
import type { TraceSpan } from '../../telemetry/tracing.ts';
import { createRequestPublisher, type Outgoing } from '../request-publisher.ts';
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
  /**
   * The runs of one request, each a message of its own: all of them are stored or none. With the name of the request
   * (`sha256Hex`) a repeat is recognised: true when every message was stored before.
   */
  publishAll(fragments: readonly DueFragment[], sha256Hex: string | undefined): Promise<boolean>;
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
  const publisher = createRequestPublisher('metrics', { single, batches }, metrics, traces);
  let sweeping: NodeJS.Timeout | undefined;

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
      const messageId = `${leading.base.text}:${leading.run.first}`;
      const requests = batch.map(({ trace }) => trace);
      publisher
        .publish({ subject: gathering.subject, messageId, payload }, requests, lastDeadline(batch))
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

  const messageOf = (fragment: DueFragment, sha256Hex: string | undefined): Outgoing => {
    const { base, run } = fragment;
    return {
      subject: gatheringOf(fragment).subject,
      messageId:
        sha256Hex === undefined
          ? `${base.text}:${run.first}`
          : `${sha256Hex}:${run.first}-${run.last}:${cuttingRuleVersion}`,
      payload: messageParts([fragment]),
    };
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
    publishAll: (fragments, sha256Hex) => {
      const deadlineAt = Math.min(...fragments.map((fragment) => fragment.deadlineAt));
      const messages = fragments.map((fragment) => messageOf(fragment, sha256Hex));
      return publisher.publishAll(messages, sha256Hex !== undefined, deadlineAt);
    },
  };
};
