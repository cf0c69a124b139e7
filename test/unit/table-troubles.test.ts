import { expect, it } from 'vitest';
import { scopeOfAnswer } from '../../src/stores/questdb/writer.ts';
import type { HeldMessage } from '../../src/transfer/held-message.ts';
import { createTableTroubles, type TableFailure } from '../../src/transfer/table-troubles.ts';
import { createWaitingMessages } from '../../src/transfer/waiting-messages.ts';
import { firstDelivery } from '../support/deliveries.ts';

const gone: TableFailure = { kind: 'missing', scope: 'table', why: 'the table is not there' };
const full: TableFailure = { kind: 'held', scope: 'store', why: 'suspended: DISK FULL' };
const unclear: TableFailure = { kind: 'unknown', scope: 'unclear', why: 'QuestDB answered 500' };

let nextSequence = 1;
const message = (sequence = nextSequence++): HeldMessage => ({
  delivery: { ...firstDelivery, streamSequence: sequence },
  envelope: {
    header: { version: 1, kind: 'metrics', arrivedAt: 0, parts: [], deferred: [], outcomes: [] },
    partBytes: [],
    deferredBytes: [],
  },
  rows: 1,
  bytes: 1,
  touchedAt: 0,
  takenAt: 1_000,
});

const troublesOf = () => {
  const clock = { now: 0 };
  const now = () => clock.now;
  const troubles = createTableTroubles({
    waitMs: 60_000,
    retryMs: 5_000,
    probeMs: 30_000,
    waitingMax: 10,
    waiting: createWaitingMessages(now),
    now,
    onWait: () => {},
    onSetAside: () => {},
    onBack: () => {},
    onCount: () => {},
  });
  /** Tries the tables every six seconds for so long; answers what became of the last try. */
  const failFor = (ms: number, failures: Readonly<Record<string, TableFailure>>): Record<string, string> => {
    let fates: Record<string, string> = {};
    for (const end = clock.now + ms; clock.now <= end; clock.now += 6_000)
      fates = Object.fromEntries(
        Object.entries(failures).map(([table, why]) => [table, troubles.failed(table, why)]),
      );
    return fates;
  };
  /** So many new messages wait for a table. */
  const wait = (table: string, messages: number): string[] => {
    const batch = Array.from({ length: messages }, () => message());
    return [...troubles.settle(batch, new Map(batch.map((each) => [each, [table]])))];
  };
  return { troubles, clock, failFor, wait };
};

it('a table that is named in its failure is set aside after its time, also when no other is written', () => {
  const { failFor } = troublesOf();
  expect(failFor(54_000, { a: gone })).toEqual({ a: 'wait' });
  expect(failFor(6_000, { a: gone })).toEqual({ a: 'set_aside' });
});

it('nothing is set aside for a failure that names no table, however long and for however many messages', () => {
  const { failFor, wait, troubles } = troublesOf();
  expect(failFor(600_000, { a: unclear, b: full })).toEqual({ a: 'wait', b: 'wait' });
  expect(wait('a', 20)).toEqual([]);
  expect(wait('b', 20)).toEqual([]);
  // That another takes rows shows that the server lives; a disk that is full it does not make any larger.
  troubles.stored(['c']);
  expect(wait('a', 1)).toEqual(['a']);
  expect(wait('b', 1)).toEqual([]);
});

it('nothing is set aside while three tables were written in the last minute and more than half fail alike', () => {
  const { failFor, troubles, wait, clock } = troublesOf();
  expect(failFor(54_000, { a: gone, b: gone })).toEqual({ a: 'wait', b: 'wait' });
  troubles.stored(['c']);
  expect(failFor(54_000, { a: gone, b: gone })).toEqual({ a: 'wait', b: 'wait' });
  expect(wait('a', 20)).toEqual([]);
  // Only two of them are left that were written in the last minute.
  clock.now += 6_000;
  expect(failFor(0, { a: gone, b: gone })).toEqual({ a: 'set_aside', b: 'set_aside' });
  troubles.stored(['c']);
  expect(troubles.plan('a')).toBe('wait');
  troubles.stored(['d']);
  expect(troubles.plan('a')).toBe('set_aside');
});

