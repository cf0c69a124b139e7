import { readFileSync } from 'node:fs';
import { type Stack, startStack } from '../test/support/stack.ts';
import { waitFor } from '../test/support/wait.ts';
import { pushBodies } from './bodies.ts';
import { runLoad } from './load.ts';
import type { Row } from './report.ts';

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

const pidsOf = (stack: Stack): Record<string, number> => ({
  ingress: stack.ingress[0]?.pid ?? 0,
  transfer: stack.transfer[0]?.pid ?? 0,
  nats: stack.engines.nats.pid ?? 0,
  questdb: stack.engines.questdb.pid ?? 0,
});

export type LineCase = { readonly name: string; readonly points: number; readonly connections: number };

/** Push to visible in QuestDB: everything, the generator and the engines included, on this machine. */
export const measureLine = async ({ name, points, connections }: LineCase, seconds: number): Promise<Row> => {
  const stack = await startStack();
  try {
    const report = await stack.createReport('bench');
    const table = report.result_table.table_id;
    const url = `http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`;
    const { mon_data_id: dataId, token } = report.data_source;
    const bodiesFor = (): Buffer[] =>
      pushBodies(Math.min(256, Math.ceil(100_000 / points)), points, dataId, token, Date.now());
    const warm = await runLoad(url, bodiesFor(), points, connections, Math.min(5, seconds / 2));
    await stack.waitForRows(table, warm.acknowledged, 120_000);
    const bodies = bodiesFor();
    const pids = pidsOf(stack);
    const before = Object.fromEntries(Object.entries(pids).map(([role, pid]) => [role, cpuSeconds(pid)]));
    const ownBefore = process.cpuUsage();
    const start = performance.now();
    const load = await runLoad(url, bodies, points, connections, seconds);
    await waitFor('all rows visible', 120_000, async () => {
      const { dataset } = await stack.query(`SELECT count() FROM "${table}"`);
      return Number(dataset[0]?.[0]) === warm.acknowledged + load.acknowledged;
    });
    const elapsed = (performance.now() - start) / 1000;
    const own = process.cpuUsage(ownBefore);
    const perMillion = (cpu: number): number => Number(((cpu / load.acknowledged) * 1e6).toFixed(2));
    const cpu = Object.fromEntries(
      Object.entries(pids).map(([role, pid]) => [role, cpuSeconds(pid) - (before[role] ?? 0)]),
    );
    const ours = (cpu['ingress'] ?? 0) + (cpu['transfer'] ?? 0);
    return {
      stage: name,
      points_per_second: Math.round(load.acknowledged / elapsed),
      cpu_seconds_per_million: perMillion(ours),
      acknowledged_per_second: Math.round(load.acknowledged / load.seconds),
      requests_per_second: Math.round(load.requests / load.seconds),
      stored: load.acknowledged,
      failed_requests: load.failed,
      p50_ms: load.p50Ms,
      p99_ms: load.p99Ms,
      cpu_ingress: perMillion(cpu['ingress'] ?? 0),
      cpu_transfer: perMillion(cpu['transfer'] ?? 0),
      cpu_nats: perMillion(cpu['nats'] ?? 0),
      cpu_questdb: perMillion(cpu['questdb'] ?? 0),
      cpu_generator: perMillion((own.user + own.system) / 1e6),
      rss_mib_ingress: residentMiB(pids['ingress'] ?? 0),
      rss_mib_transfer: residentMiB(pids['transfer'] ?? 0),
      rss_mib_nats: residentMiB(pids['nats'] ?? 0),
      rss_mib_questdb: residentMiB(pids['questdb'] ?? 0),
    };
  } finally {
    await stack.stop();
  }
};
