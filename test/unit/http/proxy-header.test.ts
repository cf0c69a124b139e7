import { once } from 'node:events';
import { Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import { createApiServer } from '../../../src/metadata/api/listening.ts';
import { startOpsServer } from '../../../src/runtime/ops-server.ts';
import { openRaw } from '../../support/http/raw-client.ts';

const apiPort = async (): Promise<number> => {
  const server = createApiServer(() => new Response()).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
};

const opsPort = async (): Promise<number> => {
  const readiness = { checks: {}, degraded: {} };
  const where = { host: '127.0.0.1', port: 0, variable: 'TIDEMARK_INGRESS_OPS_PORT' };
  const { port, stop } = await startOpsServer({ ...where, registry: new Registry(), readiness });
  onTestFinished(stop);
  return port;
};

// "malformed HTTP request" named nothing, and the client behind the proxy is not at fault.
it.each([
  ['the admin API', apiPort],
  ['an operations port', opsPort],
])('%s names a header of the PROXY protocol', async (_, open) => {
  const connection = await openRaw(await open());
  connection.send(Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2 1024 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n'));
  const answer = await connection.ended;
  expect(answer).toMatch(/^HTTP\/1\.1 400 .*a header of the PROXY protocol, which this port does not take/s);
});
