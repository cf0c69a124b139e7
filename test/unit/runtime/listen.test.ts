import { once } from 'node:events';
import { type AddressInfo, createServer, Server } from 'node:net';
import { Registry } from 'prom-client';
import { expect, it, onTestFinished, vi } from 'vitest';
import { listen } from '../../../src/runtime/listen.ts';
import { startOpsServer } from '../../../src/runtime/ops-server.ts';

/** The next server that listens does so as on a host whose kernel has no IPv6 (`ipv6.disable=1`). */
const withoutIpv6 = (): void => {
  const spy = vi.spyOn(Server.prototype, 'listen').mockImplementationOnce(function (this: Server) {
    const error = new Error('listen EAFNOSUPPORT: address family not supported');
    setImmediate(() => this.emit('error', Object.assign(error, { code: 'EAFNOSUPPORT' })));
    return this;
  });
  onTestFinished(() => spy.mockRestore());
};

const newServer = (): Server => {
  const server = createServer();
  onTestFinished(() => {
    server.close();
  });
  return server;
};

const addressOf = (server: Server): AddressInfo | undefined => {
  const address = server.address();
  return address === null || typeof address === 'string' ? undefined : address;
};

const place = { port: 0, portVariable: 'TIDEMARK_METADATA_API_PORT', hostVariable: 'TIDEMARK_BIND_HOST' };

it('listens on every IPv4 address for :: where the host has no IPv6', async () => {
  withoutIpv6();
  const server = newServer();
  await listen(server, { ...place, host: '::' });
  expect(addressOf(server)).toMatchObject({ address: '0.0.0.0', family: 'IPv4' });
});

it('so does the operations port', async () => {
  withoutIpv6();
  const readiness = { checks: {}, degraded: {} };
  const ops = await startOpsServer({
    host: '::',
    port: 0,
    variable: 'TIDEMARK_INGRESS_OPS_PORT',
    registry: new Registry(),
    readiness,
  });
  onTestFinished(() => ops.stop());
  expect((await fetch(`http://127.0.0.1:${ops.port}/livez`)).status).toBe(200);
});

it('names the setting of the address where the host does not have it', async () => {
  withoutIpv6();
  await expect(listen(newServer(), { ...place, host: '::1' })).rejects.toMatchObject({
    code: 'listen_failed',
    message: expect.stringMatching(/^cannot listen on ::1, port 0: .*EAFNOSUPPORT.*set TIDEMARK_BIND_HOST/),
  });
  // An address of documentation, which no host has.
  await expect(listen(newServer(), { ...place, host: '192.0.2.1' })).rejects.toMatchObject({
    code: 'listen_failed',
    message: expect.stringMatching(/192\.0\.2\.1.*set TIDEMARK_BIND_HOST/),
  });
});

it('names the setting of a port that is taken', async () => {
  const first = newServer().listen(0, '127.0.0.1');
  await once(first, 'listening');
  const port = addressOf(first)?.port ?? 0;
  await expect(listen(newServer(), { ...place, host: '127.0.0.1', port })).rejects.toMatchObject({
    kind: 'permanent',
    code: 'port_in_use',
    message: `port ${port} is in use; set TIDEMARK_METADATA_API_PORT to another one`,
  });
});
