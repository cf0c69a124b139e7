import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createElapsed } from '../../../src/model/elapsed.ts';
import { always } from '../../support/properties.ts';

const hour = 3_600_000;

const clocks = () => {
  const at = { wall: 1_780_000_000_000, steady: 5_000 };
  const elapsed = createElapsed(
    () => at.wall,
    () => at.steady,
  );
  const start = elapsed();
  return {
    pass: (ms: number) => {
      at.wall += ms;
      at.steady += ms;
    },
    setWall: (by: number) => {
      at.wall += by;
    },
    passed: () => elapsed() - start,
  };
};

// If the age of a message stops, its ack wait is never extended, and it is written long after another worker got it.
it('time continues at its pace when the wall clock is set back', () => {
  const { pass, setWall, passed } = clocks();
  pass(1_000);
  expect(passed()).toBe(1_000);
  setWall(-hour);
  expect(passed()).toBe(1_000);
  pass(20_000);
  expect(passed()).toBe(21_000);
});

it('the time that a machine slept counts, also after its wall clock was set back', () => {
  const { pass, setWall, passed } = clocks();
  pass(500);
  setWall(-hour);
  expect(passed()).toBe(500);
  setWall(60_000);
  expect(passed()).toBe(60_500);
  pass(10);
  setWall(40_000);
  expect(passed()).toBe(100_510);
});

it('with any change of the wall clock, it never goes back and is never slower than the steady one', () => {
  const step = fc.oneof(
    fc.record({ pass: fc.nat(5_000) }),
    fc.record({ setWall: fc.integer({ min: -2 * hour, max: 2 * hour }) }),
  );
  always(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { pass, setWall, passed } = clocks();
      let before = 0;
      let steady = 0;
      for (const each of steps) {
        if ('pass' in each) {
          pass(each.pass);
          steady += each.pass;
        } else setWall(each.setWall);
        const now = passed();
        expect(now).toBeGreaterThanOrEqual(Math.max(before, steady));
        before = now;
      }
    }),
  );
});

it('clocks that only differ by their resolution do not run ahead', () => {
  let steady = 0;
  const elapsed = createElapsed(
    () => Math.floor(steady),
    () => steady,
  );
  for (let reads = 0; reads < 10_000; reads++) {
    steady += 0.3;
    elapsed();
  }
  expect(elapsed()).toBeLessThan(steady + 2);
});
