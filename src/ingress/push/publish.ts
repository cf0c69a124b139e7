import { ofInstance } from '../../config/instance-streams.ts';
import { Fault } from '../../model/fault.ts';
import { defaultInstance } from '../../model/instances.ts';
import { cuttingRuleVersion } from '../../rules/points/cutting.ts';
import type { IngressMetrics } from '../../telemetry/ingress-metrics.ts';
import {
  createRequestPublisher,
  type Outgoing,
  type Publishers,
  type RequestPublisher,
} from '../request-publisher.ts';
import type { RequestTraces } from '../request-traces.ts';
import { type DueFragment, Gathering } from './gathering.ts';
import { type Fragment, messageParts } from './message.ts';

export type { DueFragment } from './gathering.ts';
export { buildMessage } from './message.ts';

/**
 * Publishes runs to the bus. All calls resolve after the PubAck of everything; they reject with the publisher's Faults, at the
 * fragment's deadline at the latest.
 */
export type PushPublisher = {
  /**
   * Publishes the only run of a request without an identity, which shares a message with requests that arrive while a publish is in
   * flight.
   */
  share(fragment: DueFragment): Promise<void>;
  /**
   * Publishes the runs of one request, each as a message of its own: all of them are stored or none. With the name of the request
   * (`sha256Hex`) a repeat is recognised: true when every message was stored before.
   */
  publishAll(fragments: readonly DueFragment[], sha256Hex: string | undefined): Promise<boolean>;
};

/** The largest delay in noticing a deadline, ms. */
const sweepMs = 50;

/** `stream` and `subject` of the first QuestDB instance. */
export type PushPublisherOptions = {
  readonly stream: string;
  readonly subject: string;
  readonly shards: number;
};

class SharingPublisher implements PushPublisher {
  private readonly publisher: RequestPublisher;
  private readonly options: PushPublisherOptions;
  private readonly traces: RequestTraces | undefined;
  /** By QuestDB instance: points of each instance travel in streams of their own, and share no message with others. */
  private readonly instances = new Map<string, readonly Gathering[]>();
  private sweeping: NodeJS.Timeout | undefined;

  constructor(publisher: RequestPublisher, options: PushPublisherOptions, traces: RequestTraces | undefined) {
    this.publisher = publisher;
    this.options = options;
    this.traces = traces;
    this.addInstance(defaultInstance);
  }

  share(fragment: DueFragment): Promise<void> {
    return new Promise((resolve, reject) =>
      this.gatheringOf(fragment).add({ fragment, trace: this.traces?.current(), resolve, reject }),
    );
  }

  publishAll(fragments: readonly DueFragment[], sha256Hex: string | undefined): Promise<boolean> {
    const deadlineAt = Math.min(...fragments.map((fragment) => fragment.deadlineAt));
    const messages = fragments.map((fragment) => this.messageOf(fragment, sha256Hex));
    return this.publisher.publishAll(messages, sha256Hex !== undefined, deadlineAt);
  }

  private messageOf(fragment: DueFragment, sha256Hex: string | undefined): Outgoing {
    const { base, run } = fragment;
    return {
      subject: this.gatheringOf(fragment).subject,
      messageId:
        sha256Hex === undefined
          ? `${base.text}:${run.first}`
          : `${sha256Hex}:${run.first}-${run.last}:${cuttingRuleVersion}`,
      ...messageParts([fragment]),
    };
  }

  private addInstance(instance: string): readonly Gathering[] {
    const { subject, shards } = this.options;
    const onFlight = (): void => {
      this.sweeping ??= setInterval(() => this.sweep(), sweepMs).unref();
    };
    const gatherings = Array.from(
      { length: shards },
      (_, shard) => new Gathering(`${ofInstance(subject, instance)}.${shard}`, this.publisher, onFlight),
    );
    this.instances.set(instance, gatherings);
    return gatherings;
  }

  private gatheringOf({ source }: Fragment): Gathering {
    const { dataId, questdb } = source;
    const gatherings = this.instances.get(questdb) ?? this.addInstance(questdb);
    const shard = dataId % this.options.shards;
    const gathering = gatherings[shard];
    if (gathering === undefined) throw new Fault('internal', 'no_shard', `there is no shard ${shard}`);
    return gathering;
  }

  private sweep(): void {
    const now = performance.now();
    const all = [...this.instances.values()].flat();
    for (const gathering of all) gathering.expire(now);
    if (all.some(({ isBusy }) => isBusy)) return;
    clearInterval(this.sweeping);
    this.sweeping = undefined;
  }
}

export const createPushPublisher = (
  publishers: Publishers,
  options: PushPublisherOptions,
  metrics: IngressMetrics,
  traces?: RequestTraces,
): PushPublisher =>
  new SharingPublisher(
    createRequestPublisher({ pipeline: 'metrics', ...options }, publishers, metrics, traces),
    options,
    traces,
  );
