import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createBytesInFlight } from '../../../../src/ingress/http/admission.ts';
import { readBody } from '../../../../src/ingress/http/body.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: unknown = runInNewContext('gc');

const limits = { bodyBytesMax: 2 ** 20, inflatedBytesMax: 2 ** 20, inflateRatioMax: 1000 };

const read = () => {
  const request = new IncomingMessage(new Socket());
  const body = readBody(
    request,
    limits,
    createBytesInFlight(2 ** 30, () => {}),
  );
  return { request, body };
};

/** Brings a body in pieces of one byte, and follows each of them. */
const bringBytes = (request: IncomingMessage, bytes: Buffer): WeakRef<Buffer>[] =>
  [...bytes].map((byte) => {
    const piece = Buffer.allocUnsafeSlow(1).fill(byte);
    request.push(piece);
    return new WeakRef(piece);
  });

const keptOf = (pieces: readonly WeakRef<Buffer>[]): number => {
  if (typeof collectGarbage === 'function') collectGarbage();
  return pieces.filter((piece) => piece.deref() !== undefined).length;
};

describe('a body that arrives in pieces of one byte', () => {
  // A buffer costs hundreds of bytes beside its own: a sender without a credential could take all memory of the process.
  it('keeps none of their buffers while it arrives, and is read as it was sent', async () => {
    const { request, body } = read();
    const bytes = Buffer.from(Array.from({ length: 10_000 }, (_, index) => index & 255));
    const pieces = bringBytes(request, bytes);
    await expect.poll(() => keptOf(pieces), { timeout: 10_000 }).toBeLessThan(10);
    request.push(null);
    expect(await body).toMatchObject({ bytes, wireBytes: bytes.length });
  });
});

it('many short pieces are refused until a credential is seen, and a few or longer ones are not', async () => {
  const readAs = (isKnown: boolean, pieces: readonly Buffer[]) => {
    const request = new IncomingMessage(new Socket());
    const inFlight = createBytesInFlight(2 ** 30, () => {});
    const body = readBody(request, limits, inFlight, { isKnown: () => isKnown });
    for (const piece of pieces) request.push(piece);
    request.push(null);
    return body;
  };
  const piecesOf = (count: number, bytes: number) =>
    Array.from({ length: count }, () => Buffer.alloc(bytes, 'x'));
  expect(await readAs(false, piecesOf(4_097, 63))).toMatchObject({ reason: 'protocol_error' });
  for (const body of [
    await readAs(true, piecesOf(4_097, 63)),
    await readAs(false, piecesOf(4_097, 64)),
    await readAs(false, piecesOf(4_096, 1)),
  ])
    expect(body).toHaveProperty('bytes');
});

it('a body of one piece is read without a copy', async () => {
  const { request, body } = read();
  const piece = Buffer.from('a body');
  request.push(piece);
  request.push(null);
  const result = await body;
  expect('bytes' in result && result.bytes === piece).toBe(true);
});

// A Collector drops for good what is answered 415.
it('a body in zlib, as the Collector calls deflate, is inflated', async () => {
  const request = new IncomingMessage(new Socket());
  request.headers['content-encoding'] = 'zlib';
  const body = readBody(
    request,
    limits,
    createBytesInFlight(2 ** 30, () => {}),
  );
  request.push(deflateSync('a body'));
  request.push(null);
  expect(await body).toMatchObject({ bytes: Buffer.from('a body') });
});

// Three bodies of 124 KB of gzip took all bytes in flight of a process, from a client that had shown no credential.
it('bodies that inflate without a known credential leave half of the room to others, and are failures beyond theirs', async () => {
  const inFlight = createBytesInFlight(8 * 2 ** 20, () => {});
  const inflatedLimits = { bodyBytesMax: 2 ** 20, inflatedBytesMax: 2 ** 23, inflateRatioMax: 2000 };
  const packed = gzipSync(Buffer.alloc(3 * 2 ** 20));
  const send = (isKnown: () => boolean) => {
    const request = new IncomingMessage(new Socket());
    request.headers['content-encoding'] = 'gzip';
    request.push(packed);
    request.push(null);
    return readBody(request, inflatedLimits, inFlight, { isKnown });
  };
  let isKnown = false;
  const first = await send(() => isKnown);
  expect(first).toMatchObject({ wireBytes: packed.length });
  expect(await send(() => false)).toMatchObject({ reason: 'not_stored', isOwnFault: true });
  expect(await send(() => true)).toMatchObject({ wireBytes: packed.length });
  isKnown = true;
  expect('reserve' in first && first.reserve(3 * 2 ** 20 + 1)).toBe(true);
  expect(inFlight.hasRoom(2 ** 20, true)).toBe(true);
});

// Their senders choose how large they become: small until then, a few of them kept out every small request.
it.each([
  ['in chunks', {}, 503],
  ['that inflates', { 'content-length': '20', 'content-encoding': 'gzip' }, 503],
  ['of more than 2 MiB', { 'content-length': String(2 ** 21 + 1) }, 503],
  ['of a known small size', { 'content-length': '20' }, 200],
])(
  'half of the room of small requests is for bodies that are known to stay small: one %s',
  async (_, headers, status) => {
    const inFlight = createBytesInFlight(192 * 2 ** 20, () => {});
    inFlight.tryTake(168 * 2 ** 20);
    for (const held of [6, 6]) inFlight.tryTake(held * 2 ** 20, 0, false, true);
    const request = new IncomingMessage(new Socket());
    Object.assign(request.headers, headers);
    request.push(Buffer.alloc(20));
    request.push(null);
    const body = await readBody(request, { ...limits, bodyBytesMax: 2 ** 22 }, inFlight);
    expect('release' in body ? 200 : 503).toBe(status);
  },
);
