import { join } from 'node:path';
import { freePorts } from '../../src/embedded/ports.ts';
import { fetchEngine } from '../../test/support/stack/fetch-engine.ts';
import type { Stack } from '../../test/support/stack/stack.ts';
import { waitFor } from '../../test/support/wait.ts';
import { pushBodies } from '../bodies.ts';
import { inTurnOfNow } from '../load.ts';
import { measureRate, type Rate, type Subject } from '../rate.ts';
import { untilSettled } from '../settled.ts';
import {
  countItems,
  type OtlpSignal,
  type OtlpWay,
  otlpHeaders,
  otlpLoad,
  otlpSignals,
  otlpSubject,
  otlpUrl,
  pushSubject,
} from '../subjects.ts';
import { type CollectorQueue, collectorCommand, collectorMeaning } from './collector.ts';
import { type PeerCommand, type PeerProcess, startPeer } from './process.ts';
import {
  type TelegrafBuffer,
  telegrafCommand,
  telegrafMeaning,
  telegrafTable,
  telegrafTableSql,
} from './telegraf.ts';
import type { PeerRow } from './verdict.ts';

export type Programs = { readonly collector: string; readonly telegraf: string };

/** One contestant, measured in turn with all others of its stack. */
export type Contestant = Pick<PeerRow, 'row' | 'ours' | 'contest' | 'item' | 'is_stored' | 'ok_means'> & {
  measure(seconds: number): Promise<Rate>;
};

const connections = 8;
const pointsPerRequest = 1_000;
const otlpItemsPerRequest = 100;
const warmSeconds = 1;
const emptyMsMax = 10_000;

/** Starts a peer on a free port for one use, and ends it. */
export const withPeer = async <T>(
  command: (port: number, folder: string) => PeerCommand,
  stack: Stack,
  use: (peer: PeerProcess, port: number) => Promise<T>,
): Promise<T> => {
  const [port = 0] = await freePorts(1);
  const peer = await startPeer(command(port, join(stack.folder, 'peer')));
  try {
    return await use(peer, port);
  } finally {
    await peer.stop();
  }
};

export const peerSpans = 'peer.otel_traces';

/** A statement to ClickHouse without an answer. */
const runClickhouse = async (stack: Stack, statement: string): Promise<void> => {
  const response = await fetchEngine(stack.engines.clickhouse.url, { method: 'POST', body: statement });
  const text = await response.text();
  if (!response.ok) throw new Error(`${statement}: ${text}`);
};

/** The Collector's own tables with nothing in them; it makes them itself at its first start. */
export const emptyPeerSpans = async (stack: Stack): Promise<void> => {
  for (const { tables } of Object.values(otlpSignals))
    for (const table of tables) await runClickhouse(stack, `TRUNCATE TABLE IF EXISTS peer.${table}`);
};

/** The table for Telegraf with nothing in it. */
export const emptyPeerPoints = async (stack: Stack): Promise<void> => {
  await stack.query(telegrafTableSql);
  await stack.query(`TRUNCATE TABLE ${telegrafTable}`);
  await waitFor('the table is empty', emptyMsMax, async () => (await countPeerPoints(stack)) === 0);
};

const countPeerPoints = async (stack: Stack): Promise<number> =>
  Number((await stack.query(`SELECT count() FROM ${telegrafTable}`)).dataset[0]?.[0]);

/** The Collector, restarted for each measurement. */
export const collectorContestant = (
  stack: Stack,
  programs: Programs,
  queue: CollectorQueue,
  { signal, way }: { readonly signal: OtlpSignal; readonly way: OtlpWay },
  contest: string,
): Contestant => {
  const isStored = queue !== 'none';
  const isGrpc = way === 'grpc';
  const what = isStored ? `${queue.replace('_', ', ')} queue` : 'receiver only';
  const { url } = stack.engines.clickhouse;
  return {
    row: `Collector, ${what}, ${contest.replace(/, power$/, '')}`,
    ours: false,
    contest,
    item: otlpSignals[signal].item,
    is_stored: isStored,
    ok_means: collectorMeaning[queue],
    measure: (seconds) =>
      withPeer(
        (port, folder) => collectorCommand(programs.collector, { queue, isGrpc }, port, url, folder),
        stack,
        async (peer, port) => {
          if (isStored) await emptyPeerSpans(stack);
          const subject: Subject = {
            load: () => ({
              urls: [otlpUrl(signal, way, port)],
              headers: otlpHeaders(way),
              ...otlpLoad(signal, way, otlpItemsPerRequest, Date.now()),
              connections,
            }),
            ...(isStored ? { visible: () => countItems(stack, 'peer', signal) } : {}),
            processes: () => ({ peer: peer.pid, clickhouse: stack.engines.clickhouse.pid ?? 0 }),
            settled: () => untilSettled(stack, ['clickhouse']),
          };
          return measureRate(subject, seconds, warmSeconds);
        },
      ),
  };
};

/** Telegraf, restarted for each measurement. */
export const telegrafContestant = (
  stack: Stack,
  programs: Programs,
  buffer: TelegrafBuffer,
  contest: string,
  lateMs?: number,
): Contestant => {
  const isStored = buffer !== 'none';
  const { url } = stack.engines.questdb;
  return {
    row: `Telegraf, ${isStored ? `${buffer} buffer` : 'receiver only'}${lateMs === undefined ? '' : ', late'}`,
    ours: false,
    contest,
    item: 'points',
    is_stored: isStored,
    ok_means: telegrafMeaning[buffer],
    measure: (seconds) =>
      withPeer(
        (port, folder) => telegrafCommand(programs.telegraf, buffer, port, url, folder),
        stack,
        async (peer, port) => {
          if (isStored) await emptyPeerPoints(stack);
          const subject: Subject = {
            load: () => ({
              urls: [`http://127.0.0.1:${port}/push`],
              headers: {},
              nextBody: inTurnOfNow((nowMs) =>
                pushBodies(100, pointsPerRequest, 1_500_001, 'bench', nowMs, lateMs),
              ),
              itemsPerBody: pointsPerRequest,
              connections,
            }),
            ...(isStored ? { visible: () => countPeerPoints(stack) } : {}),
            processes: () => ({ peer: peer.pid, questdb: stack.engines.questdb.pid ?? 0 }),
            settled: () => untilSettled(stack, ['questdb']),
          };
          return measureRate(subject, seconds, warmSeconds);
        },
      ),
  };
};

/** Tidemark: the processes of the stack as they run. */
export const ownContestant = async (
  stack: Stack,
  what: 'push' | { readonly signal: OtlpSignal; readonly way: OtlpWay },
  contest: string,
  okMeans: string,
  lateMs?: number,
): Promise<Contestant> => {
  const name = contest.replace(/\W+/g, '_');
  const subject =
    what === 'push'
      ? await pushSubject(stack, name, pointsPerRequest, connections, lateMs)
      : await otlpSubject(stack, name, what.signal, what.way, otlpItemsPerRequest, connections);
  return {
    row: `Tidemark, ${contest}`,
    ours: true,
    contest,
    item: what === 'push' ? 'points' : otlpSignals[what.signal].item,
    is_stored: true,
    ok_means: okMeans,
    measure: (seconds) => measureRate(subject, seconds, warmSeconds),
  };
};
