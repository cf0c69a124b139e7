import { signals } from '../src/model/signals.ts';
import type { Stack } from '../test/support/stack/stack.ts';
import { allDifferent, type Load } from './load.ts';
import { logBodies } from './log-bodies.ts';
import { metricBodies } from './metric-bodies.ts';
import { type PointLoad, pointRequests } from './point-loads.ts';
import type { Processes } from './processes.ts';
import type { Subject } from './rate.ts';
import { untilLineSettled } from './settled.ts';
import { spanBodies } from './span-bodies.ts';

export type Encoding = 'json' | 'protobuf';

export const contentTypes: Readonly<Record<Encoding, string>> = {
  json: 'application/json',
  protobuf: 'application/x-protobuf',
};

/** Names of the roles in `Processes`: a second process of a role has a number. */
const numbered = (role: string, pids: readonly number[]): [string, number][] =>
  pids.map((pid, index) => [index === 0 ? role : `${role}_${index + 1}`, pid]);

/** Tidemark's roles, NATS, and the stores that this signal uses. */
const processesOf = (stack: Stack, stores: readonly ('questdb' | 'clickhouse')[]): Processes =>
  Object.fromEntries([
    ...numbered(
      'ingress',
      stack.ingress.map(({ pid }) => pid),
    ),
    ...numbered(
      'transfer',
      stack.transfer.map(({ pid }) => pid),
    ),
    ['nats', stack.engines.nats.pid ?? 0],
    ...stores.map((store): [string, number] => [store, stack.engines[store].pid ?? 0]),
  ]);

/** Roles of `usage` that are ingress and transfer processes. */
export const ownRoles = (usage: Readonly<Record<string, number>>): string[] =>
  Object.keys(usage).filter((role) => /^(ingress|transfer)/.test(role));

/** The table of a load's points, and its credential. */
export type PointSource = { readonly dataId: number; readonly token: string; readonly table: string };

/** Push to visible in QuestDB; outcomes go into ClickHouse. The requests go to the ingress processes in turn. */
export const pushSubject = async (
  stack: Stack,
  name: string,
  load: PointLoad,
): Promise<Subject & { readonly source: PointSource }> => {
  const { data_source: source, result_table: table } = await stack.createReport(name);
  const own = { dataId: source.mon_data_id, token: source.token, table: table.table_id };
  return {
    load: () => ({
      ...pointRequests(load, own.dataId, own.token),
      urls: stack.ingress.map(({ ports }) => `http://127.0.0.1:${ports['push']}/v2/push/`),
    }),
    visible: async () =>
      Number((await stack.query(`SELECT count() FROM "${table.table_id}"`)).dataset[0]?.[0]),
    processes: () => processesOf(stack, ['questdb', 'clickhouse']),
    settled: untilLineSettled(stack, ['questdb', 'clickhouse']),
    source: own,
  };
};

const spanBodiesCount = 64;

/** How OTLP's items travel: JSON or protobuf over HTTP, or protobuf over gRPC. */
export type OtlpWay = Encoding | 'grpc';

/** The bodies, paths and tables of a signal of OTLP. */
export const otlpSignals = {
  traces: {
    item: 'spans',
    bodies: spanBodies,
    path: '/v1/traces',
    method: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
    tables: signals.traces.tables,
  },
  logs: {
    item: 'log records',
    bodies: logBodies,
    path: '/v1/logs',
    method: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
    tables: signals.logs.tables,
  },
  metrics: {
    item: 'data points',
    bodies: metricBodies,
    path: '/v1/metrics',
    method: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
    tables: signals.otel_metrics.tables,
  },
} as const;

export type OtlpSignal = keyof typeof otlpSignals;

/** The rows of a signal in all of its tables of this database. */
export const countItems = async (stack: Stack, database: string, signal: OtlpSignal): Promise<number> => {
  const counts = otlpSignals[signal].tables.map((table) => `(SELECT count() FROM ${database}.${table})`);
  return Number((await stack.spansQuery(`SELECT ${counts.join(' + ')} AS items`))[0]?.['items']);
};

/** Where a receiver on this port takes a signal. */
export const otlpUrl = (signal: OtlpSignal, way: OtlpWay, port: number | undefined): string =>
  way === 'grpc'
    ? `grpc://127.0.0.1:${port}${otlpSignals[signal].method}`
    : `http://127.0.0.1:${port}${otlpSignals[signal].path}`;

/** Requests of a signal, all different. */
export const otlpLoad = (
  signal: OtlpSignal,
  way: OtlpWay,
  items: number,
  nowMs: number,
): Pick<Load, 'nextBody' | 'itemsPerBody'> => {
  const encoding = way === 'json' ? 'json' : 'protobuf';
  const bodies = otlpSignals[signal].bodies(encoding, spanBodiesCount, items, nowMs);
  return { nextBody: allDifferent(bodies, encoding), itemsPerBody: items };
};

/** The Content-Type of a way; gRPC has its own. */
export const otlpHeaders = (way: OtlpWay): Record<string, string> =>
  way === 'grpc' ? {} : { 'content-type': contentTypes[way] };

/** Export to visible in ClickHouse, requests all different. No other program may write items of the signal meanwhile. */
export const otlpSubject = async (
  stack: Stack,
  name: string,
  signal: OtlpSignal,
  way: OtlpWay,
  items: number,
  connections: number,
): Promise<Subject & { readonly token: string }> => {
  const { token } = await stack.createApplication(name);
  let salt = 0;
  return {
    load: () => ({
      urls: stack.ingress.map(({ ports }) => otlpUrl(signal, way, ports[way === 'grpc' ? 'grpc' : 'otlp'])),
      headers: { ...otlpHeaders(way), 'x-mon-token': token },
      ...otlpLoad(signal, way, items, Date.now() - 1000 * salt++),
      connections,
    }),
    visible: () => countItems(stack, 'otel', signal),
    processes: () => processesOf(stack, ['clickhouse']),
    settled: untilLineSettled(stack, ['clickhouse']),
    token,
  };
};

/** The same for spans over HTTP. */
export const spansSubject = (
  stack: Stack,
  name: string,
  encoding: Encoding,
  spans: number,
  connections: number,
): Promise<Subject & { readonly token: string }> =>
  otlpSubject(stack, name, 'traces', encoding, spans, connections);
