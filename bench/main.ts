import { parseArgs } from 'node:util';
import { differenceLines } from './difference.ts';
import type { Latency } from './latency.ts';
import { type LineResult, measurePush, measureSpans } from './line.ts';
import { combineRows, printRows, type Row } from './report.ts';
import { tableLines } from './table.ts';
import { judge, missedWhy } from './targets.ts';

/**
 * `make bench ARGS="--seconds 60 --only push"`: stages are one core by itself; the other parts run senders, roles and engines
 * together on this machine. Exits with 1 and names the missed targets where a measured target is not reached.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    repeats: { type: 'string', default: '3' },
    only: { type: 'string', default: 'times,stages,push,spans,latency,backlog' },
    durability: { type: 'string', default: 'process' },
    /** The number of items of the backlog. */
    items: { type: 'string', default: '1000000' },
    /** Which curves, and how full the fullest table is. */
    curves: { type: 'string', default: 'ids,columns,rows,span_rows,processes,span_processes' },
    /** Only loads, or rows of the cost, that match this. */
    loads: { type: 'string', default: '' },
    /** Only levers of QuestDB that match this. */
    levers: { type: 'string', default: '' },
    /** Pairs of turns without and with the console, and their pushes a second. */
    pairs: { type: 'string', default: '10' },
    requests: { type: 'string', default: '60' },
    'point-rows': { type: 'string', default: '50000000' },
    'span-rows': { type: 'string', default: '10000000' },
  },
});
const parts = values.only.split(',');
const seconds = Number(values.seconds);
const repeats = Number(values.repeats);
const durability = values.durability === 'power' ? 'power' : 'process';
const options = { seconds, repeats, durability, hasLatency: parts.includes('latency') } as const;

const figures: Record<string, number> = {};
const latencies: Latency[] = [];
/** The cost of a million items for each process, by line. */
const spent: Record<string, Readonly<Record<string, number>>> = {};

const say = (line = ''): void => {
  process.stdout.write(`${line}\n`);
};

const numberOf = (row: Row, key: string): number => {
  const value = row[key];
  return typeof value === 'number' ? value : 0;
};

const cpuKey = /^cpu_(?!seconds_per_million)(.+)$/;

/** Notes the figures of a line that the targets need. */
const note = (signal: string, { row, latency }: LineResult): Row => {
  figures[`${signal}_per_second`] = row.items_per_second;
  figures[`${signal}_cpu`] = row.cpu_seconds_per_million;
  figures[`${signal}_cpu_nats`] = numberOf(row, 'cpu_nats');
  figures[`${signal}_cpu_questdb`] = numberOf(row, 'cpu_questdb');
  spent[signal] = Object.fromEntries(
    Object.keys(row).flatMap((key) => {
      const process = cpuKey.exec(key)?.[1];
      return process === undefined ? [] : [[process, numberOf(row, key)]];
    }),
  );
  for (const role of ['ingress', 'transfer'])
    figures[`rss_${role}`] = Math.max(figures[`rss_${role}`] ?? 0, numberOf(row, `rss_peak_mib_${role}`));
  if (latency === undefined) return row;
  latencies.push(latency);
  figures[`${signal}_answered_p50`] = latency.answered_p50_ms;
  figures[`${signal}_answered_p99`] = latency.answered_p99_ms;
  figures[`${signal}_visible_p50`] = latency.visible_p50_ms;
  figures[`${signal}_visible_p99`] = latency.visible_p99_ms;
  return row;
};

// Each part brings its own modules: `make bench-compare` runs these benches on older sources, where one part may not fit.
const runTimes = async (): Promise<void> => {
  const { measureTimes } = await import('./times.ts');
  say('Times that are promised');
  for (const time of await measureTimes()) {
    say(`  ${time.what.padEnd(44)} ${time.milliseconds} ms (promised ${time.promised_milliseconds} ms)`);
    say(JSON.stringify(time));
  }
};

const runStages = async (): Promise<void> => {
  const { measureEngineStages } = await import('./engine-stages.ts');
  const { measureSpanStages, spanStageInputs } = await import('./spans-stages.ts');
  const { measureStages, pointStageInputs } = await import('./stages.ts');
  const turns = Array.from({ length: repeats });
  const points = combineRows(turns.map(() => measureStages()));
  const spans = combineRows(turns.map(() => measureSpanStages()));
  const inputs = { ...pointStageInputs(), ...spanStageInputs() };
  const withEngines: Awaited<ReturnType<typeof measureEngineStages>>[] = [];
  for (const _ of turns) withEngines.push(await measureEngineStages(inputs));
  printRows('Stages of a push, one core, 1000 points × 2 metrics a body', 'points', [
    ...points,
    ...combineRows(withEngines.map((rows) => rows.points)),
  ]);
  printRows('Stages of an export, one core, 100 spans × 10 attributes a body', 'spans', [
    ...spans,
    ...combineRows(withEngines.map((rows) => rows.spans)),
  ]);
};

