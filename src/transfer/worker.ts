import type { Delivery } from '../bus/puller.ts';
import { bytesIdentity, type DeadLetters } from '../dead-letters/dead-letters.ts';
import { messageOf } from '../model/fault.ts';
import type { OutcomeRecorder } from '../outcomes/recorder.ts';
import type { QuestdbWriter } from '../stores/questdb/writer.ts';
import type { Log } from '../telemetry/log.ts';
import type { TransferMetrics } from '../telemetry/metrics.ts';
import { decodeEnvelope } from '../wire/envelope.ts';
import { type HeldMessage, judgeDeferred, rowsOf } from './held-message.ts';
import { type BatchResult, writeBatch } from './write-batch.ts';

export type WorkerOptions = {
  readonly stream: string;
  readonly ackWaitMs: number;
  readonly rowsPerWriteMax: number;
  /** Message bytes held before no more are asked for. */
  readonly heldBytesMax: number;
};

export type WorkerDependencies = {
  readonly writer: QuestdbWriter;
  readonly deadLetters: DeadLetters;
  readonly outcomes: OutcomeRecorder;
  readonly metrics: TransferMetrics;
  readonly log: Log;
  readonly now: () => number;
  /** Called whenever messages were settled. */
  readonly onRoom: () => void;
};

/** One consumer's line: read, validate time, gather, write, settle (design section 2). */
export type Worker = {
  take(delivery: Delivery): void;
  readonly hasRoom: boolean;
  /** Why the store cannot be written to just now, or undefined. */
  readonly storeProblem: string | undefined;
  /** Version of a message that only a newer program can read, or undefined. */
  readonly newerVersion: number | undefined;
  /** Drops what was not sent yet: after a lost connection it comes again. */
  forgetUnsent(): void;
  /** Writes and settles what is held; gives back what cannot be written within the time. */
  drain(timeoutMs: number): Promise<void>;
};

const pipeline = 'metrics';
const newerRetryMs = 30_000;
const missingTableRetryMs = 5_000;
const backoffMs = { first: 100, most: 2_000 };

const uidPattern = /[, ]uid=(\d+)i/;

