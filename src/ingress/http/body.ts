import { sendContinue } from '../../http/expect-continue.ts';
import type { Incoming } from '../../http/incoming.ts';
import { createPieceCheck, tooManyPieces } from '../../http/piece-check.ts';
import { Fault } from '../../model/fault.ts';
import { notStored, Refused } from '../refused.ts';
import { type BytesInFlight, smallBodyBytesMax } from './admission.ts';
import { type CompressedEncoding, freeBytes, type InflateLimits, inflate } from './inflate.ts';
import { Pieces } from './pieces.ts';

/** Why a body was not read: `detail` names limit and size, or the encoding. `aborted`: the client disconnected. */
export type BodyProblem = {
  readonly reason:
    | 'body_too_large'
    | 'inflate_ratio_exceeded'
    | 'encoding_unsupported'
    | 'encoding_corrupt'
    | 'not_stored'
    | 'aborted'
    | 'protocol_error'
    /** The watcher of the body stopped it, and knows the reason. */
    | 'unwanted';
  readonly detail: string;
};

/** The detail of `aborted`. */
export const clientGone = 'the client closed the connection';

/** The refusal of a request whose body was not read. Throws for one that its watcher stopped: the watcher knows the refusal. */
export const refusedBody = ({ reason, detail }: BodyProblem): Refused => {
  if (reason === 'unwanted')
    throw new Fault('internal', 'unwanted_body', 'a body with a valid credential was abandoned');
  return reason === 'not_stored' ? notStored(detail) : new Refused(reason, detail);
};

/** Destroys a body that its transport cannot bring to its end: the request is refused like this. */
export class UnreadableBody extends Error {
  readonly refused: Refused;
  constructor(refused: Refused) {
    super(refused.detail);
    this.refused = refused;
  }
}

/** An inflated body and the room that it reserves. */
export type Body = {
  /** The bytes. Void while a thread has them; afterwards another buffer of the same bytes. */
  bytes: Buffer;
  readonly wireBytes: number;
  /** Reserves room for the decoded form, so that the request has at least this many bytes; false when no room is left. */
  reserve(bytes: number): boolean;
  /** Releases all room; call it at the end of every request. */
  release(): void;
};

export type BodyLimits = InflateLimits & { readonly bodyBytesMax: number };

/** Receives each inflated piece of a body as it arrives; false stops the reading. */
export type SeeBody = (piece: Buffer) => boolean;

const seeAll: SeeBody = () => true;

/**
 * A body that arrives more slowly than this, in bytes per second, gives way when others need its room: bytes that arrived and keep
 * arriving hold room, the announced length never does.
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
    // The Collector's name for the same format.
    case 'zlib':
      return 'deflate';
    case 'zstd':
      return 'zstd';
    default:
      return undefined;
  }
};

/** The refusal of a body, or of its decoded form, when no room is left. */
export const noRoom = { reason: 'not_stored', detail: 'too many request bytes are in flight' } as const;
/** The same to a body that inflates: its sender chose how large it becomes. */
const noRoomInflated = notStored(noRoom.detail, { isOwnFault: true });
const unwanted: BodyProblem = { reason: 'unwanted', detail: '' };
const gaveWay: BodyProblem = {
  reason: 'not_stored',
  detail: 'too many request bytes are in flight, and this body arrived too slowly',
};

const isProblem = (value: Buffer | BodyProblem | Refused): value is BodyProblem | Refused =>
  !Buffer.isBuffer(value);

/** Measures the speed of a body second by second, so that a body that came fast and then stalls is slow, too. */
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

/** Collects the raw body; stops at the limit, or when the body has to give way. */
const collect = (
  request: Incoming,
  bytesMax: number,
  room: ByteReservation,
  inFlight: BytesInFlight,
  see: SeeBody,
): Promise<Buffer | BodyProblem | Refused> =>
  new Promise((resolve) => {
    let pieces = new Pieces();
    const pace = createPace(performance.now());
    const isTooFine = createPieceCheck();
    // Dropped while it asks for room itself, it would be given room after its end, which nobody gives back.
    let isAsking = false;
    const takesRoom = (chunk: Buffer): boolean => {
      isAsking = true;
      const isTaken = room.take(chunk.length);
      isAsking = false;
      return isTaken;
    };
    const finish = (result: Buffer | BodyProblem | Refused): void => {
      unwatch();
      request.off('data', onData).off('end', onEnd).off('error', onError).off('close', onGone);
      if (isProblem(result)) {
        pieces = new Pieces();
        room.release();
        request.resume();
      }
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      const size = pieces.length + chunk.length;
      pace.add(chunk.length, performance.now());
      if (size > bytesMax) {
        finish({
          reason: 'body_too_large',
          detail: `more than ${bytesMax} bytes as sent, the limit is ${bytesMax}`,
        });
      } else if (isTooFine(chunk.length) && room.isStranger())
        finish({ reason: 'protocol_error', detail: tooManyPieces });
      else if (!takesRoom(chunk)) finish(noRoom);
      else if (see(chunk)) pieces.add(chunk);
      else finish(unwanted);
    };
    const onEnd = (): void => finish(pieces.whole());
    const onGone = (): void => finish({ reason: 'aborted', detail: clientGone });
    const onError = (error: unknown): void =>
      error instanceof UnreadableBody ? finish(error.refused) : onGone();
    const unwatch = inFlight.watch({
      request,
      isSlow: (nowMs) => !isAsking && pace.isSlow(nowMs),
      isStranger: room.isStranger,
      giveWay: () => finish(gaveWay),
    });
    request.on('data', onData).on('end', onEnd).on('error', onError).on('close', onGone);
    if (request.destroyed) onError(request.errored);
    else {
      sendContinue(request);
      request.resume();
    }
  });