const runShapes = async (): Promise<void> => {
  const { measureShapes } = await import('./shapes.ts');
  say('\nDecoding and encoding of a push, one core, the same points as clients write them');
  const head = ['', 'bytes/point', 'CPU µs/point', 'of the cheapest'];
  const rows = measureShapes();
  const cells = rows.map((row) => [
    row.shape,
    String(row.bytes_per_point),
    row.cpu_microseconds_per_point.toFixed(2),
    row.times_cheapest.toFixed(2),
  ]);
  for (const line of tableLines(head, cells)) say(line);
  for (const row of rows) say(JSON.stringify(row));
};

const runPush = async (): Promise<void> => {
  const rows = [note('push', await measurePush('1000 points a request', 1000, 8, options))];
  const single = await measurePush('1 point a request', 1, 64, { ...options, hasLatency: false });
  figures['single_requests'] = numberOf(single.row, 'requests_per_second');
  rows.push(note('single', single));
  printRows('Push to visible in QuestDB, generator and engines on the same machine', 'points', rows);
};

const runCost = async (): Promise<void> => {
  const { measureCost } = await import('./line-cost.ts');
  printRows(
    'The whole line and its engines, every process counted',
    'points',
    await measureCost(options, values.loads),
  );
};

const runConsole = async (): Promise<void> => {
  const { measureConsole } = await import('./console.ts');
  say('\nThe line at an even load, one tab on Line closed and open by turns, CPU s per million points');
  const wanted = { ...options, pairs: Number(values.pairs), requestsPerSecond: Number(values.requests) };
  const { closed, open, differences } = await measureConsole(wanted, (before, after) =>
    say(`  closed ${String(before['cpu_line'])}, open ${String(after['cpu_line'])}`),
  );
  for (const [side, rows] of Object.entries({ closed, open }))
    for (const row of rows) say(JSON.stringify({ console: side, ...row, stage: undefined }));
  for (const line of differenceLines('closed', 'open', differences)) say(line);
  const line = differences.find(({ figure }) => figure === 'cpu_line');
  figures['console_cpu_change'] = line?.change_percent_mean ?? Number.NaN;
};

const runSpans = async (): Promise<void> => {
  const guarded = { ...options, repeats: 1, hasLatency: false };
  const rows = [
    note('protobuf', await measureSpans('protobuf', 'protobuf', false, options)),
    note('json', await measureSpans('JSON', 'json', false, options)),
    (await measureSpans('protobuf, guarded as after a start', 'protobuf', true, guarded)).row,
  ];
  const title =
    'Export to visible in ClickHouse, 100 spans a request, generator and engines on the same machine';
  printRows(title, 'spans', rows);
};

const printLatencies = (): void => {
  say('\nHalf of the reached load');
  const head = ['', 'items/s', '200 p50 ms', 'p99 ms', 'visible p50 ms', 'p99 ms', 'not 200', 'unseen'];
  const cells = latencies.map((row) => [
    row.latency,
    String(row.items_per_second),
    ...[row.answered_p50_ms, row.answered_p99_ms, row.visible_p50_ms, row.visible_p99_ms].map(String),
    String(row.failed_requests),
    String(row.probes_unseen),
  ]);
  for (const line of tableLines(head, cells)) say(line);
  for (const row of latencies) say(JSON.stringify(row));
};

const runBacklog = async (): Promise<void> => {
  const { measureBacklogs } = await import('./backlog.ts');
  say('\nA backlog, drained by one transfer');
  const backlog = { items: Number(values.items), guard: 'suspect' };
  await measureBacklogs(['points', 'spans'], backlog, (result) => {
    say(JSON.stringify(result));
    figures['rss_backlog'] = Math.max(figures['rss_backlog'] ?? 0, result.transfer_peak_mib);
    if (!result.exact) figures['not_exact'] = 1;
  });
};

const runHostile = async (): Promise<void> => {
  const { measureHostile } = await import('./hostile.ts');
  say('A producer of 10 points a request over 4 connections, beside hostile clients');
  for (const row of await measureHostile(2000, seconds)) say(JSON.stringify(row));
};

