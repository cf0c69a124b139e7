import { setTimeout as delay } from 'node:timers/promises';
import { createQuestdbSql } from '../src/stores/questdb/sql.ts';
import { startEngines, type TestEngines } from '../test/support/stack/engines.ts';
import { fetchEngine } from '../test/support/stack/fetch-engine.ts';
import { createRandom } from './bodies.ts';
import { calibrate } from './calibration.ts';
import { cpuSeconds } from './processes.ts';
import { untilSettled } from './settled.ts';
import { median, rounded } from './statistics.ts';

/** QuestDB alone under the rows that transfer writes: what one lever does to the CPU that a row costs. */
type Trial = {
  readonly tables: number;
  readonly rowsPerSecond: number;
  /** Writes begin so far apart, and a write has rows of so many tables, the next ones in turn. */
  readonly writeEveryMs: number;
  readonly tablesPerWrite: number;
  /** Points are up to so old, in random order. */
  readonly lateMs: number;
  readonly hosts: number;
  /** Columns beside the timestamp, the uid, target, dimensions and two metrics. */
  readonly moreColumns: string;
  /** Settings of QuestDB. */
  readonly settings: Readonly<Record<string, string>>;
};

const base: Trial = {
  tables: 1,
  rowsPerSecond: 60_000,
  writeEveryMs: 200,
  tablesPerWrite: 1,
  lateMs: 5_000,
  hosts: 64_000,
  moreColumns: 'more_dimensions VARCHAR,',
  settings: {},
};

/** Files of resting tables stay open for ten seconds: 200 active tables need some 14,000. */
const keepOpen = {
  QDB_CAIRO_INACTIVE_READER_TTL: '10000',
  QDB_CAIRO_INACTIVE_WRITER_TTL: '10000',
  QDB_CAIRO_WAL_INACTIVE_WRITER_TTL: '10000',
};

/** Each lever by itself, against the trial that it changes. */
const levers: Readonly<Record<string, Partial<Trial>>> = {
  base: {},
  'without more_dimensions': { moreColumns: '' },
  'a write each 100 ms': { writeEveryMs: 100 },
  'a write each 600 ms': { writeEveryMs: 600 },
  'applied twice a second': { settings: { QDB_WAL_APPLY_WORKER_SLEEP_TIMEOUT: '500' } },
  'points in order': { lateMs: 0 },
  'points up to 60 s late': { lateMs: 60_000 },
  '100 hosts': { hosts: 100 },
  '100 tables, 12 a write': { tables: 100, tablesPerWrite: 12 },
  '200 tables, 12 a write': { tables: 200, tablesPerWrite: 12 },
  '200 tables, 12 a write, files open for 10 s': { tables: 200, tablesPerWrite: 12, settings: keepOpen },
  '200 tables, all in each write': { tables: 200, tablesPerWrite: 200 },
  '200 tables, all in a write each 600 ms': { tables: 200, tablesPerWrite: 200, writeEveryMs: 600 },
  '200 tables, all in a write each 1200 ms': { tables: 200, tablesPerWrite: 200, writeEveryMs: 1_200 },
};

const warmSeconds = 4;
const modules = ['db', 'web', 'cache', 'queue', 'auth', 'search', 'billing', 'gateway'];
const places = ['guangdong', 'shanghai', 'frankfurt', 'virginia'];

const tableOf = (number: number): string => `points_${number}`;

const createTables = async (engines: TestEngines, { tables, moreColumns }: Trial): Promise<void> => {
  const sql = createQuestdbSql({ url: engines.questdb.url });
  for (let number = 0; number < tables; number++)
    await sql.exec(
      `CREATE TABLE ${tableOf(number)} (timestamp TIMESTAMP, uid LONG, target SYMBOL, ${moreColumns}
        module SYMBOL, location SYMBOL, host SYMBOL, cpu_load DOUBLE, memory_usage DOUBLE)
       TIMESTAMP(timestamp) PARTITION BY DAY WAL DEDUP UPSERT KEYS(timestamp, uid)`,
    );
};

