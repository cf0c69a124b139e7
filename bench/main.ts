import { parseArgs } from 'node:util';
import { measureHostile } from './hostile.ts';
import { measurePush, measureSpans } from './line.ts';
import { printRows } from './report.ts';
import { measureSpanStages } from './spans-stages.ts';
import { measureStages } from './stages.ts';
import { measureTimes } from './times.ts';

// `make bench ARGS="--seconds 60 --only push"`: stages are one core without engines; push and spans are everything on this machine.
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    only: { type: 'string', default: 'times,stages,push,spans' },
    durability: { type: 'string', default: 'process' },
  },
});
const parts = values.only.split(',');
const seconds = Number(values.seconds);
const durability = values.durability === 'power' ? 'power' : 'process';
const options = { seconds, repeats: 1, durability } as const;

if (parts.includes('times')) {
  process.stdout.write('Times that are promised\n');
  for (const time of await measureTimes()) {
    process.stdout.write(
      `  ${time.what.padEnd(44)} ${time.milliseconds} ms (promised ${time.promised_milliseconds} ms)\n`,
    );
    process.stdout.write(`${JSON.stringify(time)}\n`);
  }
}
if (parts.includes('stages')) {
  printRows('Stages of a push, one core, 1000 points × 2 metrics a body', 'points', measureStages());
  printRows('Stages of an export, one core, 100 spans × 10 attributes a body', 'spans', measureSpanStages());
}
if (parts.includes('push')) {
  printRows('Push to visible in QuestDB, generator and engines on the same machine', 'points', [
    await measurePush('1000 points a request', 1000, 8, options),
    await measurePush('1 point a request', 1, 64, options),
  ]);
}
if (parts.includes('spans')) {
  printRows('Export to visible in ClickHouse, generator and engines on the same machine', 'spans', [
    await measureSpans('100 spans a request, protobuf', 'protobuf', 100, 8, false, options),
    await measureSpans('100 spans a request, JSON', 'json', 100, 8, false, options),
  ]);
}
if (parts.includes('hostile')) {
  process.stdout.write('A producer of 10 points a request over 4 connections, beside hostile clients\n');
  for (const row of await measureHostile(2000, seconds)) process.stdout.write(`${JSON.stringify(row)}\n`);
}
