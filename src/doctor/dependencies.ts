import { join } from 'node:path';
import { z } from 'zod';
import type { Bus } from '../bus/connection.ts';
import { ledStreamState, readServerTimeMs } from '../bus/stream-state.ts';
import type { StreamDefinition } from '../config/pipelines.ts';
import type { Settings } from '../config/settings.ts';
import { sharedAddresses } from '../config/shared-addresses.ts';
import { counted } from '../model/counted.ts';
import { errorText, Fault } from '../model/fault.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { itemTables } from '../stores/clickhouse/item-tables.ts';
import { refuseTablesBehind } from '../stores/clickhouse/migrations.ts';
import type { ClickhouseReader } from '../stores/clickhouse/reader.ts';
import type { QuestdbSql } from '../stores/questdb/sql.ts';
import { listed, readTableStates } from '../stores/questdb/table-states.ts';
import { readOtherKeys } from '../stores/questdb/upsert-keys.ts';
import { clockOffsetMs, readClickhouseTimeMs, readQuestdbTimeMs } from './clocks.ts';

/**
 * The checked thing, whether it is healthy, the finding, and what to do where it is not: empty where it is, or where the detail has it.
 * Times are milliseconds.
 */
export type Finding = {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly remedy: string;
  readonly ms: number;
};

/**
 * Difference of the other machine's clock from the local one beyond which transfer or ingress would validate times
 * wrongly.
 */
const skewMsMax = 5_000;

/** What to do about a finding, by the beginning of its name. */
const remedies: readonly (readonly [prefix: string, remedy: string])[] = [
  ['nats', 'Check that NATS runs, and TIDEMARK_NATS_URL with its credentials.'],
  ['clock of ', 'Set both clocks by NTP.'],
  ['stream ', 'Check that NATS runs and answers the user of the settings; then see docs/runbook.md.'],
  ['questdb', 'Check that QuestDB runs, and its address in the settings, with user and password.'],
  [
    'tables of questdb',
    'Metadata resumes such tables and sets their upsert keys again by itself; for one that stays, see docs/stores-in-trouble.md.',
  ],
  ['clickhouse', 'Check that ClickHouse runs, and TIDEMARK_CLICKHOUSE_URL with user and password.'],
  ['tables of clickhouse', 'Run tidemark migrate.'],
  [
    'reader of clickhouse',
    'Check the user and the password of the reader in the settings; where its queries are too many, end them with KILL QUERY, or restart ClickHouse.',
  ],
  ['books', 'Check ClickHouse and the log of metadata; see docs/runbook.md.'],
  [
    'records',
    'Write the named record again, or delete it, as docs/stores-in-trouble.md says; its owner gets 503 until then.',
  ],
  // The errors of its client have their remedy.
  ['admin api', ''],
  ['disk', 'Make room, or enlarge the disk: docs/runbook.md#tidemarkdiskfull.'],
];

const lacksLeader =
  'Not enough NATS servers run, or they do not reach each other: start the others. More than half of them have to run.';

/** What to do about a finding of streams, by the code of its Fault. */
const streamRemedies: Readonly<Record<string, string>> = {
  stream_not_found: 'Restart metadata, which creates missing streams; then see docs/runbook.md.',
  consumer_not_found: 'Restart metadata, which creates missing consumers; then see docs/runbook.md.',
  jetstream_leaderless: lacksLeader,
};

const remedyOf = (name: string, error: unknown): string =>
  (error instanceof Fault && /^(stream|clock of nats)/.test(name) ? streamRemedies[error.code] : undefined) ??
  remedies.find(([prefix]) => name.startsWith(prefix))?.[1] ??
  'Read the log of the role of this stage, and tidemark drops.';

/** Runs one check; an error that it throws is the finding. */
export const look = async (name: string, check: () => Promise<string>): Promise<Finding> => {
  const startedAt = performance.now();
  const done = (ok: boolean, detail: string, remedy: string): Finding => ({
    ...{ name, ok, detail, remedy },
    ms: Math.round(performance.now() - startedAt),
  });
  try {
    return done(true, await check(), '');
  } catch (error) {
    // Stores end their answers with a line feed.
    return done(false, errorText(error).trimEnd(), remedyOf(name, error));
  }
};

/** Throws a Fault where the clock differs too much; `read` returns the other one's ms since the epoch. */
const skewText = async (read: () => Promise<number>): Promise<string> => {
  const skewMs = await clockOffsetMs(read);
  if (Math.abs(skewMs) <= skewMsMax) return `clock differs by ${skewMs} ms`;
  throw new Fault(
    'permanent',
    'clock_skew',
    `its clock differs by ${skewMs} ms: set both clocks by NTP; receivers validate the times of items by their own clock`,
  );
};

