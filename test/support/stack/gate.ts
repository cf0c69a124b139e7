import { connect, createServer, type Socket } from 'node:net';
import { until } from '../until.ts';

/** What passes a gate in one go: a whole operation of NATS, or a piece of HTTP as it arrived. */
export type Step = {
  readonly from: 'client' | 'server';
  /** Its bytes as latin1. */
  readonly text: string;
  /** HTTP: first line of the request that this is a piece of, or of the answer to, percent-decoded. */
  readonly request: string;
  /** HTTP: bytes of the same request or answer before this piece. */
  readonly offset: number;
};

/** A step at which a gate stops. Later bytes of the same connection in the same direction wait behind it. */
export type Hold = {
  /** Resolves when the step has been reached, and stands; throws when it does not come. */
  arrived(): Promise<Step>;
  /** What has come behind it by now, as latin1. */
  behind(): string;
  /** Lets it and all behind it pass. */
  release(): void;
  /** Loses it, and lets all behind it pass. */
  lose(): void;
};

export type HoldOptions = {
  /** What is held still reaches the server when it is released after its client was killed, as bytes on a slow wire do. */
  readonly outlivesClient?: boolean;
};

/** A wire between a role and an engine that tests can watch, stop and cut at any step. */
export type Gate = {
  /** The engine's address by way of the gate. */
  readonly url: string;
  /** Stops the first step from now on that matches. */
  hold(what: string, matches: (step: Step) => boolean, options?: HoldOptions): Hold;
  close(): Promise<void>;
};

type Protocol = 'nats' | 'http';
type Trap = {
  readonly matches: (step: Step) => boolean;
  readonly options: HoldOptions;
  step: Step | undefined;
  verdict: 'pass' | 'lose' | undefined;
  decided: () => void;
  behind: () => string;
};

/** All that comes in on a socket as it comes, also while what was taken before is not done with. */
const openInlet = (socket: Socket) => {
  const waiting: Buffer[] = [];
  let isOver = false;
  let failure: Error | undefined;
  let wake = (): void => {};
  socket.on('data', (bytes: Buffer) => {
    waiting.push(bytes);
    wake();
  });
  socket.on('error', (error) => {
    failure = error;
  });
  for (const event of ['end', 'close'] as const)
    socket.on(event, () => {
      isOver = true;
      wake();
    });
  const chunks = async function* (): AsyncGenerator<Buffer> {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (failure !== undefined) throw failure;
      else if (isOver) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  };
  return { chunks, waiting: (): string => Buffer.concat(waiting).toString('latin1') };
};

const lineEnd = Buffer.from('\r\n');
const withPayload = /^(?:H?PUB|H?MSG) .* (\d+)$/i;

/** Cuts the whole operations of NATS off the front of what has arrived; answers them and the rest. */
const cutNats = (bytes: Buffer): { pieces: Buffer[]; rest: Buffer } => {
  const pieces: Buffer[] = [];
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf(lineEnd);
    if (end < 0) return { pieces, rest };
    const payload = withPayload.exec(rest.toString('latin1', 0, end))?.[1];
    const size = end + 2 + (payload === undefined ? 0 : Number(payload) + 2);
    if (rest.length < size) return { pieces, rest };
    pieces.push(rest.subarray(0, size));
    rest = rest.subarray(size);
  }
};

const requestLine = /^(?:GET|POST|PUT|DELETE|HEAD) (\S+) HTTP\/1\.1\r\n/;

const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path.replaceAll('+', ' '));
  } catch {
    return path;
  }
};

/** The shared state of both directions of a connection. */
type Exchange = { request: string };

/** One direction of a connection: takes bytes, answers the steps in them. */
const createReader = (from: Step['from'], protocol: Protocol, exchange: Exchange) => {
  let rest: Buffer = Buffer.alloc(0);
  let offset = 0;
  const http = (bytes: Buffer): Step => {
    const text = bytes.toString('latin1');
    const path = from === 'client' ? requestLine.exec(text)?.[1] : undefined;
    if (path !== undefined) exchange.request = decoded(path);
    if (path !== undefined || (from === 'server' && text.startsWith('HTTP/1.1 '))) offset = 0;
    const step = { from, text, request: exchange.request, offset };
    offset += bytes.length;
    return step;
  };
  return (bytes: Buffer): { step: Step; bytes: Buffer }[] => {
    if (protocol === 'http') return [{ step: http(bytes), bytes }];
    const cut = cutNats(rest.length === 0 ? bytes : Buffer.concat([rest, bytes]));
    rest = cut.rest;
    return cut.pieces.map((piece) => ({
      step: { from, text: piece.toString('latin1'), request: '', offset: 0 },
      bytes: piece,
    }));
  };
};

/** Opens a gate on a free port of loopback towards an engine. */
export const openGate = async (protocol: Protocol, engineUrl: string): Promise<Gate> => {
  const target = new URL(engineUrl);
  const sockets = new Set<Socket>();
  const traps = new Set<Trap>();

  const caughtBy = (step: Step): Trap | undefined => {
    for (const trap of traps) {
      if (trap.step !== undefined || !trap.matches(step)) continue;
      trap.step = step;
      return trap;
    }
    return undefined;
  };

  /** Carries one direction. Returns whether held bytes must still arrive after their sender has ended. */
  const carry = (from: Socket, to: Socket, side: Step['from'], protocolExchange: Exchange) => {
    const read = createReader(side, protocol, protocolExchange);
    const state = { outlives: false };
    const inlet = openInlet(from);
    const pump = async (): Promise<void> => {
      for await (const bytes of inlet.chunks()) {
        for (const piece of read(bytes)) {
          const trap = caughtBy(piece.step);
          if (trap !== undefined) {
            trap.behind = inlet.waiting;
            state.outlives = trap.options.outlivesClient === true;
            await new Promise<void>((resolve) => {
              trap.decided = resolve;
              if (trap.verdict !== undefined) resolve();
            });
            traps.delete(trap);
          }
          if (trap?.verdict !== 'lose' && !to.destroyed) to.write(piece.bytes);
        }
      }
    };
    pump().then(
      () => to.end(),
      () => to.destroy(),
    );
    return state;
  };

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const exchange: Exchange = { request: '' };
    const towards = carry(client, upstream, 'client', exchange);
    carry(upstream, client, 'server', exchange);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('close', () => {
      if (!towards.outlives) upstream.destroy();
    });
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = new URL(engineUrl);
  url.hostname = '127.0.0.1';
  url.port = String(typeof address === 'object' && address !== null ? address.port : 0);

  return {
    url: url.href.replace(/\/$/, ''),
    hold: (what, matches, options = {}) => {
      const trap: Trap = {
        matches,
        options,
        step: undefined,
        verdict: undefined,
        decided: () => {},
        behind: () => '',
      };
      traps.add(trap);
      const decide = (verdict: 'pass' | 'lose'): void => {
        trap.verdict = verdict;
        trap.decided();
      };
      return {
        arrived: () => until(`${what} passes the gate`, () => trap.step),
        behind: () => trap.behind(),
        release: () => decide('pass'),
        lose: () => decide('lose'),
      };
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
