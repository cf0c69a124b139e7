import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { keepConnection } from '../../../../src/http/room.ts';
import { createApiServer } from '../../../../src/metadata/api/listening.ts';
import { openRaw } from '../../../support/http/raw-client.ts';

// A call on many dead letters asks between two of them: it must not go on where nobody sees it.
it('a request whose client is killed is aborted', async () => {
  const begun = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const server = createApiServer(async ({ signal }, { incoming }) => {
    // As each request with a good token: its silence is none of its client.
    if (incoming instanceof IncomingMessage) keepConnection(incoming);
    signal.addEventListener('abort', () => aborted.resolve());
    begun.resolve();
    await aborted.promise;
    return new Response();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const client = await openRaw(typeof address === 'object' && address !== null ? address.port : 0);
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}');
  await begun.promise;
  // As the kernel does for a process that ends.
  client.socket.end();
  await expect(aborted.promise).resolves.toBeUndefined();
});
