import { join } from 'node:path';
import { type FaultsOptions, FaultsUsageError, readFaultsOptions } from './options.ts';
import { keepRun, summaryOf, violationsOf } from './report.ts';
import { run } from './run.ts';

/**
 * `make faults SEED=… KILLS=… MINUTES=…`: the whole line under mixed load while its processes are killed, paused and
 * stopped, then a comparison of every item with its answer. The seed repeats the faults and the items. Exits with 1 on
 * a violation and with 2 when the time was up before all kills were done, or for an invalid argument.
 */
const optionsOrEnd = (): FaultsOptions => {
  try {
    return readFaultsOptions(process.argv.slice(2), process.env, 1 + (Date.now() % 1_000_000));
  } catch (error) {
    if (!(error instanceof FaultsUsageError)) throw error;
    process.stderr.write(`faults: ${error.message}\n`);
    process.exit(2);
  }
};

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const { seed, kills, minutes } = optionsOrEnd();
const isOdd = seed % 2 === 1;
const duplicateWindowSeconds = isOdd ? 120 : 300;
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());

say(`seed ${seed}, ${kills} kills, at most ${minutes} min, duplicate window ${duplicateWindowSeconds} s`);
const result = await run({
  seed,
  kills,
  isKillsAlone: true,
  killsPerRound: 25,
  gapMs: 2_000,
  sendersEach: 2,
  // Three in a row last longer than the duplicate window: in the third, inserts of spans run without the guard.
  calmRounds: isOdd ? [2, 3, 4] : [],
  isWarm: false,
  interrupt: interrupt.signal,
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
// What an interrupted round still waits for is not waited for.
if (interrupt.signal.aborted) process.exit();
