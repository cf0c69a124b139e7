import type { Bus } from '../bus/connection.ts';
import { lookAtQueue, orphanedUpTo, type QueueLook, removeUpTo } from '../bus/orphaned-messages.ts';
import type { ConsumerDefinition } from '../config/pipelines.ts';
import { errorText } from '../model/fault.ts';
import type { Log } from '../telemetry/log.ts';

/** Removes messages that NATS kept although they were acknowledged. */
export type OrphanSweep = { stop(): void };

export type OrphanSweepOptions = {
  readonly consumers: readonly ConsumerDefinition[];
  readonly onRemoved: (stream: string, messages: number) => void;
  readonly log: Log;
  readonly intervalMs?: number;
};

/** Looks at the streams of these consumers at an interval. Any number of processes may do so: a removal only finds nothing then. */
export const startOrphanSweep = (
  bus: Bus,
  { consumers, onRemoved, log, intervalMs = 10_000 }: OrphanSweepOptions,
): OrphanSweep => {
  const looks = new Map<string, QueueLook>();

  const sweep = async ({ stream, name }: ConsumerDefinition): Promise<void> => {
    const before = looks.get(stream);
    const now = await lookAtQueue(bus, stream, name);
    looks.set(stream, now);
    const sequence = orphanedUpTo(before, now);
    if (sequence === undefined) return;
    const messages = await removeUpTo(bus, stream, sequence);
    if (messages === 0) return;
    onRemoved(stream, messages);
    log.warn(
      { stream, messages, sequence },
      'removed orphaned messages: NATS kept them after their acknowledgement, as it can after a kill',
    );
  };

  let isSweeping = false;
  const tick = async (): Promise<void> => {
    if (isSweeping || !bus.connected) return;
    isSweeping = true;
    for (const consumer of consumers) {
      await sweep(consumer).catch((error: unknown) => {
        log.debug(
          { stream: consumer.stream, error: errorText(error) },
          'a stream was not checked for orphaned messages',
        );
      });
    }
    isSweeping = false;
  };
  const timer = setInterval(() => void tick(), intervalMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
};
