import { afterAll, describe } from 'vitest';
import { sharedStack } from './settling/stack.ts';

// The two books and what they count, in rooms of one stack, whose hooks run with them. The first finds a line of every message that
// METRICS had; the last has ClickHouse killed.
describe('settled lines', async () => {
  await import('./settling/lines.ts');
});
describe('outcomes', async () => {
  await import('./settling/outcomes.ts');
});
describe('items as they were received', async () => {
  await import('./settling/received-items.ts');
});
describe('LEDGER', async () => {
  await import('./settling/ledger.ts');
});

afterAll(async () => (await sharedStack()).stop());
