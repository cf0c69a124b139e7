import { setTimeout as delay } from 'node:timers/promises';
import type { Delivery } from '../bus/puller.ts';
import type { DeadLetters } from '../dead-letters/dead-letters.ts';
import { errorText } from '../model/fault.ts';
import type { Ledger } from '../outcomes/ledger.ts';
import { backOffMs } from '../runtime/back-off.ts';
import type { Log } from '../telemetry/log.ts';
import type { TransferMetrics } from '../telemetry/metrics.ts';
import type { BatchTrace, BatchTraces } from './batch-traces.ts';
import { type Breaker, fitToSettle } from './breaker.ts';
import type { HeldMessage } from './held-message.ts';
import type { TransferSamples } from './samples.ts';
import { createSettler } from './settle.ts';
import type { Sink, Written } from './sink.ts';

export type WorkerOptions = {
  readonly stream: string;
  readonly ackWaitMs: number;
  readonly rowsPerWriteMax: number;
  /** Message bytes held before no more are asked for. */
  readonly heldBytesMax: number;
  /**
   * Writes begin at least this far apart, unless a whole write's rows, all that may be held, or `gatheredMax` messages are waiting;
   * 0 = as soon as the last one is done.
   */
  readonly writeIntervalMs: number;
  /** So many messages waiting are written at once: more might not be delivered before some are acknowledged. */
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
  /** How long ago something was, ms: as of `createElapsed`. */
  readonly elapsed: () => number;
  /** Called whenever messages were settled. */
  readonly onRoom: () => void;
  readonly breaker: Breaker;
  /** True while dead letters cannot be kept: no more is taken. */
  readonly isHeld: () => boolean;
  /** Where tracing is on. */
  readonly traces?: BatchTraces | undefined;
};

/** One consumer's line: read, validate time, gather, write, settle (architecture 2.2). */
export type Worker = {
  take(delivery: Delivery): void;
  readonly hasRoom: boolean;
  /** Why the store cannot be written to just now, or undefined. */
  readonly storeProblem: string | undefined;
  /** Why outcomes are not recorded just now, so that nothing is acknowledged, or undefined. */
  readonly ledgerProblem: string | undefined;
  /** Version of a message that only a newer program can read, or undefined. */
  readonly newerVersion: number | undefined;
  /** Drops what was not sent yet: after a lost connection it comes again. */
  forgetUnsent(): void;
  /** Writes and settles what is held; gives back what cannot be written within the time. */
  drain(timeoutMs: number): Promise<void>;
};

const newerRetryMs = 30_000;
const backOff = { firstMs: 100, mostMs: 2_000 };

