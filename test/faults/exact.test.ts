import { afterAll, describe } from 'vitest';
import { sharedStack } from './exact/stack.ts';

// Rooms of one stack; the last has NATS stopped.
describe('spans', async () => {
  await import('./exact/spans.ts');
});
describe('points', async () => {
  await import('./exact/points.ts');
});

afterAll(async () => (await sharedStack()).stop());
