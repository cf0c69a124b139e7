import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type BytesInFlight, createBytesInFlight } from '../../../../src/ingress/http/admission.ts';
import { readBody } from '../../../../src/ingress/http/body.ts';
import { answersIn, openRaw } from '../../../support/http/raw-client.ts';
import { waitFor } from '../../../support/wait.ts';

const mebi = 2 ** 20;
const limits = { bodyBytesMax: 50 * mebi, inflatedBytesMax: 50 * mebi, inflateRatioMax: 100 };

/** A server that reads bodies into the room, answers 503 to those that it does not get whole, and holds none. */
const startReading = async (inFlight: BytesInFlight): Promise<number> => {
  const server = createServer(async (request, response) => {
    const body = await readBody(request, limits, inFlight);
    if ('release' in body) body.release();
    response.statusCode = 'release' in body ? 200 : 503;
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.closeAllConnections());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

const chunkOf = (bytes: number): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.toString(16)}\r\n`), Buffer.alloc(bytes, 'x'), Buffer.from('\r\n')]);

// It was dropped by its own request, and the bytes of that were reserved for a request that had ended, for good.
it.each([
  ['', 100_000, 60_000, 30_000, 20_000],
  [', and it becomes a large request', 10 * mebi, 4 * mebi - 10_000, 6 * mebi - 1_000, 65_536],
])(
  'a slow body that asks for room in a full room leaves nothing reserved%s',
  async (_, max, others, first, next) => {
    let nowMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    onTestFinished(() => clock.mockRestore());
    const inFlight = createBytesInFlight(max, () => {});
    const client = await openRaw(await startReading(inFlight));
    inFlight.tryTake(others);
    client.send('POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n');
    client.send(chunkOf(first));
    await waitFor('its beginning', 10_000, async () => inFlight.held === others + first);
    nowMs += 600_000;
    client.send(Buffer.concat([chunkOf(next), Buffer.from('0\r\n\r\n')]));
    expect(answersIn(await client.ended)).toMatchObject([{ status: 503 }]);
    inFlight.give(others);
    expect(inFlight.held).toBe(0);
    // Nor does it count among the large ones any more.
    expect([inFlight.tryTake(max / 10), inFlight.tryTake(max * 0.8)]).toEqual([true, true]);
  },
);