it('a table that QuestDB cannot change any more is set aside at once, however many are like it', () => {
  const { troubles } = troublesOf();
  for (const table of ['a', 'b', 'c']) expect(troubles.broken(table, 'damaged')).toBe('set_aside');
  expect(troubles.plan('a')).toBe('set_aside');
});

it('the tables that most messages wait for are set aside at once when too many wait, and no more of them than needed', () => {
  const { troubles, wait } = troublesOf();
  for (const table of ['a', 'b']) troubles.failed(table, gone);
  expect(wait('a', 3)).toEqual([]);
  expect(wait('b', 6)).toEqual([]);
  expect(wait('a', 1)).toEqual(['b']);
  expect([troubles.plan('a'), troubles.plan('b')]).toEqual(['wait', 'set_aside']);
});

it('a table that is only late is set aside when too many messages wait, and not before its time', () => {
  const { troubles, wait, clock } = troublesOf();
  troubles.late('a', 'behind');
  expect(wait('a', 20)).toEqual([]);
  clock.now = 59_000;
  troubles.late('a', 'behind');
  expect(wait('a', 1)).toEqual([]);
  clock.now = 60_000;
  expect(wait('a', 1)).toEqual(['a']);
});

it('a message that comes again is counted once, and no more once it is settled or its table takes rows', () => {
  const { troubles, clock } = troublesOf();
  troubles.failed('a', gone);
  const [first, second] = [message(), message()];
  const waits = new Map([first, second].map((each) => [each, ['a']] as const));
  for (let tries = 0; tries < 20; tries++) troubles.settle([first, second], waits);
  clock.now += 4_000;
  expect(troubles.failing()).toMatchObject([{ table: 'a', messages: 2, oldestMs: 5_000, isSetAside: false }]);
  troubles.settle([first], new Map());
  expect(troubles.failing()).toMatchObject([{ messages: 1 }]);
  // Another process settled it.
  clock.now += 61_000;
  expect(troubles.failing()).toEqual([]);
  troubles.failed('a', gone);
  troubles.settle([second], waits);
  troubles.stored(['a']);
  expect(troubles.failing()).toEqual([]);
});

it('the time that the store was away does not count as the time that a table fails', () => {
  const { troubles, failFor, clock } = troublesOf();
  expect(failFor(54_000, { a: gone })).toEqual({ a: 'wait' });
  troubles.storeFailed();
  expect(failFor(54_000, { a: gone })).toEqual({ a: 'wait' });
  clock.now += 6_000;
  expect(troubles.failed('a', gone)).toBe('set_aside');
});

it('a table that is set aside is tried as soon as QuestDB lists it again', () => {
  const { troubles, failFor } = troublesOf();
  failFor(66_000, { a: gone });
  expect(troubles.plan('a')).toBe('set_aside');
  troubles.seenWell(new Set(['a']));
  expect([troubles.plan('a'), troubles.plan('a')]).toEqual(['write', 'set_aside']);
});

it.each([
  ['QuestDB answered 500: could not append [errno=28, file=x.d]', 'store'],
  ['QuestDB answered 500: commit error for table: 2_a, errno: 28, error: no', 'store'],
  ['QuestDB answered 500: [24] could not open', 'store'],
  ['QuestDB answered 500: commit error for table: 2_a, errno: 2, error: no such file', 'table'],
  ['QuestDB answered 500: internal error', 'unclear'],
])('an unknown answer speaks of the machine, of the table, or does not say: %s', (text, scope) => {
  expect(scopeOfAnswer(new Error(text), '2_a')).toBe(scope);
});
