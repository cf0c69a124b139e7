import type { Stack } from '../test/support/stack/stack.ts';
import { pushBodies } from './bodies.ts';
import { allDifferent, inTurnOfNow } from './load.ts';
import type { Processes } from './processes.ts';
import type { Subject } from './rate.ts';
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

/** Points in the different bodies that a load goes through. */
const pointsOfBodies = 100_000;
const bodiesMax = 256;
const spanBodiesCount = 64;

/** Push to visible in QuestDB; outcomes go into ClickHouse. The requests go to the ingress processes in turn. */
export const pushSubject = async (
  stack: Stack,
  name: string,
  points: number,
  connections: number,
): Promise<Subject & { readonly source: PointSource }> => {
  const { data_source: source, result_table: table } = await stack.createReport(name);
  const own = { dataId: source.mon_data_id, token: source.token, table: table.table_id };
  const bodies = Math.min(bodiesMax, Math.ceil(pointsOfBodies / points));
  return {
    load: () => ({
      urls: stack.ingress.map(({ ports }) => `http://127.0.0.1:${ports['push']}/v2/push/`),
      headers: {},
      nextBody: inTurnOfNow((nowMs) => pushBodies(bodies, points, source.mon_data_id, source.token, nowMs)),
      itemsPerBody: points,
      connections,
    }),
    visible: async () =>
      Number((await stack.query(`SELECT count() FROM "${table.table_id}"`)).dataset[0]?.[0]),
    processes: () => processesOf(stack, ['questdb', 'clickhouse']),
    source: own,
  };
};

/** Export to visible in ClickHouse, requests all different. No other program may write spans meanwhile. */
export const spansSubject = async (
  stack: Stack,
  name: string,
  encoding: Encoding,
  spans: number,
  connections: number,
): Promise<Subject & { readonly token: string }> => {
  const { token } = await stack.createApplication(name);
  let salt = 0;
  return {
    load: () => ({
      urls: stack.ingress.map(({ ports }) => `http://127.0.0.1:${ports['otlp']}/v1/traces`),
      headers: { 'content-type': contentTypes[encoding], 'x-mon-token': token },
      nextBody: allDifferent(
        spanBodies(encoding, spanBodiesCount, spans, Date.now() - 1000 * salt++),
        encoding,
      ),
      itemsPerBody: spans,
      connections,
    }),
    visible: async () =>
      Number((await stack.spansQuery('SELECT count() AS spans FROM otel.otel_traces'))[0]?.['spans']),
    processes: () => processesOf(stack, ['clickhouse']),
    token,
  };
};
