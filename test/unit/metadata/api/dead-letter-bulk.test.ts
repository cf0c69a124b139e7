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
  beginChecks: unused,
  ...{ list: unused, get: unused, redrive: unused, checkRedrive: unused, purge: unused, checkPurge: unused },
  last: async () => letters.length,
  listUpwards: async () => ({ letters, next: undefined }),
};
const request: BulkRequest = { all: true, limit: 10, operator: undefined };

/** What a call notes for its audit entry, and how it ends, whose caller leaves behind the act on one of the letters (0: before the first). */
const actedOn = async (leavesBehind: number | undefined) => {
  const caller = new AbortController();
  const noted: unknown[] = [];
  if (leavesBehind === 0) caller.abort();
  const act = async ({ sequence }: Letter): Promise<void> => {
    if (sequence === leavesBehind) caller.abort();
  };
  const ended = await doShown(
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
    { note: ({ id }) => void noted.push(id), signal: () => caller.signal },
  ).then(
    ({ body }) => body.done,
    (error: unknown) => error,
  );
  return { noted, ended };
};

// A command that was stopped must not go on for hours where nobody sees it, and its audit entry must not read as if it were complete.
it('a call on many dead letters ends with the connection of its caller, behind the letter that it is at, and says so to its audit', async () => {
  expect(await actedOn(undefined)).toEqual({ noted: ['1', '2', '3'], ended: 3 });
  const gone = { kind: 'permanent', code: 'caller_gone' };
  expect(await actedOn(2)).toMatchObject({
    noted: ['1', '2'],
    ended: { ...gone, message: 'the caller went away: 2 of 3 dead letters done' },
  });
  // A permanent Fault without a note leaves no entry.
  expect(await actedOn(0)).toMatchObject({ noted: [], ended: gone });
});
