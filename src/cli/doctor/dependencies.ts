import { z } from 'zod';
import { connectBus } from '../../bus/connection.ts';
import { readServerTimeMs, streamState } from '../../bus/stream-state.ts';
import { withInstances } from '../../config/instance-streams.ts';
import { loadPipelines } from '../../config/pipelines.ts';
import { natsTarget, questdbInstances, type Settings } from '../../config/settings.ts';
import { counted } from '../../model/counted.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { type Clickhouse, database } from '../../stores/clickhouse/client.ts';
import type { QuestdbSql } from '../../stores/questdb/sql.ts';
import { readTableStates } from '../../stores/questdb/table-states.ts';
import type { AdminClient } from '../client.ts';

/** The checked thing, whether it is healthy, and the finding. Times are milliseconds. */
export type Finding = {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly ms: number;
};

/**
 * Difference of the other machine's clock from the local one beyond which transfer or ingress would validate times
 * wrongly.
 */
const skewMsMax = 5_000;

/** Runs one check; an error that it throws is the finding. */
export const look = async (name: string, check: () => Promise<string>): Promise<Finding> => {
  const startedAt = performance.now();
  const done = (ok: boolean, detail: string): Finding => ({
    name,
    ok,
    detail,
    ms: Math.round(performance.now() - startedAt),
  });
  try {
    return done(true, await check());
  } catch (error) {
    return done(false, errorText(error));
  }
};

/** Throws a Fault where the clock differs too much; `read` returns the other one's ms since the epoch. */
const skewText = async (read: () => Promise<number>): Promise<string> => {
  const before = Date.now();
  const theirs = await read();
  const skewMs = Math.round(theirs - (before + Date.now()) / 2);
  if (Math.abs(skewMs) <= skewMsMax) return `clock differs by ${skewMs} ms`;
  throw new Fault(
    'permanent',
    'clock_skew',
    `its clock differs by ${skewMs} ms: set both clocks by NTP; receivers validate the times of items by their own clock`,
  );
};

/** NATS, each stream, and its clock. */
export const lookAtNats = async (settings: Settings): Promise<Finding[]> => {
  const { streams } = withInstances(
    loadPipelines(settings.pipelinesFolder),
    questdbInstances(settings).map(({ name }) => name),
  );
  const findings: Finding[] = [];
  let bus: Awaited<ReturnType<typeof connectBus>> | undefined;
  findings.push(
    await look('nats', async () => {
      bus = await connectBus(natsTarget(settings), 'tidemark-doctor');
      return `answers in ${await bus.nc.rtt()} ms`;
    }),
  );
  if (bus === undefined) return findings;
  const connected = bus;
  findings.push(
    await look('clock of nats', () => skewText(() => readServerTimeMs(connected, streams[0]?.name ?? ''))),
  );
  for (const { name, consumer } of streams) {
    findings.push(
      await look(`stream ${name}`, async () => {
        const { messages, bytes, bytesMax, ackPending } = await streamState(connected, name, consumer?.name);
        const percent = ((100 * bytes) / bytesMax).toFixed(1);
        return `${counted(messages, 'message')}, ${ackPending} held by workers, ${percent} % full`;
      }),
    );
  }
  await connected.close();
  return findings;
};

const nowSchema = z.tuple([z.coerce.number()]);

/** A QuestDB instance, its clock, and the state of its tables of points. Findings call it `what`. */
export const lookAtQuestdb = async (what: string, sql: QuestdbSql): Promise<Finding[]> => [
  await look(what, async () => {
    await sql.exec('SELECT 1');
    return 'answers';
  }),
  await look(`clock of ${what}`, () =>
    skewText(async () => {
      const { dataset } = await sql.exec('SELECT cast(systimestamp() AS LONG) / 1000');
      return nowSchema.parse(dataset[0])[0];
    }),
  ),
  await look(`tables of ${what}`, async () => {
    const states = (await readTableStates(sql)).filter(({ name }) => name.endsWith('.__default__'));
    const bad = states.filter(({ isSuspended, deduplicates }) => isSuspended || !deduplicates);
    const most = states.reduce((behind, { pendingCommits }) => Math.max(behind, pendingCommits), 0);
    if (bad.length === 0)
      return `${counted(states.length, 'table')}, at most ${counted(most, 'commit')} behind`;
    const names = bad.map(({ name, why }) => (why === '' ? name : `${name}: ${why}`)).join(', ');
    throw new Fault('permanent', 'tables_in_trouble', `suspended or without upsert keys: ${names}`);
  }),
];

const millisecondsRow = z.object({ ms: z.coerce.number() });
const tableRow = z.object({ name: z.string() });
const wantedTables = [
  'otel_traces',
  'otel_traces_trace_id_ts',
  'ingest_outcomes',
  'ingest_refusals',
  'ingest_samples',
];

/** ClickHouse, its clock, and whether its tables exist. */
export const lookAtClickhouse = async (clickhouse: Clickhouse): Promise<Finding[]> => [
  await look('clickhouse', async () => {
    await clickhouse.rows(millisecondsRow, 'SELECT 1 AS ms');
    return 'answers';
  }),
  await look('clock of clickhouse', () =>
    skewText(async () => {
      const [row] = await clickhouse.rows(millisecondsRow, 'SELECT toUnixTimestamp64Milli(now64(3)) AS ms');
      return row?.ms ?? 0;
    }),
  ),
  await look('tables of clickhouse', async () => {
    const rows = await clickhouse.rows(
      tableRow,
      `SELECT name FROM system.tables WHERE database = '${database}'`,
    );
    const missing = wantedTables.filter((wanted) => !rows.some(({ name }) => name === wanted));
    if (missing.length === 0) return 'all exist';
    throw new Fault('permanent', 'tables_missing', `${missing.join(', ')} missing: run tidemark migrate`);
  }),
];

/** The admin API, with the token of this command. */
export const lookAtAdmin = async (client: AdminClient): Promise<Finding[]> => [
  await look('admin api', async () => {
    await client.ask(z.object({ items: z.array(z.unknown()) }), 'GET', '/api/v1/custom-reports?limit=1');
    return 'answers and accepts the token';
  }),
];
