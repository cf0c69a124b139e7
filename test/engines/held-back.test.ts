import { afterAll, describe } from 'vitest';
import { sharedStack } from './held-back/stack.ts';

// What goes on beside what is held back, in rooms of one stack. The first looks at all that the roles have told; the second counts every
// row of its tables.
describe('dependencies that are away', async () => {
  await import('./held-back/dependencies-away.ts');
});
describe('tables of data points', async () => {
  await import('./held-back/metric-tables.ts');
});
describe('many days', async () => {
  await import('./held-back/many-days.ts');
});

afterAll(async () => (await sharedStack()).stop());
