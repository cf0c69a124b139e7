import type { Msg } from '@nats-io/transport-node';
import { Fault } from '../model/fault.ts';
import type { Bus } from './connection.ts';
import { toFault } from './nats-fault.ts';

/** A message in its stream. `time` is the time of its storage, in ms since the epoch. */
export type StoredMessage = {
  readonly sequence: number;
  readonly subject: string;
  readonly time: number;
  /** The publisher's header fields, by name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly payload: Uint8Array;
};

/**
 * Messages in the order of the request. `next` is the start of the next page, undefined at the end of the stream; a page may have
 * fewer messages than its limit and yet a `next`, because bytes limit it, too.
 */
export type StreamPage = { readonly entries: readonly StoredMessage[]; readonly next: number | undefined };

/**
 * Reads a stream by sequence and leaves no consumer behind; skips deleted messages. `subject` may have wildcards. A page holds
 * `limit` messages and about 16 MiB at most. With several replicas the newest messages can be missing for a moment. Every call
 * throws a Fault: permanent `stream_not_found`, transient when NATS does not answer.
 */
export type StreamReader = {
  /** Newest first, from the newest message below `beforeSequence` (default: the last one) on; `next` is the next `beforeSequence`. */
  readBackwards(
    stream: string,
    options: {
      readonly beforeSequence?: number | undefined;
      readonly limit: number;
      readonly subject?: string;
    },
  ): Promise<StreamPage>;
  /** Oldest first, from `fromSequence` (default: the first message) on; `next` is the next `fromSequence`. */
  readForwards(
    stream: string,
    options: {
      readonly fromSequence?: number | undefined;
      readonly limit: number;
      readonly subject?: string;
    },
  ): Promise<StreamPage>;
};

const batchMax = 256;
const batchBytesMax = 4 * 2 ** 20;
const pageBytesMax = 8 * 2 ** 20;
const windowLeast = 16;
/** The server sends a batch in one go: after this silence the rest is lost. */
const silenceMsMax = 5_000;

/** Headers that the server adds to messages that it reads from a stream. */
const addedHeaders = new Set([
  'Nats-Stream',
  'Nats-Subject',
  'Nats-Sequence',
  'Nats-Time-Stamp',
  'Nats-Num-Pending',
  'Nats-Last-Sequence',
  'Nats-UpTo-Sequence',
]);

const toStored = (message: Msg): StoredMessage => {
  const head = message.headers;
  return {
    sequence: Number(head?.get('Nats-Sequence')),
    subject: head?.get('Nats-Subject') ?? '',
    time: Date.parse(head?.get('Nats-Time-Stamp') ?? ''),
    headers: new Map(
      [...(head ?? [])]
        .filter(([name]) => !addedHeaders.has(name))
        .map(([name, [value = '']]) => [name, value]),
    ),
    payload: message.data,
  };
};

type BatchRequest = {
  readonly seq: number;
  readonly batch: number;
  readonly max_bytes?: number;
  readonly next_by_subj?: string;
};

/** The messages of a batch, and whether the stream has no further match after it. */
type Batch = { readonly entries: readonly StoredMessage[]; readonly isLast: boolean };

const noMessages = 404;
const endOfBatch = 204;

/**
 * Messages from a sequence on, in ascending order. Sends a request of its own: the client's waits for ever when the connection is lost in
 * the middle of a batch.
 */
const getBatch = (bus: Bus, stream: string, request: BatchRequest): Promise<Batch> =>
  new Promise((resolve, reject) => {
    const entries: StoredMessage[] = [];
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      subscription.unsubscribe();
      settle();
    };
    const fail = (why: string): void =>
      end(() =>
        reject(new Fault('transient', 'nats_unavailable', `stream ${stream} could not be read: ${why}`)),
      );
    const inbox = bus.inbox();
    const subscription = bus.nc.subscribe(inbox, {
      callback: (error, message) => {
        timer.refresh();
        const code = message.headers?.code ?? 0;
        if (error !== null) fail(error.message);
        else if (code === noMessages) end(() => resolve({ entries, isLast: true }));
        else if (code === endOfBatch) {
          const isLast = message.headers?.get('Nats-Num-Pending') === '0';
          end(() => resolve({ entries, isLast }));
        } else if (code !== 0) fail(`${code} ${message.headers?.description ?? ''}`);
        else entries.push(toStored(message));
      },
    });
    const timer = setTimeout(() => fail('no answer from the NATS server'), silenceMsMax);
    try {
      bus.nc.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(request), { reply: inbox });
    } catch (error) {
      end(() => reject(toFault(error)));
    }
  });

const sizeOf = (entries: readonly StoredMessage[]): number =>
  entries.reduce((sum, { payload, subject }) => sum + payload.length + subject.length + 256, 0);

export const createStreamReader = (bus: Bus): StreamReader => {
  const bounds = async (stream: string): Promise<{ first: number; last: number }> => {
    try {
      const { streams } = await bus.manager();
      const { state } = await streams.info(stream);
      return { first: Math.max(state.first_seq, 1), last: state.last_seq };
    } catch (error) {
      throw toFault(error);
    }
  };

  /** One message at a time has no bound of bytes, or a large one could never be read. */
  const batchFrom = (
    stream: string,
    seq: number,
    batch: number,
    subject: string | undefined,
  ): Promise<Batch> =>
    getBatch(bus, stream, {
      seq,
      batch,
      ...(batch === 1 ? {} : { max_bytes: batchBytesMax }),
      ...(subject === undefined ? {} : { next_by_subj: subject }),
    });

  return {
    readBackwards: async (stream, { beforeSequence, limit, subject }) => {
      const { first, last } = await bounds(stream);
      const entries: StoredMessage[] = [];
      let high = Math.min(last, (beforeSequence ?? Number.POSITIVE_INFINITY) - 1);
      let width = Math.min(batchMax, Math.max(windowLeast, limit));
      // Batches ascend: a page consists of windows that descend, wider where they find few messages and narrower where one batch
      // cannot hold all of a window.
      while (high >= first && entries.length < limit && sizeOf(entries) < pageBytesMax) {
        const low = Math.max(first, high - width + 1);
        const size = Math.min(batchMax, high - low + 1);
        const batch = await batchFrom(stream, low, size, subject);
        const isWhole = batch.isLast || (batch.entries.at(-1)?.sequence ?? 0) >= high;
        if (!isWhole) {
          width = Math.max(1, Math.floor((high - low + 1) / 2));
          continue;
        }
        const found = batch.entries.filter(({ sequence }) => sequence <= high).reverse();
        entries.push(...found.slice(0, limit - entries.length));
        if (found.length * 2 < size) width *= 2;
        high = low - 1;
      }
      const lowest = entries.length === limit ? entries.at(-1)?.sequence : undefined;
      const next = lowest ?? high + 1;
      return { entries, next: next > first ? next : undefined };
    },
    readForwards: async (stream, { fromSequence, limit, subject }) => {
      const { first, last } = await bounds(stream);
      const entries: StoredMessage[] = [];
      let next = Math.max(first, fromSequence ?? first);
      while (next <= last && entries.length < limit && sizeOf(entries) < pageBytesMax) {
        const size = Math.min(batchMax, limit - entries.length);
        const batch = await batchFrom(stream, next, size, subject);
        // The next message alone may be larger than a batch.
        const { entries: found, isLast } =
          batch.entries.length > 0 || batch.isLast ? batch : await batchFrom(stream, next, 1, subject);
        entries.push(...found);
        next = isLast ? last + 1 : (found.at(-1)?.sequence ?? last) + 1;
      }
      return { entries, next: next <= last ? next : undefined };
    },
  };
};
