import { parseArgs } from 'node:util';
import type { Durability } from '../../src/config/settings.ts';
import { type Stack, startStack } from '../../test/support/stack/stack.ts';
import { slowOf } from '../calibration.ts';
import { asShipped, machineOf } from '../line.ts';
import { pointLoads, usualPoints } from '../point-loads.ts';
import { cpuPerMillion, type Rate } from '../rate.ts';
import { spanLoads, usualSpans } from '../span-loads.ts';
import { median, rounded } from '../statistics.ts';
import { ownRoles } from '../subjects.ts';
import { grouped, tableLines } from '../table.ts';
import { buildCollector, buildTelegraf, peerVersions } from './builds.ts';
import {
  type Contestant,
  collectorContestant,
  ownItems,
  ownPoints,
  type Programs,
  telegrafContestant,
} from './contests.ts';
import type { KillRow, PeerRow } from './verdict.ts';
import { behind } from './verdict.ts';
import { measureKills } from './victims.ts';

/**
 * `make bench-peers`: the OpenTelemetry Collector into ClickHouse and Telegraf into QuestDB beside this program: the same bodies,
 * the same engines, in turn in one run; then the items that each loses and stores twice when it is killed. Exits with 1 where this
 * program is not ahead of a row that stores.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '2' },
    /** No round of a part begins that would end later than this after its first one began; one round is made in any case. */
    minutes: { type: 'string', default: '17' },
    /** Parts: `process`, `late`, `loads`, `power`, `kills`. */
    only: { type: 'string', default: 'process,late,loads,power,kills' },
    /** Only rows that match this. */
    rows: { type: 'string', default: '' },
  },
});
const parts = values.only.split(',');
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
const minutesMax = Number(values.minutes);
const rowPattern = new RegExp(values.rows, 'i');

const say = (line = ''): void => {
  process.stdout.write(`${line}\n`);
};

const databases = ['questdb', 'clickhouse'];

const rowOf = (contestant: Contestant, rates: readonly Rate[]): PeerRow => {
  const { row, ours, contest, item, is_stored, ok_means } = contestant;
  const middle = (value: (rate: Rate) => number): number => rounded(median(rates.map(value)));
  const between = ({ usage }: Rate): string[] =>
    Object.keys(usage.cpu).filter((role) => !databases.includes(role));
  return {
    row,
    ours,
    contest,
    item,
    is_stored,
    ok_means,
    items_per_second: middle((rate) => rate.storedPerSecond),
    cpu_per_million: middle((rate) => cpuPerMillion(rate, between(rate))),
    cpu_per_million_roles: middle((rate) =>
      cpuPerMillion(rate, ours ? ownRoles(rate.usage.cpu) : between(rate)),
    ),
    cpu_per_million_database: is_stored ? middle((rate) => cpuPerMillion(rate, databases)) : 0,
    rss_mib: middle((rate) => between(rate).reduce((sum, role) => sum + (rate.usage.peak[role] ?? 0), 0)),
    missing: Math.max(...rates.map(({ missing }) => missing)),
    failed_requests: Math.max(...rates.map(({ failedRequests }) => failedRequests)),
    ...machineOf(rates),
  };
};

/** The contests that have targets of their own: they get the time that is too short for a round of all. */
const targetContests = ['push', 'protobuf', 'json'];

/** Runs each in turn, all of them this many times, or as often as there is time for. */
const alternate = async (contestants: readonly Contestant[]): Promise<PeerRow[]> => {
  const rates = new Map<Contestant, Rate[]>();
  const minutesOf = new Map<Contestant, number>();
  const startedAt = performance.now();
  const minutesNow = (): number => (performance.now() - startedAt) / 60_000;
  const isInTime = (chosen: readonly Contestant[]): boolean =>
    minutesNow() + chosen.reduce((sum, each) => sum + (minutesOf.get(each) ?? 0), 0) <= minutesMax;
  let chosen = contestants;
  for (let round = 1; round <= rounds; round++) {
    if (!isInTime(chosen)) {
      say(`  ${round - 1} of ${rounds} rounds: another one would end after ${minutesMax} minutes`);
      chosen = contestants.filter(({ contest }) => targetContests.includes(contest));
      if (chosen.length === 0 || !isInTime(chosen)) break;
      say(`  further rounds of ${targetContests.join(', ')} alone`);
    }
    for (const contestant of chosen) {
      const before = minutesNow();
      const rate = await contestant.measure(seconds);
      minutesOf.set(contestant, minutesNow() - before);
      say(`  round ${round}: ${contestant.row}: ${grouped(rate.storedPerSecond)} ${contestant.item}/s`);
      rates.set(contestant, [...(rates.get(contestant) ?? []), rate]);
    }
  }
  return contestants.map((contestant) => rowOf(contestant, rates.get(contestant) ?? []));
};