export const createWorker = (options: WorkerOptions, deps: WorkerDependencies): Worker => {
  const { metrics, log } = deps;
  let gathered: HeldMessage[] = [];
  let inWrite: HeldMessage[] = [];
  let heldBytes = 0;
  let storeProblem: string | undefined;
  let newer: { version: number; seenAt: number } | undefined;
  let stopping = false;
  let writing = false;
  let idle: (() => void) | undefined;

  const setHeld = (bytes: number): void => {
    heldBytes = bytes;
    metrics.heldBytes.set({ pipeline }, bytes);
  };

  const letGo = (messages: readonly HeldMessage[]): void => {
    let bytes = 0;
    for (const message of messages) bytes += message.bytes;
    setHeld(heldBytes - bytes);
  };

  const settle = (settlement: 'ack' | 'retry' | 'dead_letter', count = 1): void => {
    metrics.messages.inc({ pipeline, settlement }, count);
  };

  const setAsideMessage = async (delivery: Delivery, why: string): Promise<void> => {
    log.error(
      { sequence: delivery.streamSequence, why },
      'a message cannot be read and goes to the dead letters',
    );
    const header = {
      version: 1,
      reason: 'unreadable_message',
      error: why,
      stream: options.stream,
      streamSequence: delivery.streamSequence,
      subject: delivery.subject,
      redrive: 0,
      at: deps.now(),
    } as const;
    await deps.deadLetters.put(bytesIdentity(delivery.payload), header, delivery.payload);
    metrics.deadLettered.inc({ pipeline, reason: header.reason });
    delivery.ack();
    settle('dead_letter');
  };

  const giveBack = (delivery: Delivery, delayMs: number): void => {
    delivery.nak(delayMs);
    settle('retry');
  };

  const take = (delivery: Delivery): void => {
    if (delivery.redelivered) metrics.redelivered.inc({ pipeline });
    const read = decodeEnvelope(delivery.payload, delivery.version);
    if (read.kind === 'newer') {
      newer = { version: read.version, seenAt: deps.now() };
      metrics.heldBack.set({ pipeline }, read.version);
      log.error(
        { version: read.version },
        'a newer program wrote this message: it is held back, upgrade transfer',
      );
      giveBack(delivery, newerRetryMs);
      return;
    }
    if (read.kind === 'unreadable') {
      setAsideMessage(delivery, read.why).catch((error: unknown) => {
        log.error({ error: messageOf(error) }, 'the dead letter was not confirmed; the message comes again');
      });
      return;
    }
    const rows = rowsOf(read.envelope.header);
    const bytes = delivery.payload.length;
    gathered.push({ delivery, envelope: read.envelope, rows, bytes, touchedAt: deps.now() });
    setHeld(heldBytes + bytes);
    startWriting();
  };

  /** The next write: whole messages up to the rows that one request shall have. What was held too long comes again by itself. */
  const nextBatch = (): HeldMessage[] => {
    const staleBefore = deps.now() - options.ackWaitMs / 2;
    const batch: HeldMessage[] = [];
    let rows = 0;
    let index = 0;
    for (; index < gathered.length; index++) {
      const message = gathered[index];
      if (message === undefined) break;
      if (message.touchedAt < staleBefore) {
        letGo([message]);
        continue;
      }
      if (batch.length > 0 && rows + message.rows > options.rowsPerWriteMax) break;
      batch.push(message);
      rows += message.rows;
    }
    gathered.splice(0, index);
    return batch;
  };

  /** Writes until the outcome is known; a store that is away is tried for ever, while the messages are kept alive. */
  const writeUntilKnown = async (batch: readonly HeldMessage[]): Promise<BatchResult | undefined> => {
    let waitMs = backoffMs.first;
    for (;;) {
      try {
        const result = await writeBatch(deps.writer, batch, (outcome, seconds) => {
          metrics.writes.inc({ pipeline, outcome });
          metrics.writeSeconds.observe({ pipeline }, seconds);
        });
        if (storeProblem !== undefined) log.info({}, 'QuestDB takes rows again');
        storeProblem = undefined;
        return result;
      } catch (error) {
        if (storeProblem === undefined)
          log.warn({ error: messageOf(error) }, 'QuestDB does not take rows; trying again');
        storeProblem = messageOf(error);
        if (stopping) return undefined;
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        waitMs = Math.min(waitMs * 2, backoffMs.most);
      }
    }
  };

  const setAsideRows = async (result: BatchResult): Promise<Map<HeldMessage, number>> => {
    const counts = new Map<HeldMessage, number>();
    for (const { message, table, row, why } of result.refused) {
      const text = Buffer.from(row).toString('utf8');
      const uid = uidPattern.exec(text)?.[1] ?? bytesIdentity(row);
      const header = {
        version: 1,
        reason: 'row_refused',
        error: why,
        stream: options.stream,
        streamSequence: message.delivery.streamSequence,
        subject: message.delivery.subject,
        table,
        uid,
        redrive: 0,
        at: deps.now(),
      } as const;
      await deps.deadLetters.put(uid, header, row);
      metrics.deadLettered.inc({ pipeline, reason: header.reason });
      log.error({ table, uid, why }, 'QuestDB refused a row; it is in the dead letters');
      counts.set(message, (counts.get(message) ?? 0) + 1);
    }
    return counts;
  };

  const setAsidePassed = async (
    message: HeldMessage,
    passed: ReturnType<typeof judgeDeferred>['passed'],
  ): Promise<number> => {
    for (const { dataId, base, ordinal, text } of passed) {
      const header = {
        version: 1,
        reason: 'deferred_item_valid',
        error: 'the receiver deferred a point whose time this program finds valid',
        stream: options.stream,
        streamSequence: message.delivery.streamSequence,
        subject: message.delivery.subject,
        dataId,
        uid: `${base}+${ordinal}`,
        redrive: 0,
        at: deps.now(),
      } as const;
      await deps.deadLetters.put(`${base}:${ordinal}`, header, Buffer.from(text));
      metrics.deadLettered.inc({ pipeline, reason: header.reason });
    }
    return passed.length;
  };

  /** Store confirmed -> dead letters confirmed -> outcome recorded -> ack (design decision D4). */
  const settleMessage = async (message: HeldMessage, refusedRows: number): Promise<void> => {
    const verdicts = judgeDeferred(message.envelope);
    if (verdicts.unreadable)
      return setAsideMessage(message.delivery, 'a section of deferred points cannot be read');
    const passed = await setAsidePassed(message, verdicts.passed);
    await deps.outcomes.record({
      header: message.envelope.header,
      dropped: verdicts.dropped,
      deadLettered: refusedRows + passed,
    });
    message.delivery.ack();
    settle('ack');
  };

  const settleBatch = async (batch: readonly HeldMessage[], result: BatchResult): Promise<void> => {
    const refused = await setAsideRows(result);
    for (const message of batch) {
      const isMissing = message.envelope.header.parts.some((part) => result.missingTables.has(part.table));
      if (isMissing) giveBack(message.delivery, missingTableRetryMs);
      else await settleMessage(message, refused.get(message) ?? 0);
    }
    for (const table of result.missingTables)
      log.error({ table }, 'QuestDB has no such table; its messages wait');
  };

  const writeOnce = async (): Promise<void> => {
    const batch = nextBatch();
    inWrite = batch;
    if (batch.length > 0) {
      const result = await writeUntilKnown(batch);
      if (result === undefined) for (const message of batch) giveBack(message.delivery, 0);
      else {
        await settleBatch(batch, result).catch((error: unknown) => {
          log.warn({ error: messageOf(error) }, 'a batch was not settled; what is unsettled comes again');
        });
      }
    }
    letGo(batch);
    inWrite = [];
    deps.onRoom();
  };

  const startWriting = (): void => {
    if (writing) return;
    writing = true;
    const run = async (): Promise<void> => {
      // One turn of the event loop lets what has arrived together be written together.
      await new Promise((resolve) => setImmediate(resolve));
      while (gathered.length > 0) await writeOnce();
      writing = false;
      idle?.();
    };
    run().catch((error: unknown) => {
      writing = false;
      log.error({ error: messageOf(error) }, 'a defect in the writing loop');
      if (gathered.length > 0) startWriting();
    });
  };

  const keepAlive = setInterval(() => {
    const now = deps.now();
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
      return heldBytes < options.heldBytesMax;
    },
    get storeProblem() {
      return storeProblem;
    },
    get newerVersion() {
      // It comes again after each hold-back; once it stays away, a newer program has taken it.
      return newer !== undefined && deps.now() - newer.seenAt < 2 * newerRetryMs ? newer.version : undefined;
    },
    forgetUnsent: () => {
      letGo(gathered);
      gathered = [];
      deps.onRoom();
    },
    drain: async (timeoutMs) => {
      const finished = new Promise<void>((resolve) => {
        if (!writing) resolve();
        else idle = resolve;
      });
      const timer = new Promise<void>((resolve) => setTimeout(resolve, timeoutMs).unref());
      await Promise.race([finished, timer]);
      stopping = true;
      for (const message of gathered) giveBack(message.delivery, 0);
      letGo(gathered);
      gathered = [];
      if (writing) await finished;
      clearInterval(keepAlive);
    },
  };
};
