import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { startStack } from '../test/support/stack/stack.ts';
import { waitFor } from '../test/support/wait.ts';
import { pushBodies } from './bodies.ts';
import { inTurnOfNow, type LoadResult, runLoad } from './load.ts';

/** The figures of a good client, and the memory of ingress meanwhile. */
export type HostileRow = {
  readonly beside: string;
  readonly requests_per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly failed_requests: number;
  readonly connections: number;
  readonly rss_mib_ingress: number;
};

const head = 'POST /v2/push/ HTTP/1.1\r\nHost: a\r\n';
const get = 'GET /v2/push/ HTTP/1.1\r\nHost: a\r\n\r\n';

/** One kind of hostile client: its first bytes, its repeated bytes, and its share in a hundred clients. */
type Kind = {
  readonly share: number;
  readonly first: string | Buffer;
  readonly again?: string;
  readonly everyMs: number;
  readonly isDeaf?: boolean;
};

const kinds: readonly Kind[] = [
  // A header, and a body, of one byte a second.
  { share: 30, first: 'POST /v2/push/ HTTP/1.1\r\nX: ', again: 'x', everyMs: 1000 },
  { share: 30, first: `${head}Content-Length: 1000000\r\n\r\n`, again: ' ', everyMs: 1000 },
  // Connected, and silent.
  { share: 25, first: '', everyMs: 1000 },
  // Sends requests without end, and never reads an answer.
  { share: 10, first: '', again: get.repeat(5), everyMs: 1000, isDeaf: true },
  // Bytes that are not HTTP, over a new connection each time.
  { share: 4, first: '\x16\x03\x01\x00\xc8', everyMs: 1000 },
  // A part of a large body, and then silence: together more than the room for bodies.
  {
    share: 1,
    first: Buffer.concat([
      Buffer.from(`${head}Content-Length: 16000000\r\n\r\n`),
      Buffer.alloc(4_000_000, ' '),
    ]),
    everyMs: 1000,
  },
];

/**
 * Keeps this many hostile clients busy from other addresses of loopback until it is stopped; a client whose connection is closed
 * connects again.
 */
const attack = (port: number, clients: number): void => {
  const open = new Set<Socket>();
  const start = (kind: Kind, number: number): void => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (number % 8)}` });
    open.add(socket);
    let timer: NodeJS.Timeout | undefined;
    socket.on('error', () => {});
    socket.once('connect', () => {
      socket.write(kind.first);
      const { again } = kind;
      if (again !== undefined) timer = setInterval(() => socket.write(again), kind.everyMs);
      if (kind.isDeaf === true) socket.pause();
      else socket.resume();
    });
    socket.once('close', () => {
      clearInterval(timer);
      open.delete(socket);
      setTimeout(start, 1000, kind, number);
    });
  };
  for (const kind of kinds) {
    const count = Math.max(1, Math.round((clients * kind.share) / 100));
    for (let number = 0; number < count; number++) start(kind, number);
  }
  parentPort?.once('message', () => process.exit(0));
};

const residentMiB = (pid: number): number =>
  Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024);

/** A good sender's latency and throughput, alone and beside this many hostile clients, in turn in one run. */
export const measureHostile = async (clients: number, seconds: number): Promise<HostileRow[]> => {
  const stack = await startStack();
  try {
    const { mon_data_id: dataId, token } = (await stack.createReport('hostile')).data_source;
    const [ingress] = stack.ingress;
    if (ingress === undefined) throw new Error('there is no ingress');
    const port = ingress.ports['push'] ?? 0;
    const connections = async (): Promise<number> =>
      Number(
        /ingress_connections\{[^}]*receiver="push"[^}]*\} (\d+)/.exec(await ingress.metrics())?.[1] ?? 0,
      );
    const run = (): Promise<LoadResult> =>
      runLoad(
        {
          urls: [`http://127.0.0.1:${port}/v2/push/`],
          headers: {},
          nextBody: inTurnOfNow((nowMs) => pushBodies(64, 10, dataId, token, nowMs)),
          itemsPerBody: 10,
          connections: 4,
        },
        seconds,
      );
    const rows: HostileRow[] = [];
    const measure = async (beside: string): Promise<void> => {
      const result = await run();
      rows.push({
        beside,
        requests_per_second: Math.round(result.requests / result.seconds),
        p50_ms: result.p50Ms,
        p99_ms: result.p99Ms,
        failed_requests: result.failed,
        connections: await connections(),
        rss_mib_ingress: residentMiB(ingress.pid),
      });
    };
    await run();
    for (let turn = 0; turn < 2; turn++) {
      await measure('nobody');
      const attackers = new Worker(import.meta.filename, { workerData: { port, clients } });
      const ended = once(attackers, 'exit');
      await waitFor('the hostile clients', 30_000, async () => (await connections()) > clients / 2);
      await measure(`${clients} hostile clients`);
      attackers.postMessage('stop');
      await ended;
      await waitFor('them to be gone', 60_000, async () => (await connections()) < 10);
    }
    return rows;
  } finally {
    await stack.stop();
  }
};

if (!isMainThread) {
  const { port, clients }: { port: number; clients: number } = workerData;
  attack(port, clients);
}