/**
 * A stack whose guard of spans ends soon, as in a process that has run for its duplicate window: peers have no guard that could be
 * on at their start.
 */
const withStack = async <T>(durability: Durability, use: (stack: Stack) => Promise<T>): Promise<T> => {
  const stack = await startStack({
    traces: true,
    durability,
    duplicateWindowSeconds: 10,
    ackWaitSeconds: 20,
    pipelines: asShipped,
  });
  try {
    return await use(stack);
  } finally {
    await stack.stop();
  }
};

/** The rows that match, and those of this program that compete with them. */
const wantedOf = (contestants: readonly Contestant[]): Contestant[] => {
  const wanted = contestants.filter(({ row }) => rowPattern.test(row));
  const contests = new Set(wanted.map(({ contest }) => contest));
  return contestants.filter((each) => wanted.includes(each) || (each.ours && contests.has(each.contest)));
};

const protobuf = { signal: 'traces', way: 'protobuf' } as const;
const json = { signal: 'traces', way: 'json' } as const;

/** Spans over gRPC, log records and data points in each way: beside the Collector with its memory queue. */
const furtherContestants = async (stack: Stack, programs: Programs): Promise<Contestant[]> => {
  const contestants: Contestant[] = [];
  for (const [contest, what] of [
    ['grpc', { signal: 'traces', way: 'grpc' }],
    ['logs, protobuf', { signal: 'logs', way: 'protobuf' }],
    ['logs, json', { signal: 'logs', way: 'json' }],
    ['logs, grpc', { signal: 'logs', way: 'grpc' }],
    ['data points, protobuf', { signal: 'metrics', way: 'protobuf' }],
    ['data points, json', { signal: 'metrics', way: 'json' }],
    ['data points, grpc', { signal: 'metrics', way: 'grpc' }],
  ] as const)
    contestants.push(
      await ownItems(stack, what, contest, 'in JetStream'),
      collectorContestant(stack, programs, 'memory', what, contest),
    );
  return contestants;
};

const measureProcess = (programs: Programs): Promise<PeerRow[]> =>
  withStack('process', async (stack) => {
    const contestants = [
      await ownPoints(stack, 'push', 'in JetStream'),
      telegrafContestant(stack, programs, 'memory', 'push'),
      telegrafContestant(stack, programs, 'none', 'push'),
      await ownItems(stack, protobuf, 'protobuf', 'in JetStream'),
      collectorContestant(stack, programs, 'memory', protobuf, 'protobuf'),
      collectorContestant(stack, programs, 'file', protobuf, 'protobuf'),
      collectorContestant(stack, programs, 'none', protobuf, 'protobuf'),
      await ownItems(stack, json, 'json', 'in JetStream'),
      collectorContestant(stack, programs, 'memory', json, 'json'),
      collectorContestant(stack, programs, 'file', json, 'json'),
      collectorContestant(stack, programs, 'none', json, 'json'),
      ...(await furtherContestants(stack, programs)),
    ];
    return alternate(wantedOf(contestants));
  });

const lateLoad = 'points up to 60 s late';

/** Points of producers that send once a minute. The usual ones are up to five seconds old; both are of 64,000 hosts. */
const measureLate = (programs: Programs): Promise<PeerRow[]> =>
  withStack('process', async (stack) => {
    const contest = `push, ${lateLoad}`;
    const load = pointLoads[lateLoad];
    const contestants = [
      await ownPoints(stack, contest, 'in JetStream', load),
      telegrafContestant(stack, programs, 'memory', contest, load, 'late'),
    ];
    return alternate(wantedOf(contestants));
  });

