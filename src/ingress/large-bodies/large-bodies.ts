import { Worker } from 'node:worker_threads';
import { inTime } from '../../bus/in-time.ts';
import { errorText, Fault } from '../../model/fault.ts';
import type { Log } from '../../telemetry/log.ts';
import {
  type BodyTokens,
  type EncodedItems,
  MalformedBody,
  TooManyElements,
  TooManyItems,
  TooManyTokens,
} from '../../wire/otlp/types.ts';
import type { EncodedPush, PushTask, RefusedPush } from '../push/encode.ts';
import type { SeriesSeen, SeriesShare } from '../series/series-gate.ts';
import type { Answered, Asked, ItemsJob, Job, Result, Thrown, TokensJob } from './tasks.ts';

/** From this size on, decoding a body may block the event loop for too long. */
export const largeBytes = 512 * 1024;

/** A body that goes to a thread: its bytes are away meanwhile, and in another buffer after. */
export type LargeBody = { bytes: Buffer };

const noBytes = Buffer.alloc(0);

/**
 * Decodes and encodes large bodies in a separate thread, one after the other, so that no body blocks the event loop. The thread
 * starts at its first use. Its heap is bounded: a body that exceeds the bound ends the thread and gets a transient Fault, and the
 * next body starts another thread. Each method rejects with a transient Fault at `deadlineAt` (ms of `performance.now()`) at the
 * latest, and releases a body that still waits then.
 */
export type LargeBodies = {
  /** Like the function of this name. */
  encodePush(body: LargeBody, task: PushTask, deadlineAt: number): Promise<EncodedPush | RefusedPush>;
  /** Like ItemsReader.collectTokens. */
  collectTokens(body: LargeBody, job: Omit<TokensJob, 'kind'>, deadlineAt: number): Promise<BodyTokens>;
  /**
   * Like ItemsReader.encode; its samples are a few of each kind, wanted or not. `series` is asked when the body goes to the thread, and
   * `seen` is what the thread admitted of them.
   */
  encode(
    body: LargeBody,
    job: Omit<ItemsJob, 'kind' | 'series'>,
    series: () => readonly SeriesShare[],
    deadlineAt: number,
  ): Promise<{ readonly encoded: EncodedItems; readonly seen: readonly SeriesSeen[] }>;
  close(): Promise<void>;
};

/** The objects that a body needs at one time take a small part of this heap. */
const heapMiBMax = 256;
/** A thread that is idle for this long is ended, to release its memory. */
const idleMs = 30_000;

const mismatch = (): Fault => new Fault('internal', 'large_body', 'unexpected answer of the thread');

/** A body that waits for its turn, or that is in the thread. */
type Waiting = {
  readonly body: LargeBody;
  /** Made when its turn comes. */
  readonly jobNow: () => Job;
  readonly deadlineAt: number;
  readonly resolve: (answered: Answered) => void;
  readonly reject: (error: Fault) => void;
};

const threadName = 'the thread of large bodies';

const errorOf = (thrown: Thrown): Error => {
  switch (thrown.what) {
    case 'malformed':
      return new MalformedBody(thrown.message, thrown.field);
    case 'too_many_items':
      return new TooManyItems(thrown.items, 0, thrown.message);
    case 'too_many_tokens':
      return new TooManyTokens(thrown.message);
    default:
      return new TooManyElements(thrown.message);
  }
};

/** The bytes in a buffer that holds nothing else, so that it can be transferred. */
const ownBytes = ({ buffer, byteOffset, byteLength }: Buffer): Uint8Array<ArrayBuffer> => {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) return new Uint8Array(buffer);
  return Uint8Array.from(new Uint8Array(buffer, byteOffset, byteLength));
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one thread, and the tasks that wait for it.
export const createLargeBodies = (log: Pick<Log, 'error'>): LargeBodies => {
  const queue: Waiting[] = [];
  let current: Waiting | undefined;
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;

  /** Bodies whose senders have an answer hold their bytes no longer. */
  const dropLate = (): void => {
    const now = performance.now();
    const inTimeStill = queue.filter(({ deadlineAt }) => deadlineAt > now);
    if (inTimeStill.length < queue.length) queue.splice(0, queue.length, ...inTimeStill);
  };

  const end = async (): Promise<void> => {
    const ending = worker;
    worker = undefined;
    await ending?.terminate();
  };

  const fail = (failed: Worker, why: string): void => {
    if (worker !== failed) return;
    worker = undefined;
    log.error({ why }, 'the thread of large bodies has ended; the next large body starts a new one');
    current?.reject(new Fault('transient', 'not_stored', 'the thread that read the body has ended'));
    current = undefined;
    next();
  };

  const start = (): Worker => {
    const started = new Worker(new URL('./thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMiBMax, maxYoungGenerationSizeMb: 16 },
    });
    // The thread does not keep the process alive.
    started.unref();
    started.on('message', (answered: Answered) => {
      current?.resolve(answered);
      current = undefined;
      next();
      if (current !== undefined) return;
      idle = setTimeout(() => void end(), idleMs).unref();
    });
    started.on('error', (error) => fail(started, errorText(error)));
    started.on('exit', (code) => fail(started, `it ended with code ${code}`));
    return started;
  };

  /** Gives the thread the next body, if it has none. */
  const next = (): void => {
    if (current !== undefined) return;
    dropLate();
    current = queue.shift();
    if (current === undefined) return;
    clearTimeout(idle);
    worker ??= start();
    const { body, jobNow } = current;
    const bytes = ownBytes(body.bytes);
    body.bytes = noBytes;
    const asked: Asked = { bytes, job: jobNow() };
    worker.postMessage(asked, [bytes.buffer]);
  };

  const ask = async (body: LargeBody, jobNow: () => Job, deadlineAt: number): Promise<Result> => {
    dropLate();
    const answering = new Promise<Answered>((resolve, reject) => {
      queue.push({ body, jobNow, deadlineAt, resolve, reject });
    });
    next();
    const answered = await inTime(threadName, answering, deadlineAt).finally(dropLate);
    body.bytes = Buffer.from(answered.bytes.buffer);
    if ('defect' in answered) throw new Fault('internal', 'large_body', answered.defect);
    if (answered.result.kind === 'thrown') throw errorOf(answered.result.thrown);
    return answered.result;
  };

  return {
    encodePush: async (body, { table, ...task }, deadlineAt) => {
      const { tableId, layout, metrics, dimensions } = table;
      const names = { metrics: [...metrics.entries()], dimensions: [...dimensions.entries()] };
      const fullDimensions = dimensions.full ?? new Set<string>();
      const job = { kind: 'push', task, table: { tableId, layout }, ...names, fullDimensions } as const;
      const result = await ask(body, () => job, deadlineAt);
      if (result.kind !== 'push') throw mismatch();
      // Each look-up of a column marks its name as seen in the registry.
      for (const name of result.metrics) metrics.get(name);
      for (const name of result.dimensions) dimensions.get(name);
      const { push, shown } = result;
      return push.kind === 'refused' ? push : { ...push, pointAt: (index) => shown.get(index) };
    },
    collectTokens: async (body, job, deadlineAt) => {
      const result = await ask(body, () => ({ kind: 'tokens', ...job }), deadlineAt);
      if (result.kind !== 'tokens') throw mismatch();
      return result.tokens;
    },
    encode: async (body, job, series, deadlineAt) => {
      const result = await ask(body, () => ({ kind: 'items', ...job, series: series() }), deadlineAt);
      if (result.kind !== 'items') throw mismatch();
      return { encoded: result.encoded, seen: result.seen };
    },
    close: end,
  };
};
