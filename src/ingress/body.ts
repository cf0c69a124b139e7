import type { IncomingMessage } from 'node:http';
import { sendContinue } from '../http/expect-continue.ts';
import type { BytesInFlight } from './admission.ts';
import { type CompressedEncoding, inflate } from './inflate.ts';

/** Why a body could not be had: `detail` names limit and size, or the encoding. `aborted`: the client has gone. */
export type BodyProblem = {
  readonly reason: 'body_too_large' | 'encoding_unsupported' | 'encoding_corrupt' | 'not_stored' | 'aborted';
  readonly detail: string;
};

/** An inflated body and the bytes taken for it, to be given back by `release` whatever becomes of the request. */
export type Body = { readonly bytes: Buffer; readonly wireBytes: number; release(): void };

export type BodyLimits = { readonly bodyBytesMax: number; readonly inflatedBytesMax: number };

/**
 * A body that brings less than this in a second gives way when others need its room: room is held by bytes that arrived and keep
 * arriving, never by a promise of them.
 */
const slowBytesPerSecond = 65_536;
const slowWindowMs = 1000;

const encodingOf = (header: string | undefined): CompressedEncoding | 'identity' | undefined => {
  const name = (header ?? '').trim().toLowerCase();
  switch (name) {
    case '':
    case 'identity':
      return 'identity';
    case 'gzip':
    case 'x-gzip':
      return 'gzip';
    case 'deflate':
      return 'deflate';
    case 'zstd':
      return 'zstd';
    default:
      return undefined;
  }
};

const noRoom: BodyProblem = { reason: 'not_stored', detail: 'too many request bytes are in flight' };
const gaveWay: BodyProblem = {
  reason: 'not_stored',
  detail: 'too many request bytes are in flight, and this body came in too slowly',
};

const isProblem = (value: Buffer | BodyProblem): value is BodyProblem => !Buffer.isBuffer(value);

/** How fast a body comes in, by the second, so that one that came fast and then stalls is slow, too. */
const createPace = (startMs: number) => {
  let windowStart = startMs;
  let last = startMs;
  let inWindow = 0;
  let wasSlow = false;
  const isTooFew = (nowMs: number): boolean => (inWindow * 1000) / (nowMs - windowStart) < slowBytesPerSecond;
  return {
    add: (bytes: number, nowMs: number): void => {
      last = nowMs;
      if (nowMs - windowStart >= slowWindowMs) {
        wasSlow = isTooFew(nowMs);
        windowStart = nowMs;
        inWindow = 0;
      }
      inWindow += bytes;
    },
    isSlow: (nowMs: number): boolean => wasSlow || nowMs - last >= slowWindowMs,
  };
};

/** Collects the raw body; stops listening at the limit, or when it has to give way. */
const collect = (
  request: IncomingMessage,
  bytesMax: number,
  room: Room,
  inFlight: BytesInFlight,
): Promise<Buffer | BodyProblem> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const pace = createPace(performance.now());
    const finish = (result: Buffer | BodyProblem): void => {
      unwatch();
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      if (isProblem(result)) {
        chunks.length = 0;
        room.release();
        request.resume();
      }
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      pace.add(chunk.length, performance.now());
      if (size > bytesMax) {
        finish({ reason: 'body_too_large', detail: `more than ${bytesMax} bytes on the wire` });
      } else if (!room.take(chunk.length)) finish(noRoom);
      else chunks.push(chunk);
    };
    const onEnd = (): void => {
      const only = chunks[0];
      finish(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size));
    };
    const onGone = (): void => finish({ reason: 'aborted', detail: 'the client closed the connection' });
    const unwatch = inFlight.watch({ isSlow: pace.isSlow, giveWay: () => finish(gaveWay) });
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
    if (request.destroyed) onGone();
    else sendContinue(request);
  });

/** What one request has taken of the bytes in flight. */
type Room = { take(bytes: number): boolean; release(): void };

const createRoom = (inFlight: BytesInFlight): Room => {
  let taken = 0;
  return {
    take: (bytes) => {
      if (!inFlight.tryTake(bytes, taken)) return false;
      taken += bytes;
      return true;
    },
    release: () => {
      if (taken > 0) inFlight.give(taken);
      taken = 0;
    },
  };
};

const inflated = async (
  raw: Buffer,
  encoding: CompressedEncoding,
  bytesMax: number,
  room: Room,
): Promise<Buffer | BodyProblem> => {
  const result = await inflate(raw, encoding, bytesMax, room.take);
  switch (result) {
    case 'too_large':
      return { reason: 'body_too_large', detail: `more than ${bytesMax} bytes inflated` };
    case 'no_room':
      return noRoom;
    case 'corrupt':
      return { reason: 'encoding_corrupt', detail: `the body is no ${encoding} data` };
    default:
      return result;
  }
};

/**
 * Reads and inflates a request's body within the limits, in the order of design section 4: bytes in flight, encoding, size.
 * Whatever the header fields tell is judged before anything is read, and before a client that asked is told to go on.
 */
export const readBody = async (
  request: IncomingMessage,
  limits: BodyLimits,
  inFlight: BytesInFlight,
): Promise<Body | BodyProblem> => {
  const announced = Number(request.headers['content-length'] ?? 0);
  const isOverLimit = announced > limits.bodyBytesMax;
  if (!inFlight.hasRoom(isOverLimit ? 0 : announced)) return noRoom;
  const encoding = encodingOf(request.headers['content-encoding']);
  if (encoding === undefined) {
    return { reason: 'encoding_unsupported', detail: 'identity, gzip, deflate and zstd are understood' };
  }
  if (isOverLimit) {
    return {
      reason: 'body_too_large',
      detail: `${announced} bytes on the wire, the limit is ${limits.bodyBytesMax}`,
    };
  }
  const room = createRoom(inFlight);
  const raw = await collect(request, limits.bodyBytesMax, room, inFlight);
  if (isProblem(raw)) return raw;
  const bytes = encoding === 'identity' ? raw : await inflated(raw, encoding, limits.inflatedBytesMax, room);
  if (isProblem(bytes)) {
    room.release();
    return bytes;
  }
  return { bytes, wireBytes: raw.length, release: room.release };
};
