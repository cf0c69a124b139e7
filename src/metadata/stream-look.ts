import type { StreamHealth } from '../bus/stream-state.ts';
import type { StreamDefinition } from '../config/pipelines.ts';
import { Fault } from '../model/fault.ts';
import type { WatchMetrics } from '../telemetry/watch-metrics.ts';
import { createStreamTrends, type StreamTrends } from './pulse/stream-trends.ts';

/** Feeds the figures of streams into the metrics of metadata. */
export type StreamLook = {
  /** Reads all streams. Throws where one could not be read, or one that every deployment has is missing. */
  look(): Promise<void>;
  /** Streams that were missing at the last look. */
  readonly missing: ReadonlySet<string>;
  readonly trends: StreamTrends;
};

export type StreamLookDeps = {
  readonly streams: readonly StreamDefinition[];
  /** Those of QuestDB instances that the setting lacks and that NATS has now. */
  readonly furtherStreams?: () => Promise<readonly StreamDefinition[]>;
  readonly metrics: WatchMetrics;
  /** Undefined for a missing stream. Throws where NATS does not answer. */
  readonly health: (stream: StreamDefinition) => Promise<StreamHealth | undefined>;
  /** Never a wall clock, ms. */
  readonly elapsed: () => number;
};

/** Older figures are none: alarms would go on about a lag that is over, and hide that another process sees one. */
const figuresMsMax = 60_000;

const forget = (metrics: WatchMetrics, stream: string): void => {
  const { messages, bytes, bytesMax, bytesLeft, oldestAge } = metrics;
  const { pending, ackPending, redelivered, waitingPulls, copiesBehind } = metrics;
  const gauges = [messages, bytes, bytesMax, bytesLeft, oldestAge];
  for (const gauge of [...gauges, pending, ackPending, redelivered, waitingPulls, copiesBehind])
    gauge.remove({ stream });
};

const show = (metrics: WatchMetrics, { name, consumer }: StreamDefinition, health: StreamHealth): void => {
  const label = { stream: name };
  metrics.messages.set(label, health.messages);
  metrics.bytes.set(label, health.bytes);
  metrics.bytesMax.set(label, health.bytesMax);
  metrics.bytesLeft.set(label, Math.max(0, health.bytesMax - health.bytes));
  metrics.oldestAge.set(label, health.oldestAgeSeconds);
  metrics.copiesBehind.set(label, health.copiesBehind);
  if (consumer === undefined) return;
  metrics.pending.set(label, health.pending);
  metrics.ackPending.set(label, health.ackPending);
  metrics.redelivered.set(label, health.redelivered);
  metrics.waitingPulls.set(label, health.waitingPulls);
};

/** A missing stream reports nothing; neither it nor one that NATS does not answer for hides the metrics of the others. */
export const createStreamLook = ({
  streams,
  furtherStreams = async () => [],
  metrics,
  health: read,
  elapsed,
}: StreamLookDeps): StreamLook => {
  const missing = new Set<string>();
  const trends = createStreamTrends(elapsed);
  const readAt = new Map<string, number>();

  const readOne = async (definition: StreamDefinition): Promise<void> => {
    const { name } = definition;
    const health = await read(definition);
    readAt.set(name, elapsed());
    trends.saw(name, health);
    metrics.missing.set({ stream: name }, health === undefined ? 1 : 0);
    if (health === undefined) {
      missing.add(name);
      forget(metrics, name);
      return;
    }
    missing.delete(name);
    show(metrics, definition, health);
  };

  const readFurther = async (): Promise<void> => {
    await Promise.all((await furtherStreams()).map(readOne));
  };

  const readAll = async (): Promise<void> => {
    const reads = await Promise.allSettled([...streams.map(readOne), readFurther()]);
    for (const one of reads) if (one.status === 'rejected') throw one.reason;
  };

  const forgetOld = (): void => {
    for (const [name, at] of readAt) {
      if (elapsed() - at <= figuresMsMax) continue;
      readAt.delete(name);
      missing.delete(name);
      forget(metrics, name);
      metrics.missing.remove({ stream: name });
    }
  };

  return {
    look: async () => {
      await readAll().finally(forgetOld);
      // A missing stream that every deployment has is not the fault of a single instance: the time of the last success shall show
      // it, too.
      const lost = streams.filter(({ name, isFurther }) => isFurther !== true && missing.has(name));
      if (lost.length > 0)
        throw new Fault(
          'permanent',
          'stream_not_found',
          `missing: ${lost.map(({ name }) => name).join(', ')}`,
        );
    },
    missing,
    trends,
  };
};
