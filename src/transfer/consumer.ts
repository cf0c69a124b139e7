import type { Bus } from '../bus/connection.ts';
import { startPuller } from '../bus/puller.ts';
import type { ConsumerDefinition } from '../config/pipelines.ts';
import type { DeadLetters } from '../dead-letters/dead-letters.ts';
import { messageOf } from '../model/fault.ts';
import type { Ledger } from '../outcomes/ledger.ts';
import type { Log } from '../telemetry/log.ts';
import type { TransferMetrics } from '../telemetry/metrics.ts';
import type { Lane } from './lane.ts';
import { createWorker } from './worker.ts';

/** Two pulls' worth: one being written, one gathered meanwhile. */
const pullsHeld = 2;

const drainMsDefault = 5_000;

/** One durable consumer of this process: pulls, writes, settles. */
export type RunningConsumer = {
  readonly storeProblem: string | undefined;
  readonly ledgerProblem: string | undefined;
  readonly newerVersion: number | undefined;
  /** Takes no more, writes and settles what it holds. */
  stop(): Promise<void>;
};

export type ConsumerOptions = {
  readonly consumer: ConsumerDefinition;
  readonly pullBytesMax: number;
  readonly rowsPerWriteMax: number;
  readonly writeIntervalMs: number;
  /** How long stopping waits for what is held to be written; default 5 s. */
  readonly drainMs?: number;
};

export type ConsumerDependencies<E> = {
  readonly bus: Bus;
  readonly lane: Lane<E>;
  readonly deadLetters: DeadLetters;
  readonly ledger: Ledger;
  readonly metrics: TransferMetrics;
  readonly log: Log;
};

/** Starts the line of one signal: the puller brings messages to the worker, the lane brings them to the store. */
export const startConsumer = <E>(
  options: ConsumerOptions,
  { bus, lane, deadLetters, ledger, metrics, log }: ConsumerDependencies<E>,
): RunningConsumer => {
  const { consumer } = options;
  const worker = createWorker(
    {
      stream: consumer.stream,
      ackWaitMs: consumer.ackWaitMs,
      rowsPerWriteMax: options.rowsPerWriteMax,
      heldBytesMax: pullsHeld * options.pullBytesMax,
      writeIntervalMs: options.writeIntervalMs,
    },
    {
      lane,
      deadLetters,
      ledger,
      metrics,
      log,
      now: Date.now,
      onRoom: () => puller.roomMade(),
    },
  );
  const puller = startPuller(bus, {
    stream: consumer.stream,
    consumer: consumer.name,
    bytesMax: options.pullBytesMax,
    hasRoom: () => worker.hasRoom,
    onDelivery: (delivery) => worker.take(delivery),
    onFault: (error) => log.warn({ consumer: consumer.name, error: messageOf(error) }, 'a pull failed'),
  });
  bus.onDisconnect(() => worker.forgetUnsent());
  return {
    get storeProblem() {
      return worker.storeProblem;
    },
    get ledgerProblem() {
      return worker.ledgerProblem;
    },
    get newerVersion() {
      return worker.newerVersion;
    },
    stop: async () => {
      await puller.stop();
      await worker.drain(options.drainMs ?? drainMsDefault);
    },
  };
};
