import { expect, it } from 'vitest';
import { memoryLimitBytes, memorySharersName } from '../../../src/telemetry/memory-limit.ts';

// Four processes at a quarter of the container are killed while each is far below the whole.
it.each<[string, number, string | undefined, number]>([
  ['the limit of its container', 400, undefined, 400],
  ["without one the machine's", 0, undefined, 1_000],
  ["with one above the machine's", 2_000, undefined, 1_000],
  ['of several processes its share', 400, '4', 100],
])('a process may use %s', (_, container, sharers, bytes) => {
  const env = { [memorySharersName]: sharers };
  expect(memoryLimitBytes({ machine: 1_000, container, env })).toBe(bytes);
});