/** The loads of users that a peer takes as they are; it keeps them in memory. Usual loads and late points have rows of their own. */
const measureLoads = (programs: Programs): Promise<PeerRow[]> =>
  withStack('process', async (stack) => {
    const contestants: Contestant[] = [];
    for (const [name, load] of Object.entries(pointLoads)) {
      if (load === usualPoints || name === lateLoad) continue;
      const contest = `push, ${name}`;
      contestants.push(
        await ownPoints(stack, contest, 'in JetStream', load),
        telegrafContestant(stack, programs, 'memory', contest, load, name),
      );
    }
    for (const [contest, load] of Object.entries(spanLoads)) {
      if (load === usualSpans) continue;
      contestants.push(
        await ownItems(stack, { ...protobuf, load }, contest, 'in JetStream'),
        collectorContestant(stack, programs, 'memory', { ...protobuf, load }, contest),
      );
    }
    return alternate(wantedOf(contestants));
  });

const measurePower = (programs: Programs): Promise<PeerRow[]> =>
  withStack('power', async (stack) => {
    const contestants = [
      await ownPoints(stack, 'push, power', 'on disk (fsync)'),
      telegrafContestant(stack, programs, 'disk', 'push, power'),
      await ownItems(stack, protobuf, 'protobuf, power', 'on disk (fsync)'),
      collectorContestant(stack, programs, 'file_fsync', protobuf, 'protobuf, power'),
      await ownItems(stack, json, 'json, power', 'on disk (fsync)'),
      collectorContestant(stack, programs, 'file_fsync', json, 'json, power'),
    ];
    return alternate(wantedOf(contestants));
  });

const printPeers = (rows: readonly PeerRow[]): void => {
  say();
  const head = [
    '',
    '200 means',
    'stored/s',
    'CPU s/M',
    'database CPU s/M',
    'RSS MiB',
    'missing',
    'not 200',
    'calibration ms',
  ];
  const cells = rows.map((row) => [
    row.row,
    row.ok_means,
    row.is_stored ? grouped(row.items_per_second) : `(${grouped(row.items_per_second)})`,
    row.ours && row.cpu_per_million !== row.cpu_per_million_roles
      ? `${row.cpu_per_million} (roles ${row.cpu_per_million_roles})`
      : String(row.cpu_per_million),
    row.is_stored ? String(row.cpu_per_million_database) : '-',
    grouped(row.rss_mib),
    grouped(row.missing),
    grouped(row.failed_requests),
    `${row.calibration_ms} (at most ${row.calibration_ms_max})`,
  ]);
  for (const line of tableLines(head, cells)) say(line);
  for (const { row, factor } of slowOf(rows))
    say(`slow machine: ${row.row}: ${factor} times the best calibration`);
  for (const { row, unsettled } of rows)
    if (unsettled > 0) say(`not settled: ${row}: in ${unsettled} rounds a store worked on`);
  say('In brackets: answered, not stored. CPU s/M of ours: ingress, transfer and nats-server.');
};

const printKills = (rows: readonly KillRow[]): void => {
  say();
  const head = [
    'killed with SIGKILL',
    '200 means',
    'acknowledged',
    'lost',
    'stored twice',
    'stored unanswered',
  ];
  const cells = rows.map((row) => [
    row.killed,
    row.ok_means,
    grouped(row.acknowledged),
    grouped(row.lost),
    grouped(row.stored_twice),
    grouped(row.stored_unanswered),
  ]);
  for (const line of tableLines(head, cells)) say(line);
};

const startedAt = performance.now();
say(
  `OpenTelemetry Collector ${peerVersions.collector}, Telegraf ${peerVersions.telegraf}: built at their first use`,
);
const programs: Programs = { collector: await buildCollector(), telegraf: await buildTelegraf() };
const rows = [
  ...(parts.includes('process') ? await measureProcess(programs) : []),
  ...(parts.includes('late') ? await measureLate(programs) : []),
  ...(parts.includes('loads') ? await measureLoads(programs) : []),
  ...(parts.includes('power') ? await measurePower(programs) : []),
];
const kills = parts.includes('kills') ? await measureKills(programs, (line) => say(`  ${line}`)) : [];
if (rows.length > 0) printPeers(rows);
if (kills.length > 0) printKills(kills);
say();
for (const row of [...rows, ...kills]) say(JSON.stringify(row));
const lines = behind(rows);
const lossy = kills.filter(
  ({ killed, lost, stored_twice: twice }) => /^Tidemark/.test(killed) && lost + twice > 0,
);
for (const line of lines) say(`behind: ${line}`);
for (const { killed } of lossy) say(`not exact: ${killed}`);
if (lines.length + lossy.length === 0 && rows.length > 0) say('ahead of every row that stores');
say(`${Math.round((performance.now() - startedAt) / 1000)} s`);
if (lines.length + lossy.length > 0) process.exitCode = 1;
