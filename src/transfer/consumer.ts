import { type AckWait, startAckWait } from '../bus/ack-wait.ts';
import type { Bus } from '../bus/connection.ts';
import { startPuller } from '../bus/puller.ts';
import type { BreakerDefinition, ConsumerDefinition } from '../config/pipelines.ts';
import type { DeadLetters } from '../dead-letters/dead-letters.ts';
import { retryingDeadLetters } from '../dead-letters/retrying.ts';
import { errorText } from '../model/fault.ts';
import type { Ledger } from '../outcomes/ledger.ts';
import type { Log } from '../telemetry/log.ts';
import type { TransferMetrics } from '../telemetry/transfer-metrics.ts';
import type { BatchTraces } from './batch-traces.ts';
import { type Breaker, createBreaker } from './breaker.ts';
import type { TransferSamples } from './samples.ts';
import type { Sink } from './sink.ts';
import { createWorker, type WorkerOptions } from './worker.ts';

/** Two pulls' worth: one in the write, one gathered meanwhile. */
const pullsHeld = 2;

const drainMsDefault = 5_000;

/** One durable consumer of this process: pulls, writes, settles. */
export type RunningConsumer = {
  readonly storeProblem: string | undefined;
  readonly ledgerProblem: string | undefined;
  /** Why messages of many days wait for others of their kind, or undefined. */
  readonly wideProblem: string | undefined;
  readonly newerVersion: number | undefined;
  /** Why it takes nothing because too many items went to the dead letters, or undefined. */
  readonly breakerWhy: string | undefined;
  /** Why dead letters cannot be kept, so that it stalls, or undefined. */
  readonly deadLetterProblem: string | undefined;
  /** Closes the breaker by hand. */
  resetBreaker(): void;
  /** Takes no more messages, writes and settles the held ones. */
  stop(): Promise<void>;
};

export type ConsumerOptions = {
  readonly consumer: ConsumerDefinition;
  readonly pullBytesMax: number;
  readonly rowsPerWriteMax: number;
  readonly writeIntervalMs: number;
  readonly writeIntervalMsMax: number;
  /** How long a stop waits for the writes of held messages; default 5 s. */
  readonly drainMs?: number;
  readonly breaker: BreakerDefinition;
};

export type ConsumerDependencies<E> = {
  readonly bus: Bus;
  readonly sink: Sink<E>;
  readonly deadLetters: DeadLetters;
  readonly ledger: Ledger;
  readonly samples: TransferSamples;
  readonly metrics: TransferMetrics;
  readonly log: Log;
  /** Ms since the epoch by the clock of NATS, which all processes share: of two records of a message the later one counts. */
  readonly now: () => number;
  /** The clock of `createElapsed`. */
  readonly elapsed: () => number;
  /** Undefined where tracing is off. */
  readonly traces?: BatchTraces | undefined;
  /** Of the consumer, where its sink needs it too; it stops with the consumer. */
  readonly ackWait?: AckWait;
};

const openBreaker = <E>(
  limits: BreakerDefinition,
  { sink, metrics, log }: Pick<ConsumerDependencies<E>, 'sink' | 'metrics' | 'log'>,
  onRoom: () => void,
): Breaker => {
  const label = { pipeline: sink.label ?? sink.pipeline };
  metrics.breakerOpen.set(label, 0);
  return createBreaker(limits, {
    onChange: (state, why) => {
      metrics.breakerOpen.set(label, state === 'closed' ? 0 : 1);
      if (state === 'open')
        log.error(
          { ...label, why, pauseMs: limits.pauseMs },
          'the consumer is stopped: too many items go to the dead letters; fix the cause, then run tidemark dlq resume',
        );
      if (state === 'closed') log.info(label, 'the consumer is resumed');
      onRoom();
    },
  });
};

const workerOptionsOf = (options: ConsumerOptions, ackWait: AckWait): WorkerOptions => ({
  stream: options.consumer.stream,
  ackWaitMs: ackWait.now,
  rowsPerWriteMax: options.rowsPerWriteMax,
  heldBytesMax: pullsHeld * options.pullBytesMax,
  writeIntervalMs: options.writeIntervalMs,
  writeIntervalMsMax: options.writeIntervalMsMax,
  gatheredMax: Math.max(1, Math.floor(options.consumer.ackPendingMax / 2)),
});

/** Starts the line of one signal: the puller brings messages to the worker, the sink writes them to the store. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: wiring: each part stands on those before it.
export const startConsumer = <E>(
  options: ConsumerOptions,
  {
    bus,
    sink,
    deadLetters,
    ledger,
    samples,
    metrics,
    log,
    now,
    elapsed,
    traces,
    ...deps
  }: ConsumerDependencies<E>,
): RunningConsumer => {
  const { consumer } = options;
  const ackWait = deps.ackWait ?? startAckWait(bus, consumer);
  const label = { pipeline: sink.label ?? sink.pipeline };
  let isStopping = false;
  let held: string | undefined;
  const onRoom = (): void => puller.roomMade();
  const retrying = retryingDeadLetters(deadLetters, {
    isStopping: () => isStopping,
    onHeld: (why) => {
      if (why !== undefined && held === undefined)
        log.error(
          { ...label, why },
          'dead letters cannot be stored (DEADLETTER is full?); the consumer waits until they can',
        );
      if (why === undefined) log.info(label, 'dead letters are stored again; the consumer is resumed');
      held = why;
      metrics.deadLettersHeld.set(label, why === undefined ? 0 : 1);
      onRoom();
    },
  });
  const breaker = openBreaker(options.breaker, { sink, metrics, log }, onRoom);
  const worker = createWorker(workerOptionsOf(options, ackWait), {
    sink,
    ledger,
    deadLetters: retrying,
    breaker,
    isHeld: () => held !== undefined,
    samples,
    metrics,
    log,
    now,
    elapsed,
    onRoom,
    traces,
  });
  // Consumers of several streams have one name.
  const pulled = { stream: consumer.stream, consumer: consumer.name };
  const puller = startPuller(bus, {
    stream: consumer.stream,
    consumer: consumer.name,
    bytesMax: options.pullBytesMax,
    ackWaitMs: ackWait.now,
    whenReady: ackWait.whenRead,
    elapsed,
    hasRoom: () => worker.hasRoom,
    onDelivery: (delivery) => worker.take(delivery),
    onFault: (error) => log.warn({ ...pulled, error: errorText(error) }, 'pulls fail'),
    onWell: () => log.info(pulled, 'pulls work again'),
  });
  bus.onDisconnect(() => worker.forgetUnsent());
  return {
    get storeProblem() {
      return worker.storeProblem;
    },
    get ledgerProblem() {
      return worker.ledgerProblem;
    },
    get wideProblem() {
      return worker.wideProblem;
    },
    get newerVersion() {
      return worker.newerVersion;
    },
    get breakerWhy() {
      return breaker.why;
    },
    get deadLetterProblem() {
      return held;
    },
    resetBreaker: () => breaker.reset(),
    stop: async () => {
      isStopping = true;
      breaker.stop();
      // The puller waits for it.
      ackWait.stop();
      await puller.stop();
      await worker.drain(options.drainMs ?? drainMsDefault);
    },
  };
};
