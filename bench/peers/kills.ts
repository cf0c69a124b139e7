import { setTimeout as delay } from 'node:timers/promises';
import type { Stack } from '../../test/support/stack/stack.ts';
import { waitFor } from '../../test/support/wait.ts';
import { contentTypes, type Encoding } from '../subjects.ts';
import { type NumberedLoad, numberedPush, numberedSpans, sendNumbered } from './numbered.ts';
import { judgeKill, type KillRow, type StoredRequest } from './verdict.ts';

/** A process to kill under load, and the place where its acknowledged items have to be afterwards. */
export type Victim = {
  readonly killed: string;
  readonly ok_means: string;
  readonly item: 'points' | 'spans';
  readonly load: NumberedLoad;
  readonly itemsPerRequest: number;
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Resolves once no item is in transit, as far as the bench can observe. */
  settled(): Promise<void>;
  /** By request number. */
  stored(): Promise<ReadonlyMap<number, StoredRequest>>;
};

const loadMs = 3_000;
/** A slow one is killed once it has something to lose. */
const requestsMin = 10;
const loadMsMax = 30_000;
const quietMs = 4_000;
const settleMsMax = 90_000;
const pollMs = 250;

const rowsOf = (stored: ReadonlyMap<number, StoredRequest>): number => {
  let sum = 0;
  for (const { rows } of stored.values()) sum += rows;
  return sum;
};

/** The requests in the store once no row has been added for a while. */
const storedInTheEnd = async (victim: Victim): Promise<ReadonlyMap<number, StoredRequest>> => {
  await victim.settled();
  const end = performance.now() + settleMsMax;
  let stored = await victim.stored();
  let changedAt = performance.now();
  while (performance.now() - changedAt < quietMs && performance.now() < end) {
    await delay(pollMs);
    const now = await victim.stored();
    if (rowsOf(now) !== rowsOf(stored)) changedAt = performance.now();
    stored = now;
  }
  return stored;
};

/** Sends at full load, kills, starts again, and counts. No request is sent twice. */
export const measureKill = async (victim: Victim): Promise<KillRow> => {
  const sending = sendNumbered(victim.load);
  await delay(loadMs);
  await waitFor(
    `${victim.killed} acknowledges something`,
    loadMsMax,
    () => sending.acknowledged.size >= requestsMin,
  );
  await victim.kill();
  const acknowledged = await sending.stop();
  await victim.restart();
  const { killed, ok_means, item } = victim;
  const judged = judgeKill(acknowledged, await storedInTheEnd(victim), victim.itemsPerRequest);
  return { killed, ok_means, item, ...judged };
};

const pointsPerRequest = 1_000;
const spansPerRequest = 100;
const connections = 8;

type Place = Pick<Victim, 'item' | 'load' | 'itemsPerRequest' | 'stored'>;

/** Points in a table of QuestDB, numbered by this column. */
export const pointsPlace = (
  stack: Stack,
  url: string,
  table: string,
  column: string,
  credentials: { dataId: number; token: string },
): Place => ({
  item: 'points',
  itemsPerRequest: pointsPerRequest,
  load: {
    url,
    headers: {},
    body: numberedPush(pointsPerRequest, credentials.dataId, credentials.token),
    connections,
  },
  stored: async () => {
    const request = `cast(${column} / ${pointsPerRequest} AS LONG)`;
    const { dataset } = await stack.query(
      `SELECT ${request} AS request, count() AS rows, count_distinct(cast(${column} AS LONG)) AS items FROM "${table}"`,
    );
    return new Map(
      dataset.map(([number, rows, items]) => [Number(number), { rows: Number(rows), items: Number(items) }]),
    );
  },
});

/** Spans in a table of ClickHouse, numbered by their ids. */
export const spansPlace = (
  stack: Stack,
  url: string,
  table: string,
  where: string,
  encoding: Encoding,
  headers: Readonly<Record<string, string>>,
): Place => ({
  item: 'spans',
  itemsPerRequest: spansPerRequest,
  load: {
    url,
    headers: { 'content-type': contentTypes[encoding], ...headers },
    body: numberedSpans(encoding, spansPerRequest),
    connections,
  },
  stored: async () => {
    const rows = await stack.spansQuery(
      `SELECT intDiv(reinterpretAsUInt64(reverse(unhex(SpanId))) - 1, ${spansPerRequest}) AS request,
        count() AS rows, uniqExact(SpanId) AS items FROM ${table} WHERE ${where} GROUP BY request`,
    );
    return new Map(
      rows.map((row) => [Number(row['request']), { rows: Number(row['rows']), items: Number(row['items']) }]),
    );
  },
});

type Role = 'ingress' | 'transfer';

/** Kills a role of Tidemark instead of a peer. */
export const ownVictim = (stack: Stack, role: Role, stream: 'METRICS' | 'TRACES', place: Place): Victim => ({
  ...place,
  killed: `Tidemark ${role}, ${place.item}`,
  ok_means: 'in JetStream',
  kill: async () => {
    await stack[role][0]?.kill();
  },
  restart: async () => {
    stack[role][0]?.start();
    await stack[role][0]?.ready();
  },
  settled: () => stack.waitForEmptyStream(stream, settleMsMax),
});
