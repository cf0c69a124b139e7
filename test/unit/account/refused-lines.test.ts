import { expect, it } from 'vitest';
import { createRefusedLines } from '../../../src/account/refused-lines.ts';
import type { StoredMessage } from '../../../src/bus/stream-reader.ts';
import { ledgerTables } from '../../../src/outcomes/rows.ts';
import { encodeFrame } from '../../../src/wire/frame.ts';

const letterOf = (sequence: number, table: string): StoredMessage => ({
  ...{ sequence, subject: 'deadletter.ledger', time: 1, headers: new Map() },
  payload: encodeFrame(
    {
      ...{
        version: 1,
        reason: 'ledger_line_refused',
        error: 'refused',
        stream: 'LEDGER',
        streamSequence: sequence,
      },
      ...{ subject: 'ledger.lines', table, at: 1 },
    },
    [],
  ),
});

/** DEADLETTER with these letters; notes the sequences from which pages were read. */
const streamOf = (letters: StoredMessage[]) => {
  const state = { letters, created: 'first', last: letters.at(-1)?.sequence ?? 0, reads: [] as number[] };
  const hasRefused = createRefusedLines({
    readEnd: async () => ({ created: state.created, last: state.last }),
    reader: {
      readForwards: async (_stream, { fromSequence = 1, limit }) => {
        state.reads.push(fromSequence);
        const left = state.letters.filter(({ sequence }) => sequence >= fromSequence);
        return { entries: left.slice(0, limit), next: left[limit]?.sequence };
      },
    },
  });
  return { state, hasRefused };
};

const others = (count: number): StoredMessage[] =>
  Array.from({ length: count }, (_, index) => letterOf(index + 1, ledgerTables.outcomes));

// Else the account would be said to be known while a line of a book is missing.
it('a refused line of the books is found behind thousands of other refused lines', async () => {
  const { state, hasRefused } = streamOf([...others(1_000), letterOf(1_001, ledgerTables.settled)]);
  expect([await hasRefused(), await hasRefused()]).toEqual([true, true]);
  expect(state.reads).toEqual([1, 257, 513, 769, 1_001]);
  // A redrive takes it away.
  state.letters.pop();
  expect(await hasRefused()).toBe(false);
});

it('of dead letters that were read, those that came since are read, and all of another stream', async () => {
  const { state, hasRefused } = streamOf(others(300));
  expect([await hasRefused(), await hasRefused()]).toEqual([false, false]);
  expect(state.reads).toEqual([1, 257, 301]);
  state.letters.push(letterOf(301, ledgerTables.published));
  expect(await hasRefused()).toBe(true);
  state.letters = [letterOf(1, ledgerTables.doubtful)];
  state.created = 'second';
  expect(await hasRefused()).toBe(true);
});

it('of a stream that went back, as an older copy of it does, all are read', async () => {
  const { state, hasRefused } = streamOf(others(3));
  expect(await hasRefused()).toBe(false);
  state.letters = [letterOf(1, ledgerTables.outcomes), letterOf(2, ledgerTables.settled)];
  state.last = 2;
  expect(await hasRefused()).toBe(true);
});

it('more dead letters than one look reads make the account not known until all are read', async () => {
  const { hasRefused } = streamOf([...others(12_000), letterOf(12_001, ledgerTables.settled)]);
  await expect(hasRefused()).rejects.toThrow('more than 10240 dead letters');
  expect(await hasRefused()).toBe(true);
});
