import { afterAll, describe } from 'vitest';
import { sharedStack } from './transfer/stack.ts';

// Points without ClickHouse, in rooms of one stack, whose hooks run with them.
describe('messages', async () => {
  await import('./transfer/messages.ts');
});
describe('purges', async () => {
  await import('./transfer/purge.ts');
});
describe('ingress of several processes', async () => {
  await import('./transfer/ingress-processes.ts');
});

afterAll(async () => (await sharedStack()).stop());
