import { expect, it } from 'vitest';
import type { DeadLetterAdmin } from '../../../../src/dead-letters/admin.ts';
import type { Letter } from '../../../../src/dead-letters/dead-letter.ts';
import { type BulkRequest, doShown } from '../../../../src/metadata/api/dead-letter-bulk.ts';
import { createActs } from '../../../../src/metadata/pulse/acts.ts';

const letters = [1, 2, 3].map(
  (sequence): Letter => ({
    ...{ sequence, at: 1, keptAt: 1, identity: `${sequence}`, bytes: Buffer.alloc(0) },
    header: {
      ...{ version: 1, reason: 'row_refused', error: '', stream: 'METRICS', streamSequence: sequence },
      ...{ subject: 'metrics.0', redrive: 0, at: 1 },
    },
  }),
);

const unused = (): never => {
  throw new Error('not a part of this test');
};
const admin: DeadLetterAdmin = {
  ...{ list: unused, get: unused, redrive: unused, checkRedrive: unused, purge: unused, checkPurge: unused },
  last: async () => letters.length,
  listUpwards: async () => ({ letters, next: undefined }),
};
const request: BulkRequest = { all: true, limit: 10, operator: undefined };

/** The sequences on which a call acts, whose caller leaves behind the act on one of them. */
const actedOn = async (leavesBehind: number | undefined): Promise<number[]> => {
  const caller = new AbortController();
  const done: number[] = [];
  const act = async ({ sequence }: Letter): Promise<void> => {
    done.push(sequence);
    if (sequence === leavesBehind) caller.abort();
  };
  await doShown(
    {
      deadLetters: admin,
      pulse: {
        acts: createActs(
          () => 0,
          () => 0,
        ),
      },
    },
    request,
    { name: 'redrive', act, check: unused },
    { note: () => undefined, signal: () => caller.signal },
  );
  return done;
};

// A command that was stopped must not go on for hours where nobody sees it.
it('a call on many dead letters ends with the connection of its caller, behind the letter that it is at', async () => {
  expect(await actedOn(undefined)).toEqual([1, 2, 3]);
  expect(await actedOn(2)).toEqual([1, 2]);
});
