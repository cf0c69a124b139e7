import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * A balancer of connections, as kube-proxy is one: each new one goes to the next server in turn, or where that one takes none to the
 * other; an open one stays where it is. It looks at no health and takes nobody out of its rotation.
 */
export type Balancer = { readonly port: number; close(): Promise<void> };

export const startBalancer = async (ports: readonly number[]): Promise<Balancer> => {
  const sockets = new Set<Socket>();
  let turn = 0;
  const join = (client: Socket, first: number, tried = 0): void => {
    if (tried === ports.length) return void client.destroy();
    const server = connect(ports[(first + tried) % ports.length] ?? 0, '127.0.0.1');
    server.once('error', () => join(client, first, tried + 1));
    server.once('connect', () => {
      server.removeAllListeners('error');
      sockets.add(server);
      server.on('error', () => client.destroy());
      server.once('close', () => {
        sockets.delete(server);
        client.destroySoon();
      });
      client.pipe(server).pipe(client);
    });
  };
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    sockets.add(client);
    client.on('error', () => {});
    client.once('close', () => sockets.delete(client));
    join(client, turn++);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address: AddressInfo | string | null = listener.address();
  return {
    port: address === null || typeof address === 'string' ? 0 : address.port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
};
