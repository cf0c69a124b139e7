import { Worker } from 'node:worker_threads';
import { Fault, messageOf } from '../../model/fault.ts';
import type { Log } from '../../telemetry/log.ts';
import {
  type EncodedTraces,
  MalformedBody,
  TooManyElements,
  TooManySpans,
  TooManyTokens,
} from '../../wire/otlp/types.ts';
import type { EncodedPush, PushTask, RefusedPush } from '../push/encode.ts';
import type { Answered, Asked, Job, Result, SpansJob, Thrown, TokensJob } from './tasks.ts';

/** Bodies of so many bytes may take longer to read than the event loop should be held. */
export const largeBytes = 512 * 1024;

/** A body that a thread may have: its bytes are away meanwhile, and in another buffer after. */
export type LargeBody = { bytes: Buffer };

const noBytes = Buffer.alloc(0);

/**
 * Decodes and encodes large bodies in a thread of its own, one after the other, so that no body holds up the event loop. The thread
 * is started when it is first needed. Its heap is bounded: a body that would pass the bound ends the thread and is answered
 * with a transient Fault, and the next one begins another.
 */
export type LargeBodies = {
  /** As the function of this name. */
  encodePush(body: LargeBody, task: PushTask): Promise<EncodedPush | RefusedPush>;
  /** As TraceReader.collectTokens. */
  collectTokens(body: LargeBody, job: Omit<TokensJob, 'kind'>): Promise<readonly string[]>;
  /** As TraceReader.encodeTraces; its samples are a few of each kind, wanted or not. */
  encodeTraces(body: LargeBody, job: Omit<SpansJob, 'kind'>): Promise<EncodedTraces>;
  close(): Promise<void>;
};

/** What is built of a body at a time takes a small part of it. */
const heapMiBMax = 256;
/** A thread that has nothing to do for so long is ended: its memory is given back. */
const idleMs = 30_000;

const mismatch = (): Fault => new Fault('internal', 'large_body', 'the thread has answered something else');

type Waiting = { readonly resolve: (answered: Answered) => void; readonly reject: (error: Fault) => void };

const errorOf = (thrown: Thrown): Error => {
  switch (thrown.what) {
    case 'malformed':
      return new MalformedBody(thrown.message, thrown.field);
    case 'too_many_spans':
      return new TooManySpans(thrown.spans, 0, thrown.message);
    case 'too_many_tokens':
      return new TooManyTokens(thrown.message);
    default:
      return new TooManyElements(thrown.message);
  }
};

/** Its bytes where nothing else lies, so that they can be given away. */
const ownBytes = ({ buffer, byteOffset, byteLength }: Buffer): Uint8Array<ArrayBuffer> => {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) return new Uint8Array(buffer);
  return Uint8Array.from(new Uint8Array(buffer, byteOffset, byteLength));
};

export const createLargeBodies = (log: Pick<Log, 'error'>): LargeBodies => {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let nextId = 0;
  let idle: NodeJS.Timeout | undefined;

  const end = async (): Promise<void> => {
    const ending = worker;
    worker = undefined;
    await ending?.terminate();
  };

  const fail = (failed: Worker, why: string): void => {
    if (worker !== failed) return;
    worker = undefined;
    log.error(
      { why, bodies: waiting.size },
      'the thread of large bodies has ended; the next body begins another',
    );
    for (const { reject } of waiting.values())
      reject(new Fault('transient', 'not_stored', 'the thread that read the body has ended'));
    waiting.clear();
  };

  const start = (): Worker => {
    const started = new Worker(new URL('./thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMiBMax, maxYoungGenerationSizeMb: 16 },
    });
    // It keeps nobody from ending.
    started.unref();
    started.on('message', (answered: Answered) => {
      waiting.get(answered.id)?.resolve(answered);
      waiting.delete(answered.id);
      if (waiting.size > 0) return;
      idle = setTimeout(() => void end(), idleMs);
      idle.unref();
    });
    started.on('error', (error) => fail(started, messageOf(error)));
    started.on('exit', (code) => fail(started, `it ended with code ${code}`));
    return started;
  };

  const ask = async (body: LargeBody, job: Job): Promise<Result> => {
    clearTimeout(idle);
    worker ??= start();
    const id = nextId++;
    const bytes = ownBytes(body.bytes);
    body.bytes = noBytes;
    const answered = await new Promise<Answered>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      const asked: Asked = { id, bytes, job };
      worker?.postMessage(asked, [bytes.buffer]);
    });
    body.bytes = Buffer.from(answered.bytes.buffer);
    if ('defect' in answered) throw new Fault('internal', 'large_body', answered.defect);
    if (answered.result.kind === 'thrown') throw errorOf(answered.result.thrown);
    return answered.result;
  };

  return {
    encodePush: async (body, { table, ...task }) => {
      const { tableId, layout, metrics, dimensions } = table;
      const result = await ask(body, {
        ...{ kind: 'push', task, table: { tableId, layout } },
        ...{ metrics: [...metrics.entries()], dimensions: [...dimensions.entries()] },
      });
      if (result.kind !== 'push') throw mismatch();
      // The registry learns from its columns being asked for when they were last seen.
      for (const name of result.metrics) metrics.get(name);
      for (const name of result.dimensions) dimensions.get(name);
      const { push, shown } = result;
      return push.kind === 'refused' ? push : { ...push, pointAt: (index) => shown.get(index) };
    },
    collectTokens: async (body, job) => {
      const result = await ask(body, { kind: 'tokens', ...job });
      if (result.kind !== 'tokens') throw mismatch();
      return result.tokens;
    },
    encodeTraces: async (body, job) => {
      const result = await ask(body, { kind: 'spans', ...job });
      if (result.kind !== 'spans') throw mismatch();
      return result.encoded;
    },
    close: end,
  };
};
