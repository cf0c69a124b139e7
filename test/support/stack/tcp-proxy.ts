import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * What happens to bytes on their way, in both directions unless said otherwise:
 * - `clear`: nothing;
 * - `delay`: they arrive so much later, in order;
 * - `stall`: they wait until the weather changes;
 * - `late`: what the server is asked waits for `deliver`, also where the client ends the connection meanwhile, as in a slow proxy;
 * - `deaf`: what the server answers is lost, what it is asked arrives; the connections that lost bytes end with it;
 * - `refuse`: connections are cut, new ones too;
 * - `answer`: every HTTP request is answered with this status, and does not arrive.
 */
export type Weather =
  | { readonly kind: 'clear' | 'stall' | 'late' | 'deaf' | 'refuse' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'answer'; readonly status: number };

/** A way to a server on loopback that bytes can be lost on. */
export type TcpProxy = {
  readonly port: number;
  /** Holds for open connections and for new ones. */
  setWeather(weather: Weather): void;
  /** What `late` has held arrives, and after it what follows on these connections. */
  deliver(): void;
  /** Ends every open connection; what was under way is lost. */
  cut(): void;
  close(): Promise<void>;
};

/** A pipe holds so much of what is delayed before it reads no more. */
const delayedBytesMax = 4 * 1024 * 1024;

/** Text only where a socket decodes, which these do not. */
type Bytes = Buffer | string;

/** One direction of a connection. */
type Pipe = { push(chunk: Bytes, ms: number): void; readonly isFull: boolean; end(): void };

const createPipe = (to: Socket, onRoom: () => void): Pipe => {
  let queued: { readonly chunk: Bytes; readonly due: number }[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    timer = undefined;
    const now = performance.now();
    while (queued[0] !== undefined && queued[0].due <= now) {
      const [first] = queued.splice(0, 1);
      if (first === undefined) break;
      bytes -= first.chunk.length;
      to.write(first.chunk);
    }
    if (queued[0] !== undefined) timer = setTimeout(flush, queued[0].due - now);
    if (bytes < delayedBytesMax) onRoom();
  };
  return {
    push: (chunk, ms) => {
      if (ms === 0 && queued.length === 0) {
        to.write(chunk);
        return;
      }
      const due = Math.max(performance.now() + ms, queued.at(-1)?.due ?? 0);
      queued.push({ chunk, due });
      bytes += chunk.length;
      timer ??= setTimeout(flush, due - performance.now());
    },
    get isFull() {
      return bytes >= delayedBytesMax || to.writableLength >= delayedBytesMax;
    },
    end: () => {
      clearTimeout(timer);
      queued = [];
    },
  };
};

type Connection = { setWeather(weather: Weather): void; deliver(): void; cut(): void };

const join = (client: Socket, port: number, first: Weather, onEnd: () => void): Connection => {
  const server = connect(port, '127.0.0.1');
  let weather = first;
  let hasLostBytes = false;
  let held: Bytes[] = [];
  const resume = (): void => {
    if (weather.kind === 'stall') return;
    if (!toServer.isFull) client.resume();
    if (!toClient.isFull) server.resume();
  };
  const toServer = createPipe(server, resume);
  const toClient = createPipe(client, resume);
  const cut = (): void => {
    toServer.end();
    toClient.end();
    client.destroy();
    server.destroy();
    onEnd();
  };
  const forward = (from: Socket, pipe: Pipe, chunk: Bytes): void => {
    pipe.push(chunk, weather.kind === 'delay' ? weather.ms : 0);
    if (pipe.isFull) from.pause();
  };
  client.on('data', (chunk) => {
    if (weather.kind === 'late' || held.length > 0) {
      held.push(chunk);
      return;
    }
    if (weather.kind !== 'answer') return forward(client, toServer, chunk);
    client.end(`HTTP/1.1 ${weather.status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    server.destroy();
  });
  server.on('data', (chunk) => {
    if (weather.kind === 'deaf') hasLostBytes = true;
    else if (!client.destroyed) forward(server, toClient, chunk);
  });
  const endOfClient = (): void => {
    if (held.length === 0) cut();
  };
  for (const socket of [client, server]) {
    socket.setNoDelay(true);
    socket.on('drain', resume);
  }
  server.on('error', cut);
  client.on('error', endOfClient);
  client.on('close', endOfClient);
  // An answer of the proxy may still be in flight to the client.
  server.on('close', () => {
    if (!client.writableEnded) cut();
  });
  const setWeather = (next: Weather): void => {
    weather = next;
    if (hasLostBytes || next.kind === 'refuse') return cut();
    if (next.kind === 'stall') {
      client.pause();
      server.pause();
    } else resume();
  };
  const deliver = (): void => {
    for (const chunk of held) toServer.push(chunk, 0);
    held = [];
    // The server ends it once it has answered.
    if (client.destroyed) server.end();
  };
  setWeather(first);
  return { setWeather, deliver, cut };
};

/** Opens a way to `127.0.0.1:port` on a free port. */
export const openTcpProxy = async (port: number): Promise<TcpProxy> => {
  let weather: Weather = { kind: 'clear' };
  const connections = new Set<Connection>();
  const server = createServer((client) => {
    if (weather.kind === 'refuse') {
      client.destroy();
      return;
    }
    const connection: Connection = join(client, port, weather, () => connections.delete(connection));
    connections.add(connection);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own }: Pick<AddressInfo, 'port'> = JSON.parse(JSON.stringify(server.address()));
  const cut = (): void => {
    for (const connection of [...connections]) connection.cut();
  };
  return {
    port: own,
    setWeather: (next) => {
      weather = next;
      for (const connection of [...connections]) connection.setWeather(next);
    },
    deliver: () => {
      for (const connection of [...connections]) connection.deliver();
    },
    cut,
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
};
