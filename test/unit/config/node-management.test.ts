import { expect, it } from 'vitest';
import { requireTimeout } from '../../../src/config/node-management.ts';

it.each([1, 10_000, 2_147_483_647])('a call of node management may take %d ms', (timeoutMs) => {
  expect(() => requireTimeout(timeoutMs)).not.toThrow();
});

// A timer of 3,000,000,000 ms fires at once.
it.each([-1, 0, 2_147_483_648, 3_000_000_000])(
  'a timeout that no timer has is refused with both bounds: %d ms',
  (timeoutMs) => {
    expect(() => requireTimeout(timeoutMs)).toThrow(
      `TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS: the value ${timeoutMs} is not a timeout. Set milliseconds, from 1 to 2147483647`,
    );
  },
);
