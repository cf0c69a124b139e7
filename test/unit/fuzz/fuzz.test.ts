import { describe, expect, it } from 'vitest';
import { fuzz } from '../../fuzz/driver.ts';
import { dimensions, growthMax, measure } from '../../fuzz/linear.ts';
import { regressionsOf } from '../../fuzz/regressions.ts';
import type { Target } from '../../fuzz/target.ts';
import { targets } from '../../fuzz/targets.ts';

const seed = 20_261_121;
const cases = 10_000;

// For any input a decoder answers with its own errors, at once, and agrees with a second opinion. `make fuzz` runs more
// of the same.
describe.each(targets)('the decoder $target.name', { timeout: 120_000 }, ({ target, share }) => {
  it('handles malformed input as it must', async () => {
    const { findings, cases: done } = await fuzz(target, { seed, count: Math.ceil(cases * share) });
    expect(findings).toEqual([]);
    expect(done).toBe(Math.ceil(cases * share));
  });

  it('handles every earlier finding as it must', async () => {
    for (const { file, bytes } of regressionsOf(target)) {
      const outcome = await target.check(bytes);
      expect(outcome, file).not.toBe('');
    }
  });
});

describe('the fuzzing', () => {
  /** Takes everything for whole numbers of letters, but for one combination. */
  const broken: Target = {
    name: 'broken',
    corpus: () => [Buffer.from('good morning'), Buffer.from('good evening')],
    mutate: (random, valid) =>
      Buffer.from(valid.toString('latin1').replace('o', () => String.fromCharCode(100 + random(20)))),
    check: (bytes) => {
      if (bytes.includes('gm')) throw new TypeError('no such letter');
      return 'read';
    },
  };

  it('finds a fault of a decoder, once, and minimises it', async () => {
    const { findings, outcomes } = await fuzz(broken, { seed, count: 500 });
    expect(findings.map(({ bytes, why }) => [bytes.toString('latin1'), why])).toEqual([
      ['gm', 'TypeError: no such letter'],
    ]);
    expect(outcomes.get('read')).toBeGreaterThan(100);
  });

  it('tries the same cases for the same seed', async () => {
    const tried = async (): Promise<string[]> => {
      const all: string[] = [];
      await fuzz(broken, { seed: 7, count: 60, onCase: (_, bytes) => all.push(bytes.toString('latin1')) });
      return all;
    };
    expect(await tried()).toEqual(await tried());
  });
});

// A body that costs more a byte the larger it is would hold the event loop, and all other senders with it.
describe('the cost of a byte stays the same as an input grows:', { timeout: 60_000 }, () => {
  const some = [
    'push: one key again and again',
    'push: nesting',
    'otlp json: entries of one name',
    'otlp json: repeated names in one another',
    'otlp protobuf: names of spans',
    'logs json: scopes before their schema URLs',
    'native: rows',
  ];

  it.each(dimensions.filter(({ name }) => some.includes(name)))('$name', (dimension) => {
    expect(measure(dimension).growth).toBeLessThanOrEqual(growthMax);
  });
});
