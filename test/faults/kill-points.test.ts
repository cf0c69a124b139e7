import { afterAll, describe } from 'vitest';
import { sharedStack } from './kill-points/stack.ts';

// Kills at each instant, in rooms of one stack, whose hooks run with them. The tables of a fresh stack are counted first.
describe('kills while something is made or brought back', async () => {
  await import('./kill-points/creation.ts');
});
describe('kills of ingress and NATS', async () => {
  await import('./kill-points/ingress.ts');
});
describe('kills of the databases', async () => {
  await import('./kill-points/stores.ts');
});
describe('kills beside the record of outcomes', async () => {
  await import('./kill-points/outcomes.ts');
});
describe('repeats', async () => {
  await import('./kill-points/repeats.ts');
});

afterAll(async () => (await sharedStack()).stop());
