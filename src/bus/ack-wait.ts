import { millis } from '@nats-io/transport-node';
import type { ConsumerDefinition } from '../config/pipelines.ts';
import { startRounds } from '../runtime/rounds.ts';
import type { Bus } from './connection.ts';

/**
 * How long NATS waits for an acknowledgement before it gives a message to another worker: as the consumer has it, and not longer than the
 * manifest says. A manifest that raises it may reach transfer before metadata has changed the consumer.
 */
export type AckWait = {
  /** Ms. A longer one counts once no message can be held that the shorter one had given to another worker. */
  readonly now: () => number;
  /** The consumer was read for the first time, or NATS did not say what it is. */
  readonly whenRead: Promise<void>;
  /** What somebody has read of the consumer, ns. */
  note(ackWaitNanos: number | undefined): void;
  stop(): void;
};

/** As often as the streams are compared with their manifest. */
const everyMs = 2_000;

/** Reads it now and every other second. */
export const startAckWait = (
  bus: Bus,
  { stream, name, ackWaitMs }: Pick<ConsumerDefinition, 'stream' | 'name' | 'ackWaitMs'>,
  elapsed: () => number = performance.now.bind(performance),
): AckWait => {
  let known: number | undefined;
  let raise: { readonly to: number; readonly at: number } | undefined;
  const { promise: whenRead, resolve } = Promise.withResolvers<void>();

  const note: AckWait['note'] = (ackWaitNanos) => {
    const read = Math.min(ackWaitMs, ackWaitNanos === undefined ? ackWaitMs : millis(ackWaitNanos));
    if (known === undefined || read <= known || (raise?.to === read && elapsed() >= raise.at)) {
      known = read;
      raise = undefined;
    } else if (raise?.to !== read) raise = { to: read, at: elapsed() + read / 2 };
  };
  const read = async (): Promise<void> => {
    try {
      const { consumers } = await bus.manager();
      note((await consumers.info(stream, name)).config.ack_wait);
    } catch {
      // Of one that is missing, or not answered for, the watch of the streams tells.
    }
    resolve();
  };
  const rounds = startRounds(async () => {
    if (bus.connected) await read();
    return everyMs;
  });
  return {
    now: () => known ?? ackWaitMs,
    whenRead,
    note,
    stop: () => {
      void rounds.stop();
      resolve();
    },
  };
};
