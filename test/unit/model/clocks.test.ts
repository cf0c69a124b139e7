import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const src = resolve(import.meta.dirname, '../../../src');

/** Where the bus, the receivers and transfer read the wall clock, and what they want of it: a time of day, and never an age. */
const readings: Readonly<Record<string, readonly [times: number, what: string]>> = {
  'bus/kept-bucket.ts': [1, 'when a bucket began to be filled, for people'],
  'bus/pulse-publisher.ts': [2, 'when the process began, for people, and its clock, to be compared'],
  'ingress/ingress.ts': [2, 'when tokens end, epochs'],
  'ingress/receivers.ts': [3, 'arrivals, when names were first seen'],
  'ingress/rates/exchange.ts': [2, 'the clock of the limiter, to which a step back is no time'],
  'transfer/batch-traces.ts': [1, 'when a span began'],
  'transfer/blocks/late-looks.ts': [1, 'the minute whose looks share a key, the same for all processes'],
  'transfer/blocks/owed-merges.ts': [1, 'when it was written down, for people'],
  'transfer/transfer.ts': [1, 'epochs'],
};

// An age by the wall clock is wrong by every correction of an operator or NTP: an hour too short or too long.
it('the wall clock is read for times of day alone', () => {
  const found: Record<string, number> = {};
  for (const folder of ['bus', 'ingress', 'transfer']) {
    for (const file of readdirSync(join(src, folder), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      const code = readFileSync(join(src, folder, file), 'utf8').replace(/\/\*\*[\s\S]*?\*\//g, '');
      const times = code.match(/\bDate\.now\b|new Date\(\)/g)?.length ?? 0;
      if (times > 0) found[`${folder}/${file}`] = times;
    }
  }
  expect(found).toEqual(Object.fromEntries(Object.entries(readings).map(([file, [times]]) => [file, times])));
});
