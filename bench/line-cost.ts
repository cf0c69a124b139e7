import type { Stack } from '../test/support/stack/stack.ts';
import { sendPaced } from './latency.ts';
import { lineRow, withStack } from './line.ts';
import { type PointLoad, usualPoints } from './point-loads.ts';
import { startUsage } from './processes.ts';
import { type MeasureOptions, measureRate, type Subject, untilVisible } from './rate.ts';
import type { Row } from './report.ts';
import { rounded } from './statistics.ts';
import { pushSubject } from './subjects.ts';

const pacedPerSecond = 250;
const pacedConnections = 16;
const pacedStage = `cost, ${pacedPerSecond} single points a second`;
/** A young process compiles its code, metadata makes its first looks, and LEDGER is written less often after half a minute. */
const warmSeconds = { paced: 60, full: 5 };

/** With metadata, whose looks belong to the cost of the account. */
export const withMetadata = (subject: Subject, stack: Stack): Subject => ({
  ...subject,
  processes: () => ({ ...subject.processes(), metadata: stack.metadata.pid }),
});

/** CPU seconds of every process of the line, of both stores and of NATS for a million items, by process and in all. */
export const costRow = (
  stage: string,
  items: number,
  seconds: number,
  cpu: Readonly<Record<string, number>>,
): Row => {
  const perMillion = (used: number): number => rounded((used / items) * 1e6, 4);
  const all = Object.values(cpu).reduce((sum, used) => sum + used, 0);
  return {
    stage,
    items_per_second: Math.round(items / seconds),
    cpu_seconds_per_million: perMillion((cpu['ingress'] ?? 0) + (cpu['transfer'] ?? 0)),
    cpu_line: perMillion(all),
    ...Object.fromEntries(Object.entries(cpu).map(([role, used]) => [`cpu_${role}`, perMillion(used)])),
  };
};

const measureFull = async (stage: string, subject: Subject, seconds: number): Promise<Row> => {
  const rate = await measureRate(subject, seconds, warmSeconds.full);
  return { ...lineRow(stage, [rate]), ...costRow(stage, rate.acknowledged, seconds, rate.usage.cpu) };
};

const measurePaced = async (subject: Subject, seconds: number): Promise<Row> => {
  const { visible } = subject;
  if (visible === undefined) throw new Error('a line shows what it stores');
  await sendPaced(subject.load(), pacedPerSecond, warmSeconds.paced);
  const before = await visible();
  const usageSince = startUsage(subject.processes());
  const { latencies, failed } = await sendPaced(subject.load(), pacedPerSecond, seconds);
  if (failed > 0) throw new Error(`${failed} requests failed`);
  await untilVisible(visible, before + latencies.length);
  return costRow(pacedStage, latencies.length, seconds, usageSince().cpu);
};

/**
 * What the whole line costs, every process counted: for single points at a rate at which what runs by the clock shows and at full load,
 * and at full load of the usual requests. Only rows whose name has `wanted`.
 */
export const measureCost = (options: MeasureOptions, wanted = ''): Promise<Row[]> =>
  withStack(options, async (stack) => {
    const subjectOf = async (name: string, load: PointLoad): Promise<Subject> =>
      withMetadata(await pushSubject(stack, name, load), stack);
    const single = { ...usualPoints, points: 1 };
    const { seconds } = options;
    const paced = { ...single, connections: pacedConnections };
    const full = { ...single, connections: 64 };
    const measured: readonly (readonly [string, (stage: string) => Promise<Row>])[] = [
      [pacedStage, async () => measurePaced(await subjectOf('paced', paced), seconds)],
      [
        'cost, full load of single points',
        async (stage) => measureFull(stage, await subjectOf('full', full), seconds),
      ],
      [
        'cost, full load of 1000 points a request',
        async (stage) => measureFull(stage, await subjectOf('usual', usualPoints), seconds),
      ],
    ];
    const rows: Row[] = [];
    for (const [stage, measure] of measured) if (stage.includes(wanted)) rows.push(await measure(stage));
    return rows;
  });
