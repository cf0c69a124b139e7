import { join } from 'node:path';
import { keepRun, summaryOf, violationsOf } from './report.ts';
import { run } from './run.ts';

/**
 * `make faults SEED=… KILLS=… MINUTES=…`: the whole line under mixed load while its processes are killed, paused and
 * stopped, then every item held against what was answered. The seed repeats the faults and the items. Exits with 1 on a
 * violation and with 2 when the time was up before all kills were done.
 */
const numberOf = (name: string, fallback: number): number => {
  const text = process.env[name] ?? '';
  if (text === '') return fallback;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`${name} has to be a whole number, not ${text}`);
  return value;
};

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const seed = numberOf('SEED', 1 + (Date.now() % 1_000_000));
const kills = numberOf('KILLS', 200);
const minutes = numberOf('MINUTES', 40);
// With the shorter one, messages go past the guard in a quiet stretch.
const duplicateWindowSeconds = numberOf('WINDOW', seed % 2 === 0 ? 300 : 120);

say(`seed ${seed}, ${kills} kills, at most ${minutes} min, duplicate window ${duplicateWindowSeconds} s`);
const result = await run({
  seed,
  kills,
  killsPerRound: 25,
  gapMs: 2_000,
  sendersEach: 2,
  duplicateWindowSeconds,
  hasOutcomes: true,
  msMax: minutes * 60_000,
  say,
});
for (const line of summaryOf(result)) say(line);
const violations = violationsOf(result);
for (const line of violations) say(line);
if (violations.length > 0) {
  const folder = join('.faults', String(seed));
  keepRun(result, folder);
  say(`the logs of all processes are in ${folder}; SEED=${seed} repeats the faults`);
  process.exitCode = 1;
} else if (!result.isWhole) process.exitCode = 2;
