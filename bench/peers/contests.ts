import { join } from 'node:path';
import { freePorts } from '../../src/embedded/ports.ts';
import { fetchEngine } from '../../test/support/stack/fetch-engine.ts';
import type { Stack } from '../../test/support/stack/stack.ts';
import type { Load } from '../load.ts';
import { spanSubject } from '../loads.ts';
import { type PointLoad, pointRequests, secondsOf, usualPoints } from '../point-loads.ts';
import { measureRate, type Rate, type Subject } from '../rate.ts';
import { untilSettled } from '../settled.ts';
import { type SpanLoad, spanRequests } from '../span-loads.ts';
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
const otlpItemsPerRequest = 100;
const warmSeconds = 1;

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

/** A new table for Telegraf, with nothing in it. */
export const emptyPeerPoints = async (stack: Stack, columns?: number): Promise<void> => {
  await stack.query(`DROP TABLE IF EXISTS ${telegrafTable}`);
  await stack.query(telegrafTableSql(columns));
};

const countPeerPoints = async (stack: Stack): Promise<number> =>
  Number((await stack.query(`SELECT count() FROM ${telegrafTable}`)).dataset[0]?.[0]);

/** What a contest of OTLP sends, and how: the requests of `otlpLoad`, or these. */
export type OtlpContest = {
  readonly signal: OtlpSignal;
  readonly way: OtlpWay;
  readonly load?: SpanLoad;
};

/** Requests of such a contest, all of them new. */
const otlpRequests = ({ signal, way, load }: OtlpContest): (() => Omit<Load, 'urls'>) => {
  let salt = 0;
  return () =>
    load === undefined
      ? {
          headers: otlpHeaders(way),
          ...otlpLoad(signal, way, otlpItemsPerRequest, Date.now()),
          connections,
        }
      : spanRequests(load, 1_000 * salt++);
};

/** The Collector, restarted for each measurement. */
export const collectorContestant = (
  stack: Stack,
  programs: Programs,
  queue: CollectorQueue,
  what: OtlpContest,
  contest: string,
): Contestant => {
  const { signal, way } = what;
  const isStored = queue !== 'none';
  const isGrpc = way === 'grpc';
  const kind = isStored ? `${queue.replace('_', ', ')} queue` : 'receiver only';
  const { url } = stack.engines.clickhouse;
  const requests = otlpRequests(what);
  return {
    row: `Collector, ${kind}, ${contest.replace(/, power$/, '')}`,
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
            load: () => ({ ...requests(), urls: [otlpUrl(signal, way, port)] }),
            ...(isStored ? { visible: () => countItems(stack, 'peer', signal) } : {}),
            processes: () => ({ peer: peer.pid, clickhouse: stack.engines.clickhouse.pid ?? 0 }),
            settled: () => untilSettled(stack, ['clickhouse']),
          };
          return measureRate(subject, seconds, warmSeconds);
        },
      ),
  };
};

/** Telegraf, restarted for each measurement; `name`: that of the load in its row, empty for the usual one. */
export const telegrafContestant = (
  stack: Stack,
  programs: Programs,
  buffer: TelegrafBuffer,
  contest: string,
  load = usualPoints,
  name = '',
): Contestant => {
  const isStored = buffer !== 'none';
  const { url } = stack.engines.questdb;
  const kind = isStored ? `${buffer} buffer` : 'receiver only';
  return {
    row: `Telegraf, ${kind}${name === '' ? '' : `, ${name}`}`,
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
          if (isStored) await emptyPeerPoints(stack, load.columns);
          const subject: Subject = {
            load: () => ({
              ...pointRequests(load, 1_500_001, 'bench'),
              urls: [`http://127.0.0.1:${port}/push`],
            }),
            ...(isStored ? { visible: () => countPeerPoints(stack) } : {}),
            processes: () => ({ peer: peer.pid, questdb: stack.engines.questdb.pid ?? 0 }),
            settled: () => untilSettled(stack, ['questdb']),
          };
          return measureRate(subject, secondsOf(load, seconds), warmSeconds);
        },
      ),
  };
};

/** Tidemark: the processes of the stack as they run. */
const ownOf = (subject: Subject, contest: string, item: Contestant['item'], okMeans: string): Contestant => ({
  row: `Tidemark, ${contest}`,
  ours: true,
  contest,
  item,
  is_stored: true,
  ok_means: okMeans,
  measure: (seconds) => measureRate(subject, seconds, warmSeconds),
});

const nameOf = (contest: string): string => contest.replace(/\W+/g, '_');

/** Tidemark with points of this load. */
export const ownPoints = async (
  stack: Stack,
  contest: string,
  okMeans: string,
  load: PointLoad = usualPoints,
): Promise<Contestant> => {
  const own = ownOf(await pushSubject(stack, nameOf(contest), load), contest, 'points', okMeans);
  return { ...own, measure: (seconds) => own.measure(secondsOf(load, seconds)) };
};

/** Tidemark with items of OTLP. */
export const ownItems = async (
  stack: Stack,
  what: OtlpContest,
  contest: string,
  okMeans: string,
): Promise<Contestant> => {
  const { signal, way, load } = what;
  const subject =
    load === undefined
      ? await otlpSubject(stack, nameOf(contest), signal, way, otlpItemsPerRequest, connections)
      : await spanSubject(stack, nameOf(contest), load);
  return ownOf(subject, contest, otlpSignals[signal].item, okMeans);
};
