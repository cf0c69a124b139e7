import { afterAll, beforeAll, it } from 'vitest';
import { holdTableBacklog } from '../support/push/table-backlog.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

// Ten times what the consumer delivers without an acknowledgement: nothing of it may stand between a table and its points.
it('43,000 messages for a missing table delay no other table, and none of them is lost', async () => {
  await holdTableBacklog(stack, { dataId: 2_900_000, messages: 43_000, boundMs: 240_000 });
});
