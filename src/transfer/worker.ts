import type { Delivery } from '../bus/puller.ts';
import type { DeadLetters } from '../dead-letters/dead-letters.ts';
import { errorText } from '../model/fault.ts';
import type { Ledger } from '../outcomes/ledger.ts';
import type { Log } from '../telemetry/log.ts';
import type { TransferMetrics } from '../telemetry/transfer-metrics.ts';
import type { BatchTraces } from './batch-traces.ts';
import { type Breaker, fitToSettle } from './breaker.ts';
import type { HeldMessage } from './held-message.ts';
import { createHeldMessages, type HeldMessages } from './held-messages.ts';
import { createReader } from './read-delivery.ts';
import type { TransferSamples } from './samples.ts';
import { createSettler } from './settle.ts';
import type { Sink } from './sink.ts';
import { createStoreWriter } from './store-writer.ts';
import { createWideMessages } from './wide-messages.ts';
import { createWriteLoop } from './write-loop.ts';
import { busyShares, createWritePace, type WritePace } from './write-pace.ts';

export type WorkerOptions = {
  readonly stream: string;
  /** It may change. */
  readonly ackWaitMs: () => number;
  readonly rowsPerWriteMax: number;
  /** Message bytes held before pulls stop. While writes leave messages unfinished, others may hold half as much beside the wide ones. */
  readonly heldBytesMax: number;
  /**
   * Writes begin at least this far apart, unless a whole write's rows, the limit of held bytes, or `gatheredMax` messages are
   * waiting; 0 = as soon as the last one is done.
   */
  readonly writeIntervalMs: number;
  /** What that grows to while writes take most of the time; of an unhurried sink, also while rows come without a pause. */
  readonly writeIntervalMsMax: number;
  /** This many waiting messages are written at once: more might not be delivered before some are acknowledged. */
  readonly gatheredMax: number;
};

export type WorkerDependencies<E> = {
  readonly sink: Sink<E>;
  readonly deadLetters: DeadLetters;
  readonly ledger: Ledger;
  readonly samples: TransferSamples;
  readonly metrics: TransferMetrics;
  readonly log: Log;
  /** Ms since the epoch. */
  readonly now: () => number;
  /** Elapsed time, ms: the clock of `createElapsed`. */
  readonly elapsed: () => number;
  /** Called whenever messages were settled. */
  readonly onRoom: () => void;
  readonly breaker: Breaker;
  /** True while dead letters cannot be kept: the worker takes no more. */
  readonly isHeld: () => boolean;
  /** Undefined where tracing is off. */
  readonly traces?: BatchTraces | undefined;
};

/** The line of one consumer (architecture 2): reads and gathers deliveries; writes, validates deferred items, settles. */
export type Worker = {
  take(delivery: Delivery): void;
  readonly hasRoom: boolean;
  /** Why the store cannot be written to now, or undefined. */
  readonly storeProblem: string | undefined;
  /** Why outcomes are not recorded now, so that nothing is acknowledged, or undefined. */
  readonly ledgerProblem: string | undefined;
  /** Why wide messages wait for others of their kind, or undefined. */
  readonly wideProblem: string | undefined;
  /** Version of a message that only a newer program can read, or undefined. */
  readonly newerVersion: number | undefined;
  /** Drops messages whose write has not begun, and those that it leaves unfinished: after a lost connection NATS redelivers them. */
  forgetUnsent(): void;
  /** Writes and settles the held messages; returns those to NATS that are not written within the time. */
  drain(timeoutMs: number): Promise<void>;
};

/** The stages of a worker, in the order in which a message passes them. */
const createStages = <E>(options: WorkerOptions, deps: WorkerDependencies<E>, isStopping: () => boolean) => {
  const { sink, breaker, metrics, traces, elapsed, log } = deps;
  const pipeline = sink.label ?? sink.pipeline;
  const onBytes = (bytes: number, wideBytes: number): void => {
    metrics.heldBytes.set({ pipeline }, bytes);
    metrics.wideHeldBytes.set({ pipeline }, wideBytes);
  };
  const settler = createSettler({ ...deps, stream: options.stream, isStopping });
  const held = createHeldMessages<E>({ ...options, elapsed, onBytes });
  const wide = createWideMessages<E>(elapsed);
  // As long as each write stores all of its messages, none holds up others.
  const hasRoomFor = ({ bytes }: HeldMessage<E>): boolean =>
    !held.hasUnfinished || held.wideBytes === 0 || held.wideBytes + bytes <= options.heldBytesMax;
  const admitWide = (message: HeldMessage<E>) => wide.admit(message, hasRoomFor(message));
  const reader = createReader({ ...deps, admitWide }, settler);
  const writer = createStoreWriter({ ...deps, isStopping });

  /** Whether further messages may come: beside wide ones that are held over many writes, half as much. */
  const hasRoom = (): boolean =>
    held.bytes < options.heldBytesMax ||
    (held.hasUnfinished && held.bytes - held.wideBytes < options.heldBytesMax / 2);

  const giveBack = (messages: readonly HeldMessage<E>[]): void => {
    for (const { delivery } of messages) settler.giveBack(delivery, 0);
  };

  /** read -> gather: a message that arrives. False where it goes no further. */
  const take = (delivery: Delivery): boolean => {
    const message = reader.read(delivery);
    if (message !== undefined) held.add(message);
    return message !== undefined;
  };

  /** write -> validate deferred items -> settle: the messages of one write. Returns those of which a part is still to be written. */
  const writeAndSettle = async (batch: readonly HeldMessage<E>[]): Promise<ReadonlySet<HeldMessage<E>>> => {
    const trace = traces?.begin(sink, batch);
    const written = await writer.write(batch, trace);
    trace?.written(written);
    if (written === undefined) {
      giveBack(batch);
      return new Set();
    }
    const { unfinished = new Set() } = written;
    const whole = batch.filter((message) => !unfinished.has(message));
    await settler.settle(whole, fitToSettle(breaker, whole, written)).catch((error: unknown) => {
      log.warn(
        { error: errorText(error) },
        'a batch was not settled; NATS delivers its unsettled messages again',
      );
    });
    trace?.settled();
    return unfinished;
  };

  const giveBackGathered = (): void => giveBack(held.releaseGathered());
  return { settler, reader, held, wide, writer, hasRoom, take, writeAndSettle, giveBackGathered };
};

