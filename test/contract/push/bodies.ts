import { constants, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { pointsAt } from '../../support/push/point-cases.ts';
import { bodyOf, type PushStack, sharedPushStack } from '../../support/push/stack.ts';
import type { Report } from '../../support/stack/stack.ts';

// What a request is answered and what of it is stored is in schemas/examples/push; here is what one request cannot show.
let on: PushStack;
let report: Report;

beforeAll(async () => {
  on = await sharedPushStack();
  report = await on.report();
});

const mebi = 2 ** 20;
const { good } = pointsAt(Date.now());

/** A body of exactly this many bytes: blanks after the JSON are JSON. */
const padded = (bytes: number): Buffer => {
  const buffer = Buffer.alloc(bytes, ' ');
  buffer.write(bodyOf(report, [good]));
  return buffer;
};

describe('a body that is refused', () => {
  // A sender whose connection is closed while it sends sees a broken pipe, retries without end, and never gets the
  // reason.
  it.each([
    ['is too large by its Content-Length', () => ({ body: padded(16 * mebi + 1) }), 413],
    ['is much too large by its Content-Length', () => ({ body: padded(40 * mebi) }), 413],
    ['is chunked and much too large', () => ({ body: Array.from({ length: 40 }, () => padded(mebi)) }), 413],
    [
      'is encoded in a way that is not known',
      () => ({ headers: { 'Content-Encoding': 'br' }, body: padded(8 * mebi) }),
      415,
    ],
  ])('because it %s gets the same refusal every time', async (_, request, status) => {
    for (let count = 0; count < 15; count++) expect((await on.send(request())).status).toBe(status);
  });

  const zeros = Buffer.alloc(64 * mebi);
  /** One deflate stream of pieces that refer to nothing before them. */
  const piece = deflateRawSync(zeros, { finishFlush: constants.Z_FULL_FLUSH });
  const times = (part: Buffer): Buffer => Buffer.concat(Array.from({ length: 160 }, () => part));
  const bombs = {
    gzip: times(gzipSync(zeros)),
    deflate: Buffer.concat([Buffer.from([0x78, 0x9c]), times(piece)]),
    zstd: times(zstdCompressSync(zeros)),
  };

  // Gzip and deflate make a thousandth of it at best: 10 MB that inflate to 10 GiB must cost the receiver no more than its limit
  // of inflated bytes.
  it.each(['gzip', 'deflate', 'zstd'] as const)('a %s bomb stops at the limit', async (encoding) => {
    const bytesOf = async (): Promise<number> => {
      const text = (await on.stack.ingress[0]?.metrics()) ?? '';
      return Number(/^process_resident_memory_bytes\S* (\d+)/m.exec(text)?.[1]);
    };
    const bomb = bombs[encoding];
    expect(bomb.length).toBeLessThan(11 * mebi);
    const before = await bytesOf();
    let peak = 0;
    let isAnswered = false;
    const answering = on.send({ headers: { 'Content-Encoding': encoding }, body: bomb }).finally(() => {
      isAnswered = true;
    });
    while (!isAnswered) peak = Math.max(peak, await bytesOf());
    expect((await answering).json).toMatchObject({ reason: 'body_too_large' });
    expect(Math.max(peak, await bytesOf()) - before).toBeLessThan(512 * mebi);
  });
});