/** The clock of NATS, and each stream. */
export const lookAtStreams = async (bus: Bus, streams: readonly StreamDefinition[]): Promise<Finding[]> => {
  const findings = [
    await look('clock of nats', () => skewText(() => readServerTimeMs(bus, streams[0]?.name ?? ''))),
  ];
  for (const { name, consumer } of streams) {
    findings.push(
      await look(`stream ${name}`, async () => {
        const { messages, bytes, bytesMax, ackPending, pausedUntil } = await ledStreamState(
          bus,
          name,
          consumer?.name,
        );
        const percent = ((100 * bytes) / bytesMax).toFixed(1);
        const pause =
          pausedUntil === undefined
            ? ''
            : `; its consumer is paused until ${pausedUntil}, as during a backup and after one that was killed`;
        return `${counted(messages, 'message')}, ${ackPending} held by workers, ${percent} % full${pause}`;
      }),
    );
  }
  return findings;
};

/** A store that does not answer within this is named; its clock and tables would take as long, and say the same. */
const storeAnswerMs = 5_000;

/** About 10,000 tables; transfer and metadata look at further ones in turn. */
const keysMs = 5_000;

/** The tables of points: suspended ones, those without their upsert keys and those with others. Throws a Fault that names them. */
const tablesText = async (sql: Pick<QuestdbSql, 'exec'>): Promise<string> => {
  const states = (await readTableStates(sql)).filter(({ name }) => name.endsWith('.__default__'));
  const suspended = states.filter(({ isSuspended }) => isSuspended);
  const keyless = states.filter(({ deduplicates }) => !deduplicates);
  // What a suspended one has is not known before it is resumed.
  const keyed = states.filter(({ isSuspended, deduplicates }) => deduplicates && !isSuspended);
  const { others, read } = await readOtherKeys(
    sql,
    keyed.map(({ name }) => name),
    keysMs,
  );
  const troubles = [
    ...listed('suspended', suspended),
    ...listed(
      'upsert keys are off, and must be (timestamp, uid)',
      keyless.map(({ name }) => ({ name, why: '' })),
    ),
    ...listed(
      'upsert keys are not (timestamp, uid), so points overwrite each other',
      [...others].map(([name, keys]) => ({ name, why: keys.join(', ') })),
    ),
  ];
  if (troubles.length > 0) throw new Fault('permanent', 'tables_in_trouble', troubles.join('; '));
  const most = states.reduce((behind, { pendingCommits }) => Math.max(behind, pendingCommits), 0);
  const unread = keyed.length - read;
  const rest = unread === 0 ? '' : `; the upsert keys of ${counted(unread, 'table')} were not read`;
  return `${counted(states.length, 'table')}, at most ${counted(most, 'commit')} behind${rest}`;
};

/** Warnings of the addresses; they fail nothing. */
export const lookAtAddresses = (settings: Settings): Finding[] =>
  sharedAddresses(settings).map((warning) => ({
    ...{ name: 'addresses of questdb', ok: true, detail: `warning: ${warning}`, remedy: '', ms: 0 },
  }));

/** A QuestDB instance, its clock, and the state of its tables of points; one that does not answer, alone. Findings call it `what`. */
export const lookAtQuestdb = async (what: string, sql: QuestdbSql): Promise<Finding[]> => {
  const answers = await look(what, async () => {
    await sql.exec('SELECT 1', storeAnswerMs);
    return 'answers';
  });
  if (!answers.ok) return [answers];
  const clock = await look(`clock of ${what}`, () => skewText(() => readQuestdbTimeMs(sql)));
  const tables = await look(`tables of ${what}`, () => tablesText(sql));
  return [answers, clock, tables];
};

const millisecondsRow = z.object({ ms: z.coerce.number() });
const tableRow = z.object({ name: z.string() });
const wantedTables = [
  ...itemTables.flatMap(({ times }) => Object.keys(times)),
  'ingest_outcomes',
  'ingest_refusals',
  'ingest_samples',
];

/** ClickHouse, its clock, whether its tables exist and are those of this program, and whether it answers readers; where it does not answer, that alone. */
export const lookAtClickhouse = async (
  clickhouse: Clickhouse,
  reader: Pick<ClickhouseReader, 'read'>,
  schemasFolder: string,
): Promise<Finding[]> => {
  const answers = await look('clickhouse', async () => {
    await clickhouse.rows(millisecondsRow, 'SELECT 1 AS ms', { timeoutMs: storeAnswerMs });
    return 'answers';
  });
  if (!answers.ok) return [answers];
  const clock = await look('clock of clickhouse', () => skewText(() => readClickhouseTimeMs(clickhouse)));
  const tables = await look('tables of clickhouse', async () => {
    const rows = await clickhouse.rows(
      tableRow,
      `SELECT name FROM system.tables WHERE database = '${database}'`,
    );
    const missing = wantedTables.filter((wanted) => !rows.some(({ name }) => name === wanted));
    if (missing.length > 0)
      throw new Fault('permanent', 'tables_missing', `${missing.join(', ')} missing: run tidemark migrate`);
    await refuseTablesBehind(clickhouse, join(schemasFolder, 'sql', 'clickhouse'));
    return 'all exist';
  });
  const reading = await look('reader of clickhouse', async () => {
    const { signal } = new AbortController();
    await reader.read(millisecondsRow, 'SELECT 1 AS ms', {}, { timeoutMs: storeAnswerMs, signal });
    return 'answers';
  });
  return [answers, clock, tables, reading];
};