/** The bytes in flight that one request has reserved. */
type ByteReservation = {
  take(bytes: number): boolean;
  give(bytes: number): void;
  reserve(bytes: number): boolean;
  release(): void;
  isStranger(): boolean;
};

const byteReservation = (
  inFlight: BytesInFlight,
  isKnown: () => boolean,
  mayGrow: boolean,
): ByteReservation => {
  let taken = 0;
  let isStranger = true;
  const take = (bytes: number): boolean => {
    if (isStranger && isKnown()) {
      isStranger = false;
      inFlight.vouch(taken, mayGrow);
    }
    if (!inFlight.tryTake(bytes, taken, isStranger, mayGrow)) return false;
    taken += bytes;
    return true;
  };
  const give = (bytes: number): void => {
    taken -= bytes;
    if (bytes > 0) inFlight.give(bytes, isStranger, taken, mayGrow);
  };
  return {
    take,
    give,
    reserve: (bytes) => bytes <= taken || take(bytes - taken),
    release: () => give(taken),
    isStranger: () => !isKnown(),
  };
};

const inflated = async (
  raw: Buffer,
  encoding: CompressedEncoding,
  limits: BodyLimits,
  room: ByteReservation,
  see: SeeBody,
): Promise<Buffer | BodyProblem | Refused> => {
  const result = await inflate(raw, encoding, limits, { take: room.take, see });
  room.give(raw.length);
  switch (result) {
    case 'too_large':
      return {
        reason: 'body_too_large',
        detail: `more than ${limits.inflatedBytesMax} bytes after decompression, the limit is ${limits.inflatedBytesMax}`,
      };
    case 'ratio':
      return {
        reason: 'inflate_ratio_exceeded',
        detail: `more than ${freeBytes} bytes after decompression and more than ${limits.inflateRatioMax} times the ${raw.length} bytes as sent, the limit is a factor of ${limits.inflateRatioMax}`,
      };
    case 'unwanted':
      return unwanted;
    case 'no_room':
      return noRoomInflated;
    case 'corrupt':
      return { reason: 'encoding_corrupt', detail: `the body is not valid ${encoding}` };
    default:
      return result;
  }
};

/** What a line does with a body while it arrives. */
export type BodyReader = {
  readonly see?: SeeBody | undefined;
  /** Whether the sender has shown a valid credential by now; without it, every sender has. */
  readonly isKnown?: () => boolean;
};

const noStranger = (): boolean => true;

/**
 * Reads and inflates a request's body within the limits, in the order of architecture 4.1: bytes in flight, encoding, size.
 * The header fields are validated before the body is read, and before `100 Continue` is sent.
 */
export const readBody = async (
  request: Incoming,
  limits: BodyLimits,
  inFlight: BytesInFlight,
  { see = seeAll, isKnown = noStranger }: BodyReader = {},
): Promise<Body | BodyProblem | Refused> => {
  const length = request.headers['content-length'];
  const announced = Number(length ?? 0);
  const isOverLimit = announced > limits.bodyBytesMax;
  const encoding = encodingOf(request.headers['content-encoding']);
  const isPlain = encoding === 'identity';
  const mayGrow = !isPlain || length === undefined || announced > smallBodyBytesMax;
  if (!inFlight.hasRoom(isOverLimit ? 0 : announced, !isKnown(), mayGrow)) return noRoom;
  if (encoding === undefined) {
    return { reason: 'encoding_unsupported', detail: '' };
  }
  if (isOverLimit) {
    return {
      reason: 'body_too_large',
      detail: `Content-Length is ${announced} bytes, the limit is ${limits.bodyBytesMax}`,
    };
  }
  const room = byteReservation(inFlight, isKnown, mayGrow);
  const raw = await collect(request, limits.bodyBytesMax, room, inFlight, isPlain ? see : seeAll);
  if (isProblem(raw)) return raw;
  // Nothing is no stream of any encoding, but some senders name one for every body.
  const bytes = isPlain || raw.length === 0 ? raw : await inflated(raw, encoding, limits, room, see);
  if (isProblem(bytes)) {
    room.release();
    return bytes;
  }
  return { bytes, wireBytes: raw.length, reserve: room.reserve, release: room.release };
};