/** Writes rows at the trial's rate for some seconds; returns their number. */
const writeFor = async (
  engines: TestEngines,
  trial: Trial,
  seconds: number,
  first: number,
): Promise<number> => {
  const { rowsPerSecond, writeEveryMs, tablesPerWrite, tables, lateMs, hosts } = trial;
  const { url } = engines.questdb;
  const endpoint = new URL(url);
  endpoint.pathname = '/write';
  endpoint.search = 'precision=ms';
  const random = createRandom(first + 1);
  const rowsEach = Math.max(1, Math.round((rowsPerSecond * writeEveryMs) / 1000 / tablesPerWrite));
  const writes = Math.round((seconds * 1000) / writeEveryMs);
  const startedAt = performance.now();
  let uid = first;
  let turn = first;
  for (let write = 0; write < writes; write++) {
    const lines: string[] = [];
    for (let part = 0; part < tablesPerWrite; part++) {
      const table = tableOf(turn++ % tables);
      const nowMs = Date.now();
      for (let row = 0; row < rowsEach; row++) {
        const host = Math.floor(random() * hosts);
        const module = modules[host % modules.length];
        const place = places[host % places.length];
        lines.push(
          `${table},target=10.0.${host >> 8}.${host & 255},module=${module},location=${place},host=host-${host} ` +
            `uid=${uid++}i,cpu_load=${Math.round(random() * 1e6) / 1e4},memory_usage=${random() * 100} ` +
            `${nowMs - Math.floor(random() * lateMs)}`,
        );
      }
    }
    const response = await fetchEngine(endpoint.href, { method: 'POST', body: `${lines.join('\n')}\n` });
    if (!response.ok) throw new Error(`QuestDB answered ${response.status}: ${await response.text()}`);
    await delay(Math.max(0, startedAt + (write + 1) * writeEveryMs - performance.now()));
  }
  return uid - first;
};

const measureTrial = async (trial: Trial, seconds: number) => {
  Object.assign(process.env, trial.settings);
  await using engines = await startEngines({ questdb: true });
  for (const name of Object.keys(trial.settings)) delete process.env[name];
  const sql = createQuestdbSql({ url: engines.questdb.url });
  const place = { engines, query: sql.exec, spansQuery: async () => [] };
  await createTables(engines, trial);
  // Every table has had rows once.
  const turnMs = (trial.tables / trial.tablesPerWrite) * trial.writeEveryMs;
  const warmed = await writeFor(engines, trial, Math.max(warmSeconds, turnMs / 1000), 0);
  await untilSettled(place, ['questdb']);
  const pid = engines.questdb.pid ?? 0;
  const calibrationMs = calibrate();
  const before = cpuSeconds(pid);
  const startedAt = performance.now();
  const rows = await writeFor(engines, trial, seconds, warmed);
  const tookSeconds = (performance.now() - startedAt) / 1000;
  const isSettled = await untilSettled(place, ['questdb']);
  const cpu = cpuSeconds(pid) - before;
  const used = (cpu / rows) * 1e6;
  return { rowsPerSecond: rows / tookSeconds, cpuPerMillion: used, calibrationMs, isSettled };
};

export type LeverRow = {
  readonly lever: string;
  /** Rows written a second: below the wanted rate where QuestDB did not keep up. */
  readonly rows_per_second: number;
  readonly cpu_questdb: number;
  readonly cpu_questdb_base: number;
  /** Its CPU for a row against the base, both divided by the calibration beside them; the median of all turns. */
  readonly of_base: number;
  readonly calibration_ms: number;
  readonly unsettled: number;
};

/** Each wanted lever (all: an empty text) with the base before it, by turns, in a new QuestDB each. */
export const measureLevers = async (
  {
    seconds,
    repeats,
    wanted,
  }: { readonly seconds: number; readonly repeats: number; readonly wanted: string },
  onRow: (row: LeverRow) => void,
): Promise<void> => {
  const pattern = new RegExp(wanted, 'i');
  for (const [lever, change] of Object.entries(levers)) {
    if (!pattern.test(lever)) continue;
    const bases: number[] = [];
    const trials: Awaited<ReturnType<typeof measureTrial>>[] = [];
    const ratios: number[] = [];
    for (let turn = 0; turn < repeats; turn++) {
      const beside = await measureTrial(base, seconds);
      const trial = await measureTrial({ ...base, ...change }, seconds);
      bases.push(beside.cpuPerMillion);
      trials.push(trial);
      ratios.push(trial.cpuPerMillion / trial.calibrationMs / (beside.cpuPerMillion / beside.calibrationMs));
    }
    onRow({
      lever,
      rows_per_second: Math.round(median(trials.map((trial) => trial.rowsPerSecond))),
      cpu_questdb: rounded(median(trials.map((trial) => trial.cpuPerMillion))),
      cpu_questdb_base: rounded(median(bases)),
      of_base: rounded(median(ratios)),
      calibration_ms: rounded(median(trials.map((trial) => trial.calibrationMs))),
      unsettled: trials.filter(({ isSettled }) => !isSettled).length,
    });
  }
};