const paceOf = <E>(
  { writeIntervalMs: intervalMs, writeIntervalMsMax: intervalMsMax }: WorkerOptions,
  { sink: { isUnhurried = false, busyShares: shares = busyShares }, elapsed }: WorkerDependencies<E>,
  held: HeldMessages<E>,
  isEnough: () => boolean,
): WritePace =>
  createWritePace({
    intervalMs,
    intervalMsMax,
    isUnhurried,
    shares,
    elapsed,
    isEnough,
    arrived: () => held.gathered.arrived,
  });

/** As often as the ack wait is read: it may turn out shorter than the one by which a timer was set. */
const keepAliveMsMax = 2_000;

/** At an eighth of the ack wait or sooner, until the answer is called. */
const keepAliveEvery = (held: Pick<HeldMessages<unknown>, 'keepAlive'>, ackWaitMs: () => number) => {
  let timer: NodeJS.Timeout;
  const later = (): void => {
    timer = setTimeout(
      () => {
        held.keepAlive();
        later();
      },
      Math.min(ackWaitMs() / 8, keepAliveMsMax),
    ).unref();
  };
  later();
  return (): void => clearTimeout(timer);
};

export const createWorker = <E>(options: WorkerOptions, deps: WorkerDependencies<E>): Worker => {
  const { breaker, log, onRoom } = deps;
  let isStopping = false;
  let isDraining = false;
  const stages = createStages(options, deps, () => isStopping);
  const { held, wide, reader, writer, settler } = stages;
  /** Whether a longer wait before a write would have no use. */
  const isEnough = (): boolean =>
    isDraining ||
    held.gathered.rows >= options.rowsPerWriteMax ||
    held.gathered.messages >= options.gatheredMax ||
    held.bytes >= options.heldBytesMax;
  const pace = paceOf(options, deps, held, isEnough);
  const loop = createWriteLoop({
    hasWork: () => held.gathered.messages > 0,
    round: async () => {
      await pace.untilDue();
      const batch = held.next();
      const unfinished = batch.length > 0 ? await stages.writeAndSettle(batch) : new Set<HeldMessage<E>>();
      pace.done();
      held.release(batch, unfinished);
      if (breaker.state === 'open' || isStopping) stages.giveBackGathered();
      onRoom();
    },
    onError: (error) => log.error({ error: errorText(error) }, 'internal error in the writing loop'),
  });
  const endKeepAlive = keepAliveEvery(held, options.ackWaitMs);

  const drain = async (timeoutMs: number): Promise<void> => {
    isDraining = true;
    pace.hurry();
    const finished = loop.idle();
    const timer = new Promise<void>((resolve) => setTimeout(resolve, timeoutMs).unref());
    await Promise.race([finished, timer]);
    isStopping = true;
    stages.giveBackGathered();
    if (loop.isRunning) await finished;
    endKeepAlive();
  };

  return {
    take: (delivery) => {
      if (!stages.take(delivery)) return;
      loop.start();
      if (isEnough()) pace.hurry();
    },
    get hasRoom() {
      if (breaker.state === 'open' || deps.isHeld()) return false;
      // A trial has one pull.
      return breaker.state === 'trial' ? held.bytes < 1 : stages.hasRoom();
    },
    get storeProblem() {
      return writer.problem;
    },
    get ledgerProblem() {
      return settler.problem;
    },
    get wideProblem() {
      return wide.areWaiting
        ? `messages of many days wait for those before them, of which ${held.wideBytes} bytes are being written`
        : undefined;
    },
    get newerVersion() {
      return reader.newerVersion;
    },
    forgetUnsent: () => {
      held.forget();
      onRoom();
    },
    drain,
  };
};
