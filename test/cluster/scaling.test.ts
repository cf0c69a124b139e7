import { expect, it, onTestFinished } from 'vitest';
import { type Books, cleanVerdict, judge, produce } from '../support/push/producer.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

const seed = 11;
const pointsEach = 200_000;
const drainMsMax = 300_000;

/** Fills METRICS without a consumer; returns the table and its owed points. */
const fill = async (stack: Stack, name: string): Promise<{ table: string; books: Books }> => {
  const report = await stack.createReport(name);
  const books = await produce(report, Date.now() - 60_000, {
    seed,
    connections: 8,
    pointsMax: 1_000,
    points: pointsEach,
    urls: [`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`],
  });
  expect(books.acknowledged.size).toBe(pointsEach);
  return { table: report.result_table.table_id, books };
};

/**
 * Starts this many transfer processes and waits until the stream is empty; on request one of them is killed half way.
 * Returns the seconds.
 */
const drain = async (stack: Stack, processes: number, hasKill: boolean): Promise<number> => {
  const before = (await stack.streamState('METRICS')).messages;
  const running = stack.transfer.slice(0, processes);
  const startedAt = performance.now();
  for (const transfer of running) transfer.start();
  if (hasKill) {
    const [, victim] = running;
    let left = before;
    await waitFor('half of the backlog is drained', drainMsMax, async () => {
      left = (await stack.streamState('METRICS')).messages;
      return left <= before / 2;
    });
    expect(left).toBeGreaterThan(0);
    await victim?.kill();
  }
  await stack.waitForEmptyStream('METRICS', drainMsMax);
  return (performance.now() - startedAt) / 1000;
};

it('1, then 3 transfer processes drain backlogs, one of them killed amid it, and then 1 again: exact counts each time', async () => {
  const stack = await startStack({ transfer: 3 });
  onTestFinished(() => stack.stop());
  const steps = [
    { name: 'alone', processes: 1, hasKill: false },
    { name: 'three', processes: 3, hasKill: false },
    { name: 'three, one killed', processes: 3, hasKill: true },
    { name: 'alone again', processes: 1, hasKill: false },
  ];
  for (const { name, processes, hasKill } of steps) {
    for (const transfer of stack.transfer) if (transfer.running) await transfer.stop();
    const { table, books } = await fill(stack, name);
    const seconds = await drain(stack, processes, hasKill);
    const rate = Math.round(pointsEach / seconds);
    process.stdout.write(
      `${processes} transfer ${hasKill ? '(one killed half way) ' : ''}drained ${pointsEach} points in ${seconds.toFixed(1)} s, its start included: ${rate} a second\n`,
    );
    await stack.waitForRows(table, pointsEach, drainMsMax);
    expect(await judge(stack, table, books, seed)).toEqual(cleanVerdict);
  }
});
