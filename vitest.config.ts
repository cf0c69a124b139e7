import { defineConfig } from 'vitest/config';
import LongestFirstSequencer from './test/support/vitest/longest-first-sequencer.ts';

// Minutes of kills, of random walks, of full disks or of backlogs: `make test-long`.
const long = [
  'test/operations/{metadata-{gaps,model},moving}.test.ts',
  'test/engines/table-backlog.test.ts',
  'test/faults/{kills-under-load*,{full,read-only}-disk,broken-table,backup-restore}.test.ts',
];

// A kill at each instant between two steps: `make test-load`.
const kills = ['test/faults/kill-points{,-worker}.test.ts'];

// Hostile clients, full receivers and promised rates, which take the machine for themselves: `make test-load`.
const load = ['test/contract/{overload,hostile,hostile-bodies,rate-limit}.test.ts'];

// What operators do about dead letters, and what they see of a loss: `make test-operations`.
const operators = [
  'test/engines/{dlq-redrive,dlq-outcomes,dlq-races,dlq-replica,set-aside}.test.ts',
  'test/engines/{account,account-*,store-account,balances}.test.ts',
];

// The admin API at length, its commands, and the refresh job: `make test-admin`.
const admin = [
  'test/operations/metadata-{cli,cli-system,fuzz,import,outages,races,records,views}.test.ts',
  'test/operations/{refresh,refresh-http,explore,drops-read,operators,doctor}.test.ts',
];

// Backups, retention, data of earlier versions, what the documents say, command by command, and every way out of the embedded
// ClickHouse: `make test-upkeep`.
const upkeep = [
  'test/operations/{clickhouse-retention,earlier-data,earlier-version,kubernetes-restore,streams-backup*}.test.ts',
  'test/operations/{chapter,pages,querying,runbook-commands}.test.ts',
  'test/engines/clickhouse-{migrations,ways-out}.test.ts',
];

// Under load: beside another file it would measure the machine and not the guarantee.
const alone = ['test/faults/exactly-once.test.ts'];

// What is promised to senders, and exactly once: on engines in containers too, by `make test-containers`.
const inContainers = [
  'test/contract/*.test.ts',
  'test/faults/{exact,exactly-once,kill-points{,-worker},whole-requests,rolling-restart}.test.ts',
];

/** Turns without work after which a worker of QuestDB gives way, naps for a millisecond, and sleeps. */
const turns = { YIELD: '1', NAP: '10', SLEEP: '60' };

/** Their roles and commands start from few files, and their tables of ClickHouse are copies. */
const madeOnce = ['test/support/vitest/built-program.ts', 'test/support/vitest/made-tables.ts'];

const env = {
  // A QuestDB of a test lives for seconds: the second compiler of Java and its parallel collector would cost more than they gain.
  JDK_JAVA_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData',
  // At their defaults its workers spin for seconds after each request, half of what QuestDB takes of the processor in a test.
  ...Object.fromEntries(
    ['SHARED', 'WAL_APPLY', 'VIEW_COMPILER'].flatMap((pool) =>
      Object.entries(turns).map(([does, count]) => [`QDB_${pool}_WORKER_${does}_THRESHOLD`, count]),
    ),
  ),
};

/** For files on engines of their own. */
const besideOthers = {
  globalSetup: madeOnce,
  // Files share processes: each would load the same modules again.
  isolate: false,
  // Each file waits for more than half of its time: four at once keep two cores busy.
  maxWorkers: 4,
  testTimeout: 600_000,
  hookTimeout: 300_000,
};

export default defineConfig({
  test: {
    env,
    // Far above what anything needs, so that a test says what went wrong and not how slow the machine was.
    expect: { poll: { timeout: 60_000 } },
    testTimeout: 60_000,
    sequence: { sequencer: LongestFirstSequencer },
    reporters: ['default', './test/support/vitest/closing-line-reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          // They hold nothing beyond a file: a process for each would load the same modules ninety times.
          isolate: false,
          // Beside the engines' files, which wait for more than half of their time.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: long,
          fileParallelism: false,
          testTimeout: 600_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        // Clients that have to be built first: `make test-clients`.
        test: {
          name: 'clients',
          include: ['test/clients/**/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 3 },
          testTimeout: 240_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        // Programs that have to be built first, and a whole installation: `make test-deploy`.
        test: {
          name: 'deploy',
          include: ['test/deploy/**/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 4 },
          testTimeout: 600_000,
          // The first build of Prometheus takes minutes.
          hookTimeout: 1_800_000,
        },
      },
      {
        extends: true,
        // Several servers of one engine: `make test-cluster`.
        test: {
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 900_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        // Provoked losses, each of which the account has to show within two minutes: `make test-account`.
        test: {
          name: 'account',
          include: ['test/account/**/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 5 },
          testTimeout: 900_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        // A real browser on one stack that all files share: `make test-console`.
        test: {
          name: 'console',
          include: ['test/console/**/*.test.ts'],
          // As those on engines do: each would load the driver of the browser again.
          isolate: false,
          globalSetup: ['test/support/console/console-stack.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 6 },
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        // The npm package, and README in a new clone: `make test-package`.
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 9 },
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        extends: true,
        // A cluster of one node, which `make test-kubernetes` starts.
        test: {
          name: 'kubernetes',
          include: ['test/kubernetes/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 900_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        // A Docker engine and images, which `make test-containers` prepares.
        test: {
          name: 'containers',
          include: ['test/containers/**/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 7 },
          testTimeout: 900_000,
          hookTimeout: 600_000,
        },
      },
      {
        extends: true,
        // The same files as elsewhere, on engines in containers.
        test: {
          name: 'in-containers',
          include: inContainers,
          env: { ...env, TIDEMARK_TEST_ENGINES: 'containers' },
          fileParallelism: false,
          sequence: { groupOrder: 8 },
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'engines',
          ...besideOthers,
          include: ['test/{engines,contract,faults}/**/*.test.ts'],
          exclude: [...alone, ...long, ...kills, ...load, ...operators, ...upkeep],
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        // What operators use: `tidemark up`, usage, audit, dead letters, the account: `make test-operations`.
        test: {
          name: 'operations',
          ...besideOthers,
          include: ['test/operations/**/*.test.ts', ...operators],
          exclude: [...long, ...admin, ...upkeep],
          sequence: { groupOrder: 12 },
        },
      },
      {
        extends: true,
        test: { name: 'admin', ...besideOthers, include: admin, sequence: { groupOrder: 13 } },
      },
      {
        extends: true,
        test: { name: 'upkeep', ...besideOthers, include: upkeep, sequence: { groupOrder: 14 } },
      },
      {
        extends: true,
        test: {
          name: 'kills',
          globalSetup: madeOnce,
          include: kills,
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 10 },
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'load',
          globalSetup: madeOnce,
          include: load,
          fileParallelism: false,
          sequence: { groupOrder: 11 },
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          globalSetup: madeOnce,
          include: alone,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
