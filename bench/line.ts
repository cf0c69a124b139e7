import { readFileSync } from 'node:fs';
import type { Durability } from '../src/config/settings.ts';
import { type Stack, startStack } from '../test/support/stack.ts';
import { waitFor } from '../test/support/wait.ts';
import { pushBodies } from './bodies.ts';
import { allDifferent, inTurn, type Load, runLoad } from './load.ts';
import type { Row } from './report.ts';
import { spanBodies } from './span-bodies.ts';

const ticksPerSecond = 100;

/** CPU seconds (user and system) that a process has used, from the system's own accounting. */
const cpuSeconds = (pid: number): number => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
};

const residentMiB = (pid: number): number => {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Math.round(Number(match?.[1] ?? 0) / 1024);
};

/** One signal's line: what is sent, and how many items are visible in its store. */
type Line = {
  readonly store: 'questdb' | 'clickhouse';
  /** A new load, times of now. */
  readonly load: () => Load;
  readonly visible: () => Promise<number>;
};

const visibleMsMax = 180_000;

const measure = async (name: string, stack: Stack, line: Line, seconds: number): Promise<Row> => {
  const untilVisible = (items: number): Promise<boolean> =>
    waitFor('everything is visible', visibleMsMax, async () => (await line.visible()) === items);
  const warm = await runLoad(line.load(), Math.min(5, seconds / 2));
  await untilVisible(warm.acknowledged);
  const pids: Record<string, number> = {
    ingress: stack.ingress[0]?.pid ?? 0,
    transfer: stack.transfer[0]?.pid ?? 0,
    nats: stack.engines.nats.pid ?? 0,
    [line.store]: stack.engines[line.store].pid ?? 0,
    // The outcomes of points go there, too.
    clickhouse: stack.engines.clickhouse.pid ?? 0,
  };
  const load = line.load();
  const before = Object.fromEntries(Object.entries(pids).map(([role, pid]) => [role, cpuSeconds(pid)]));
  const ownBefore = process.cpuUsage();
  const start = performance.now();
  const result = await runLoad(load, seconds);
  await untilVisible(warm.acknowledged + result.acknowledged);
  const elapsed = (performance.now() - start) / 1000;
  const own = process.cpuUsage(ownBefore);
  const perMillion = (cpu: number): number => Number(((cpu / result.acknowledged) * 1e6).toFixed(2));
  const cpu = Object.entries(pids).map(([role, pid]): [string, number] => [
    role,
    cpuSeconds(pid) - (before[role] ?? 0),
  ]);
  const ours = cpu.reduce(
    (sum, [role, used]) => (role === 'ingress' || role === 'transfer' ? sum + used : sum),
    0,
  );
  return {
    stage: name,
    items_per_second: Math.round(result.acknowledged / elapsed),
    cpu_seconds_per_million: perMillion(ours),
    acknowledged_per_second: Math.round(result.acknowledged / result.seconds),
    requests_per_second: Math.round(result.requests / result.seconds),
    stored: result.acknowledged,
    failed_requests: result.failed,
    p50_ms: result.p50Ms,
    p99_ms: result.p99Ms,
    ...Object.fromEntries(cpu.map(([role, used]) => [`cpu_${role}`, perMillion(used)])),
    cpu_generator: perMillion((own.user + own.system) / 1e6),
    ...Object.fromEntries(Object.entries(pids).map(([role, pid]) => [`rss_mib_${role}`, residentMiB(pid)])),
  };
};

/** Push to visible in QuestDB: everything, the generator and the engines included, on this machine. */
export const measurePush = async (
  name: string,
  points: number,
  connections: number,
  seconds: number,
  durability: Durability,
): Promise<Row> => {
  const stack = await startStack({ traces: true, durability });
  try {
    const report = await stack.createReport('bench');
    const { mon_data_id: dataId, token } = report.data_source;
    const bodiesMax = Math.min(256, Math.ceil(100_000 / points));
    const line: Line = {
      store: 'questdb',
      load: () => ({
        url: `http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`,
        headers: {},
        nextBody: inTurn(pushBodies(bodiesMax, points, dataId, token, Date.now())),
        itemsPerBody: points,
        connections,
      }),
      visible: async () =>
        Number((await stack.query(`SELECT count() FROM "${report.result_table.table_id}"`)).dataset[0]?.[0]),
    };
    return await measure(name, stack, line, seconds);
  } finally {
    await stack.stop();
  }
};

/** Export to visible in ClickHouse, requests all different. */
export const measureSpans = async (
  name: string,
  encoding: 'json' | 'protobuf',
  spans: number,
  connections: number,
  seconds: number,
  durability: Durability,
): Promise<Row> => {
  const stack = await startStack({ traces: true, durability });
  try {
    const { token } = await stack.createApplication('bench');
    let salt = 0;
    const line: Line = {
      store: 'clickhouse',
      load: () => ({
        url: `http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`,
        headers: {
          'content-type': encoding === 'json' ? 'application/json' : 'application/x-protobuf',
          'x-mon-token': token,
        },
        nextBody: allDifferent(spanBodies(encoding, 64, spans, Date.now() - 1000 * salt++), encoding),
        itemsPerBody: spans,
        connections,
      }),
      visible: async () =>
        Number((await stack.spansQuery('SELECT count() AS spans FROM otel.otel_traces'))[0]?.['spans']),
    };
    return await measure(name, stack, line, seconds);
  } finally {
    await stack.stop();
  }
};
