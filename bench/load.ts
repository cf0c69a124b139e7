import { setTimeout as delay } from 'node:timers/promises';
import { type Connection, openConnection } from './connection.ts';
import { openGrpcConnection } from './grpc-connection.ts';
import { percentile } from './statistics.ts';

export type LoadResult = {
  acknowledged: number;
  requests: number;
  failed: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
};

export type Load = {
  /** The connections are divided among them; `grpc:` with the path of a method is a call. */
  readonly urls: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the next request. */
  readonly nextBody: () => Uint8Array;
  readonly itemsPerBody: number;
  readonly connections: number;
};

const milliseconds = (latencies: readonly number[], share: number): number =>
  latencies.length === 0 ? 0 : Number(percentile(latencies, share).toFixed(2));

const pauseAfterFailureMs = 20;

/** True for an answer 200; after any other result it pauses before the next request. */
export const postOnce = async (
  connection: Connection,
  { nextBody }: Pick<Load, 'nextBody'>,
): Promise<boolean> => {
  if (await connection.post(nextBody())) return true;
  await delay(pauseAfterFailureMs);
  return false;
};

const runWhile = async (load: Load, isWanted: (requests: number) => boolean): Promise<LoadResult> => {
  const latencies: number[] = [];
  let failed = 0;
  let begun = 0;
  const start = performance.now();
  const { urls, headers } = load;
  const worker = async (number: number): Promise<void> => {
    const url = urls[number % urls.length] ?? '';
    const open = url.startsWith('grpc:') ? openGrpcConnection : openConnection;
    const connection = open(url, headers);
    while (isWanted(begun++)) {
      const sent = performance.now();
      const isAnswered = await postOnce(connection, load);
      if (isAnswered) latencies.push(performance.now() - sent);
      else failed++;
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: load.connections }, (_, number) => worker(number)));
  const elapsed = (performance.now() - start) / 1000;
  return {
    acknowledged: latencies.length * load.itemsPerBody,
    requests: latencies.length,
    failed,
    seconds: elapsed,
    p50Ms: milliseconds(latencies, 0.5),
    p99Ms: milliseconds(latencies, 0.99),
  };
};

/** Posts over this many connections until the time is up. Counts items of requests with an answer 200. */
export const runLoad = (load: Load, seconds: number): Promise<LoadResult> => {
  const end = performance.now() + seconds * 1000;
  return runWhile(load, () => performance.now() < end);
};

/** The same with this many requests. */
export const runRequests = (load: Load, count: number): Promise<LoadResult> =>
  runWhile(load, (begun) => begun < count);

const stampName = Buffer.from('"timestamp":');
const stampDigits = 13;
const restampMs = 1_000;

/** Moves the 13 digits at `at` forward by this many milliseconds. */
const moveStamp = (body: Buffer, at: number, byMs: number): void => {
  for (let index = at + stampDigits - 1, carry = byMs; carry > 0 && index >= at; index--) {
    const sum = (body[index] ?? 0) - 0x30 + carry;
    body[index] = 0x30 + (sum % 10);
    carry = Math.floor(sum / 10);
  }
};

/**
 * The bodies of pushes in turn, for ever. Their times move forward with the clock, like those of real senders: constant times would
 * go into the same seconds of the table again and again. A body must have its answer before its next turn.
 */
export const inTurnOfNow = (make: (nowMs: number) => readonly Buffer[]): (() => Uint8Array) => {
  const madeAtMs = Date.now();
  const pushes = make(madeAtMs).map((body) => {
    const stamps: number[] = [];
    for (let at = body.indexOf(stampName); at !== -1; at = body.indexOf(stampName, at + 1))
      stamps.push(at + stampName.length);
    return { body, stamps, stampedAtMs: madeAtMs };
  });
  let next = 0;
  return () => {
    const push = pushes[next++ % pushes.length];
    if (push === undefined) return Buffer.alloc(0);
    const byMs = Date.now() - push.stampedAtMs;
    if (byMs >= restampMs) {
      for (const at of push.stamps) moveStamp(push.body, at, byMs);
      push.stampedAtMs += byMs;
    }
    return push.body;
  };
};

type Place = { readonly at: number; readonly length: number };

const idTags = [
  [0x0a, 0x12],
  [0x4a, 0x52],
] as const;

/** The tag and the length of the span id of an exemplar, and the tag of its trace id. */
const exemplarTags = { span: Buffer.from([0x22, 8]), trace: 0x2a } as const;

/** The places of the span ids in a body of spans, of log records or of data points with exemplars, and their length in bytes. */
export const spanIdPlaces = (body: Buffer, encoding: 'json' | 'protobuf'): Place[] => {
  const places: Place[] = [];
  if (encoding === 'json') {
    const mark = '"spanId":"';
    for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + 1))
      places.push({ at: at + mark.length, length: 16 });
    return places;
  }
  // trace_id of 16 bytes, then span_id of 8 bytes: fields 1 and 2 of a span, 9 and 10 of a log record.
  for (const [trace, span] of idTags) {
    for (let at = body.indexOf(trace); at !== -1; at = body.indexOf(trace, at + 1)) {
      if (body[at + 1] === 16 && body[at + 18] === span && body[at + 19] === 8)
        places.push({ at: at + 20, length: 8 });
    }
  }
  // An exemplar has its span_id first: fields 4 and 5.
  for (let at = body.indexOf(exemplarTags.span); at !== -1; at = body.indexOf(exemplarTags.span, at + 1)) {
    if (body[at + 10] === exemplarTags.trace && body[at + 11] === 16) places.push({ at: at + 2, length: 8 });
  }
  return places;
};

/** The bodies in turn, each time with another id in the first span: a byte-identical request would be a repeat. */
export const allDifferent = (
  bodies: readonly Buffer[],
  encoding: 'json' | 'protobuf',
): (() => Uint8Array) => {
  const places = bodies.map((body) => {
    const [place] = spanIdPlaces(body, encoding);
    if (place === undefined) throw new Error('the body holds no id of a span');
    return place;
  });
  let count = 0;
  return () => {
    const index = count % bodies.length;
    const body = Buffer.from(bodies[index] ?? []);
    const { at, length } = places[index] ?? { at: 0, length: 0 };
    const id = (++count).toString(16).padStart(16, '0');
    body.set(length === 16 ? Buffer.from(id) : Buffer.from(id, 'hex'), at);
    return body;
  };
};
