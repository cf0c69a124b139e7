import { parseArgs } from 'node:util';
import { type LineCase, measureLine } from './line.ts';
import { printRows } from './report.ts';
import { measureStages } from './stages.ts';

// `make bench ARGS="--seconds 60 --only line"`: stages are one core without engines, the line is everything on this machine.
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '10' }, only: { type: 'string', default: 'stages,line' } },
});
const parts = values.only.split(',');

const cases: LineCase[] = [
  { name: 'line, 1000 points a request', points: 1000, connections: 8 },
  { name: 'line, 1 point a request', points: 1, connections: 64 },
];

if (parts.includes('stages')) printRows('Stages, one core, 1000 points × 2 metrics a body', measureStages());
if (parts.includes('line')) {
  const rows = [];
  for (const each of cases) rows.push(await measureLine(each, Number(values.seconds)));
  printRows('Whole line: push to visible in QuestDB, generator and engines on the same machine', rows);
}
