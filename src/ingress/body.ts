import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip, inflate, zstdDecompress } from 'node:zlib';
import type { BytesInFlight } from './admission.ts';

/** Why a body could not be had: `detail` names limit and size, or the encoding. `aborted`: the client has gone. */
export type BodyProblem = {
  readonly reason: 'body_too_large' | 'encoding_unsupported' | 'encoding_corrupt' | 'not_stored' | 'aborted';
  readonly detail: string;
};

/** An inflated body and the bytes taken for it, to be given back by `release` whatever becomes of the request. */
export type Body = { readonly bytes: Buffer; readonly wireBytes: number; release(): void };

export type BodyLimits = { readonly bodyBytesMax: number; readonly inflatedBytesMax: number };

const inflaters = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  zstd: promisify(zstdDecompress),
} as const;

type Encoding = keyof typeof inflaters | 'identity';

const encodingOf = (header: string | undefined): Encoding | undefined => {
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

const isProblem = (value: Buffer | BodyProblem): value is BodyProblem => !Buffer.isBuffer(value);

/** Collects the raw body; stops listening at the limit. `take` is asked for room before each chunk is kept. */
const collect = (
  request: IncomingMessage,
  bytesMax: number,
  take: (bytes: number) => boolean,
): Promise<Buffer | BodyProblem> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (result: Buffer | BodyProblem): void => {
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      if (isProblem(result)) request.resume();
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > bytesMax) {
        finish({ reason: 'body_too_large', detail: `more than ${bytesMax} bytes on the wire` });
      } else if (!take(chunk.length)) {
        finish({ reason: 'not_stored', detail: 'too many request bytes are in flight' });
      } else chunks.push(chunk);
    };
    const onEnd = (): void => {
      const only = chunks[0];
      finish(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size));
    };
    const onGone = (): void => finish({ reason: 'aborted', detail: 'the client closed the connection' });
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });

const inflated = async (
  bytes: Buffer,
  encoding: keyof typeof inflaters,
  bytesMax: number,
): Promise<Buffer | BodyProblem> => {
  try {
    return await inflaters[encoding](bytes, { maxOutputLength: bytesMax });
  } catch (error) {
    const isTooLarge =
      error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return isTooLarge
      ? { reason: 'body_too_large', detail: `more than ${bytesMax} bytes inflated` }
      : { reason: 'encoding_corrupt', detail: `the body is no ${encoding} data` };
  }
};

/**
 * Reads and inflates a request's body within the limits, in the order of design section 4: bytes in flight, encoding, size.
 * A known Content-Length is judged before anything is read.
 */
export const readBody = async (
  request: IncomingMessage,
  limits: BodyLimits,
  inFlight: BytesInFlight,
): Promise<Body | BodyProblem> => {
  const length = request.headers['content-length'];
  const announced = length === undefined ? 0 : Number(length);
  let taken = 0;
  const take = (bytes: number): boolean => {
    if (!inFlight.tryTake(bytes)) return false;
    taken += bytes;
    return true;
  };
  const release = (): void => {
    inFlight.give(taken);
    taken = 0;
  };
  const fail = (problem: BodyProblem): BodyProblem => {
    release();
    return problem;
  };
  const isOverLimit = announced > limits.bodyBytesMax;
  if (!isOverLimit && !take(announced)) {
    return fail({ reason: 'not_stored', detail: 'too many request bytes are in flight' });
  }
  const encoding = encodingOf(request.headers['content-encoding']);
  if (encoding === undefined) {
    return fail({
      reason: 'encoding_unsupported',
      detail: 'identity, gzip, deflate and zstd are understood',
    });
  }
  if (isOverLimit) {
    return fail({
      reason: 'body_too_large',
      detail: `${announced} bytes on the wire, the limit is ${limits.bodyBytesMax}`,
    });
  }
  const raw = await collect(request, limits.bodyBytesMax, length === undefined ? take : () => true);
  if (isProblem(raw)) return fail(raw);
  if (encoding === 'identity') return { bytes: raw, wireBytes: raw.length, release };
  const bytes = await inflated(raw, encoding, limits.inflatedBytesMax);
  if (isProblem(bytes)) return fail(bytes);
  if (!take(bytes.length))
    return fail({ reason: 'not_stored', detail: 'too many request bytes are in flight' });
  return { bytes, wireBytes: raw.length, release };
};