export const createWorker = <E>(options: WorkerOptions, deps: WorkerDependencies<E>): Worker => {
  const { metrics, log, sink, breaker } = deps;
  const pipeline = sink.label ?? sink.pipeline;
  let gathered: HeldMessage<E>[] = [];
  let gatheredRows = 0;
  let inWrite: HeldMessage<E>[] = [];
  let heldBytes = 0;
  let storeProblem: string | undefined;
  let newer: { version: number; seenAt: number } | undefined;
  let stopping = false;
  let draining = false;
  let lastWriteAt = Number.NEGATIVE_INFINITY;
  let writing = false;
  let idle: (() => void) | undefined;
  let writeNow: (() => void) | undefined;
  const settler = createSettler({ ...deps, stream: options.stream, isStopping: () => stopping });

  const setHeld = (bytes: number): void => {
    heldBytes = bytes;
    metrics.heldBytes.set({ pipeline }, bytes);
  };

  /** Whether waiting for more before a write would bring nothing. */
  const isEnough = (): boolean =>
    draining ||
    gatheredRows >= options.rowsPerWriteMax ||
    gathered.length >= options.gatheredMax ||
    heldBytes >= options.heldBytesMax;

  const letGo = (messages: readonly HeldMessage<E>[]): void => {
    let bytes = 0;
    for (const message of messages) bytes += message.bytes;
    setHeld(heldBytes - bytes);
  };

  const take = (delivery: Delivery): void => {
    if (delivery.redelivered) metrics.redelivered.inc({ pipeline });
    const read = sink.read(delivery.payload, delivery.version);
    if (read.kind === 'newer') {
      newer = { version: read.version, seenAt: deps.elapsed() };
      metrics.heldBack.set({ pipeline }, read.version);
      log.error(
        { version: read.version },
        'a newer program wrote this message: it is held back, upgrade transfer',
      );
      settler.giveBack(delivery, newerRetryMs);
      return;
    }
    if (breaker.state === 'open') {
      settler.giveBack(delivery, 0);
      return;
    }
    if (read.kind === 'unreadable') {
      if (breaker.state === 'trial' && !breaker.tried(1, 1)) {
        settler.giveBack(delivery, 0);
        return;
      }
      breaker.note(1, 1);
      settler.settleUnreadable(delivery, read.why).catch((error: unknown) => {
        log.error({ error: errorText(error) }, 'the dead letter was not confirmed; the message comes again');
      });
      return;
    }
    const rows = sink.rowsOf(read.envelope);
    const bytes = delivery.payload.length;
    const touchedAt = deps.elapsed();
    gathered.push({ delivery, envelope: read.envelope, rows, bytes, touchedAt, takenAt: deps.now() });
    gatheredRows += rows;
    setHeld(heldBytes + bytes);
    startWriting();
    if (isEnough()) writeNow?.();
  };

  /** The next write: whole messages up to the rows that one request shall have. What was held too long comes again by itself. */
  const nextBatch = (): HeldMessage<E>[] => {
    const staleBefore = deps.elapsed() - options.ackWaitMs / 2;
    const batch: HeldMessage<E>[] = [];
    let rows = 0;
    let index = 0;
    for (; index < gathered.length; index++) {
      const message = gathered[index];
      if (message === undefined) break;
      if (message.touchedAt < staleBefore) {
        gatheredRows -= message.rows;
        letGo([message]);
        continue;
      }
      if (batch.length > 0 && rows + message.rows > options.rowsPerWriteMax) break;
      batch.push(message);
      rows += message.rows;
    }
    gathered.splice(0, index);
    gatheredRows -= rows;
    return batch;
  };

  const noteStore = (problem: string | undefined): void => {
    const store = sink.store;
    if (problem !== undefined && storeProblem === undefined)
      log.warn({ store, error: problem }, 'the store does not take rows; trying again');
    if (problem === undefined && storeProblem !== undefined)
      log.info({ store }, 'the store takes rows again');
    storeProblem = problem;
  };

  /** Writes until the outcome is known; a store that is away is tried for ever, while the messages are kept alive. */
  const writeUntilKnown = async (
    batch: readonly HeldMessage<E>[],
    trace: BatchTrace | undefined,
  ): Promise<Written<E> | undefined> => {
    const write = (): Promise<Written<E>> =>
      sink.write(batch, (outcome, seconds) => {
        metrics.writes.inc({ pipeline, outcome });
        metrics.writeSeconds.observe({ pipeline }, seconds);
        trace?.sent(outcome, seconds);
      });
    for (let failures = 1; ; failures++) {
      try {
        const result = await write();
        noteStore(result.problem);
        return result;
      } catch (error) {
        noteStore(errorText(error));
        if (stopping) return undefined;
        await delay(backOffMs(backOff, failures));
      }
    }
  };

  const letGoGathered = (): void => {
    letGo(gathered);
    gathered = [];
    gatheredRows = 0;
  };

  const giveBackGathered = (): void => {
    for (const message of gathered) settler.giveBack(message.delivery, 0);
    letGoGathered();
  };

  const writeOnce = async (): Promise<void> => {
    const batch = nextBatch();
    inWrite = batch;
    if (batch.length > 0) {
      const trace = deps.traces?.begin(sink, batch);
      const result = await writeUntilKnown(batch, trace);
      trace?.written(result);
      if (result === undefined) for (const message of batch) settler.giveBack(message.delivery, 0);
      else {
        await settler.settle(batch, fitToSettle(breaker, batch, result)).catch((error: unknown) => {
          log.warn({ error: errorText(error) }, 'a batch was not settled; what is unsettled comes again');
        });
        trace?.settled();
      }
    }
    letGo(batch);
    inWrite = [];
    if (breaker.state === 'open') giveBackGathered();
    deps.onRoom();
  };

  /** Lets rows gather, where the store wants few and large writes. */
  const untilWriteIsDue = async (): Promise<void> => {
    const waitMs = lastWriteAt + options.writeIntervalMs - deps.elapsed();
    if (waitMs > 0 && !isEnough()) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs);
        writeNow = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      writeNow = undefined;
    }
    lastWriteAt = deps.elapsed();
  };

  const startWriting = (): void => {
    if (writing) return;
    writing = true;
    const run = async (): Promise<void> => {
      // One turn of the event loop lets what has arrived together be written together.
      await new Promise((resolve) => setImmediate(resolve));
      while (gathered.length > 0) {
        await untilWriteIsDue();
        await writeOnce();
      }
      writing = false;
      idle?.();
    };
    run().catch((error: unknown) => {
      writing = false;
      log.error({ error: errorText(error) }, 'a defect in the writing loop');
      if (gathered.length > 0) startWriting();
    });
  };

  const keepAlive = setInterval(() => {
    const now = deps.elapsed();
    for (const message of [...inWrite, ...gathered]) {
      if (now - message.touchedAt < options.ackWaitMs / 4) continue;
      // A message that was left alone for half its ack wait may be on its way to another worker already.
      if (now - message.touchedAt > options.ackWaitMs / 2) continue;
      message.delivery.working();
      message.touchedAt = now;
    }
  }, options.ackWaitMs / 8);
  keepAlive.unref();

  return {
    take,
    get hasRoom() {
      if (breaker.state === 'open' || deps.isHeld()) return false;
      // A trial is of one pull.
      return heldBytes < (breaker.state === 'trial' ? 1 : options.heldBytesMax);
    },
    get storeProblem() {
      return storeProblem;
    },
    get ledgerProblem() {
      return settler.problem;
    },
    get newerVersion() {
      // It comes again after each hold-back; once it stays away, a newer program has taken it.
      return newer !== undefined && deps.elapsed() - newer.seenAt < 2 * newerRetryMs
        ? newer.version
        : undefined;
    },
    forgetUnsent: () => {
      letGoGathered();
      deps.onRoom();
    },
    drain: async (timeoutMs) => {
      draining = true;
      writeNow?.();
      const finished = new Promise<void>((resolve) => {
        if (!writing) resolve();
        else idle = resolve;
      });
      const timer = new Promise<void>((resolve) => setTimeout(resolve, timeoutMs).unref());
      await Promise.race([finished, timer]);
      stopping = true;
      giveBackGathered();
      if (writing) await finished;
      clearInterval(keepAlive);
    },
  };
};