const runReceivers = async (): Promise<void> => {
  const { measureReceivers } = await import('./receivers.ts');
  say('CPU of ingress for a request, µs');
  const rows = await measureReceivers(seconds);
  const cells = rows.map((row) =>
    [row.request, row.accepted_us, row.other, row.other_us, row.ratio].map(String),
  );
  for (const line of tableLines(['', 'accepted', '', 'µs', 'share'], cells)) say(line);
  for (const row of rows) say(JSON.stringify(row));
};

const runCurves = async (): Promise<void> => {
  const { curves } = await import('./curves.ts');
  const pointRows = Number(values['point-rows']);
  const spanRows = Number(values['span-rows']);
  for (const name of values.curves.split(',')) {
    const curve = curves[name];
    if (curve === undefined) throw new Error(`there is no curve ${name}: ${Object.keys(curves).join(', ')}`);
    const { title, item, rows } = await curve({ seconds, durability, pointRows, spanRows });
    printRows(title, item, rows);
  }
};

/** In a shorter time a young process still grows to its size, which is no leak. */
const soakSecondsMin = 300;

const runSoak = async (): Promise<void> => {
  const { measureSoak } = await import('./soak.ts');
  say('\nFull load of points and spans at the same time');
  for (const soak of await measureSoak(options, say)) {
    say(JSON.stringify(soak));
    if (seconds >= soakSecondsMin) figures[`growth_${soak.soak}`] = soak.growth_mib_per_minute;
    figures[`rss_${soak.soak}`] = Math.max(figures[`rss_${soak.soak}`] ?? 0, soak.rss_peak_mib);
  }
};

const runLoads = async (): Promise<void> => {
  const { measureLoads } = await import('./loads.ts');
  const { points, spans } = await measureLoads({ ...options, wanted: values.loads });
  if (points.length > 0) printRows('Loads of points, the whole line', 'points', points);
  if (spans.length > 0) printRows('Loads of spans as protobuf, the whole line', 'spans', spans);
};

const runQuestdb = async (): Promise<void> => {
  const { measureLevers } = await import('./questdb-levers.ts');
  say('QuestDB alone under the rows that transfer writes: each lever beside the base, by turns');
  const rows: string[] = [];
  await measureLevers({ seconds, repeats, wanted: values.levers }, (row) => {
    say(
      `  ${row.lever.padEnd(48)} ${String(row.cpu_questdb).padStart(6)} CPU s/M, ${row.of_base} of the base`,
    );
    rows.push(JSON.stringify(row));
  });
  for (const row of rows) say(row);
};

const runFirstRow = async (): Promise<void> => {
  const { measureFirstRow } = await import('./first-row.ts');
  say('From the first command of README to the first row');
  const [cold, warm] = await measureFirstRow();
  for (const row of [cold, warm]) say(JSON.stringify(row));
  if (cold !== undefined) figures['first_row_cold'] = cold.seconds;
  if (warm !== undefined) figures['first_row_warm'] = warm.seconds;
};

if (parts.includes('first-row')) await runFirstRow();
if (parts.includes('times')) await runTimes();
if (parts.includes('stages')) await runStages();
if (parts.includes('shapes')) await runShapes();
if (parts.includes('push')) await runPush();
if (parts.includes('cost')) await runCost();
if (parts.includes('console')) await runConsole();
if (parts.includes('spans')) await runSpans();
if (latencies.length > 0) printLatencies();
if (parts.includes('backlog')) await runBacklog();
if (parts.includes('loads')) await runLoads();
if (parts.includes('questdb')) await runQuestdb();
if (parts.includes('curves')) await runCurves();
if (parts.includes('receivers')) await runReceivers();
if (parts.includes('soak')) await runSoak();
if (parts.includes('hostile')) await runHostile();

const judgements = judge(figures);
if (judgements.length > 0) {
  say('\nTargets, for two cores');
  const head = ['', 'wanted', 'reached', ''];
  const cells = judgements.map(({ target, wanted, unit, reached, met }) => [
    target,
    `${wanted} ${unit}`,
    String(reached),
    met ? 'met' : 'MISSED',
  ]);
  for (const line of tableLines(head, cells)) say(line);
  for (const judgement of judgements) say(JSON.stringify(judgement));
}
const missed = judgements.filter(({ met }) => !met);
if (missed.length > 0) {
  say('\nMissed, and what took the two cores (docs/performance.md has the profiles)');
  for (const { target, figure } of missed) say(`  ${target}: ${missedWhy(figure, figures, spent)}`);
}
if (missed.length > 0 || figures['not_exact'] === 1) process.exitCode = 1;
