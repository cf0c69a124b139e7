import { expect, it } from 'vitest';
import type { Unapplied } from '../../../../src/stores/questdb/applied.ts';
import { answerFault, scopeOfAnswer } from '../../../../src/stores/questdb/writer.ts';
import type { HeldMessage } from '../../../../src/transfer/held-message.ts';
import type { TableVerdict } from '../../../../src/transfer/points/known-tables.ts';
import { createTableHealth } from '../../../../src/transfer/points/table-health.ts';
import type { Observation } from '../../../../src/transfer/points/table-observations.ts';
import { createWaitingMessages } from '../../../../src/transfer/points/waiting-messages.ts';
import { firstDelivery } from '../../../support/outcomes/deliveries.ts';

const gone: Observation = { state: 'missing', scope: 'table', why: 'the table does not exist' };
const full: Observation = { state: 'suspended', scope: 'store', why: 'suspended: DISK FULL' };
const unclear: Observation = { state: 'failing', scope: 'unclear', why: 'QuestDB answered 500' };
const behind: Observation = { state: 'late', scope: 'table', why: 'behind' };
const damaged: Observation = { state: 'broken', scope: 'table', why: 'damaged' };
const allApplied: Unapplied = { late: new Map(), held: new Map(), broken: new Map() };

let nextSequence = 1;
const messageOf = (table: string): HeldMessage => ({
  delivery: { ...firstDelivery, streamSequence: nextSequence++ },
  envelope: {
    header: {
      version: 1,
      kind: 'metrics',
      arrivedAt: 0,
      parts: [
        {
          dataId: 1,
          table,
          layout: 'wide',
          rows: 1,
          points: 1,
          base: '1',
          first: 0,
          last: 0,
          timeMin: 0,
          timeMax: 0,
          bytes: 0,
        },
      ],
      deferred: [],
      outcomes: [],
    },
    partBytes: [],
    deferredBytes: [],
  },
  rows: 1,
  bytes: 1,
  touchedAt: 0,
  takenAt: 1_000,
});

type Seen = Readonly<Record<string, Observation>>;

const healthOf = (unshown: Unapplied = allApplied) => {
  const clock = { now: 0 };
  const now = () => clock.now;
  const broken: string[] = [];
  const health = createTableHealth({
    applied: { unapplied: async () => unshown, stillUnapplied: async () => allApplied },
    watch: { observed: () => undefined, noteBroken: (table) => broken.push(table) },
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
  /** A write of these messages in which these tables were observed, took their rows, or were not tried. */
  const report = async (
    seen: Seen,
    {
      stored = [],
      batch = [],
      verdicts = {},
    }: {
      stored?: readonly string[];
      batch?: readonly HeldMessage[];
      verdicts?: Readonly<Record<string, TableVerdict>>;
    } = {},
  ): Promise<Record<string, TableVerdict>> => {
    const plan = {
      together: new Set<string>(),
      apart: [],
      observed: new Map(Object.entries(seen)),
      verdicts: new Map(Object.entries(verdicts)),
    };
    const tried = {
      refused: [],
      storedTables: new Set(stored),
      missingTables: new Set<string>(),
      brokenTables: new Map(),
      failing: new Map(),
    };
    return Object.fromEntries((await health.report(plan, tried, batch, new Set())).verdicts);
  };
  const stored = (table: string) => report({}, { stored: [table] });
  /** Tries the tables every six seconds for so long; answers what became of the last try. */
  const failFor = async (ms: number, seen: Seen): Promise<Record<string, TableVerdict>> => {
    let verdicts: Record<string, TableVerdict> = {};
    for (const end = clock.now + ms; clock.now <= end; clock.now += 6_000) verdicts = await report(seen);
    return verdicts;
  };
  /** Makes this many new messages wait for a table; returns the tables that become unavailable. */
  const wait = async (table: string, messages: number): Promise<string[]> => {
    const batch = Array.from({ length: messages }, () => messageOf(table));
    const verdicts = await report({}, { batch, verdicts: { [table]: 'wait' } });
    return Object.entries(verdicts).flatMap(([name, verdict]) => (verdict === 'dead_letter' ? [name] : []));
  };
  /** What the next batch does with the table. */
  const nextOf = async (table: string): Promise<string> =>
    (await health.plan([table])).verdicts.get(table) ?? 'write';
  return { health, clock, broken, report, stored, failFor, wait, nextOf };
};

it('a table that is named in its failure is unavailable after its time, also when no other is written', async () => {
  const { failFor } = healthOf();
  expect(await failFor(54_000, { a: gone })).toEqual({ a: 'wait' });
  expect(await failFor(6_000, { a: gone })).toEqual({ a: 'dead_letter' });
});

it('no table is unavailable for a failure that names none, however long and for however many messages', async () => {
  const { stored, failFor, wait } = healthOf();
  expect(await failFor(600_000, { a: unclear, b: full })).toEqual({ a: 'wait', b: 'wait' });
  expect(await wait('a', 20)).toEqual([]);
  expect(await wait('b', 20)).toEqual([]);
  // That another takes rows shows that the server lives; a disk that is full it does not make any larger.
  await stored('c');
  expect(await wait('a', 1)).toEqual(['a']);
  expect(await wait('b', 1)).toEqual([]);
});

it('no table is unavailable while three tables were written in the last minute and more than half fail alike', async () => {
  const { clock, stored, failFor, wait, nextOf } = healthOf();
  expect(await failFor(54_000, { a: gone, b: gone })).toEqual({ a: 'wait', b: 'wait' });
  await stored('c');
  expect(await failFor(54_000, { a: gone, b: gone })).toEqual({ a: 'wait', b: 'wait' });
  expect(await wait('a', 20)).toEqual([]);
  // Only two of them are left that were written in the last minute.
  clock.now += 6_000;
  expect(await failFor(0, { a: gone, b: gone })).toEqual({ a: 'dead_letter', b: 'dead_letter' });
  await stored('c');
  expect(await nextOf('a')).toBe('wait');
  await stored('d');
  expect(await nextOf('a')).toBe('dead_letter');
});

it('a table that QuestDB cannot change any more is unavailable at once, however many are like it', async () => {
  const { broken, report, nextOf } = healthOf();
  expect(await report({ a: damaged, b: damaged, c: damaged })).toEqual({
    a: 'dead_letter',
    b: 'dead_letter',
    c: 'dead_letter',
  });
  expect(broken).toEqual([]);
  expect(await nextOf('a')).toBe('dead_letter');
});

it('the tables that most messages wait for are unavailable at once when too many wait, and no more of them than needed', async () => {
  const { report, wait, nextOf } = healthOf();
  await report({ a: gone, b: gone });
  expect(await wait('a', 3)).toEqual([]);
  expect(await wait('b', 6)).toEqual([]);
  expect(await wait('a', 1)).toEqual(['b']);
  expect([await nextOf('a'), await nextOf('b')]).toEqual(['wait', 'dead_letter']);
});

it('a table that is only late is unavailable when too many messages wait, and not before its time', async () => {
  const { clock, report, wait } = healthOf();
  await report({ a: behind });
  expect(await wait('a', 20)).toEqual([]);
  clock.now = 59_000;
  await report({ a: behind });
  expect(await wait('a', 1)).toEqual([]);
  clock.now = 60_000;
  expect(await wait('a', 1)).toEqual(['a']);
});

it('a message that comes again is counted once, and no more once it is settled or its table takes rows', async () => {
  const { health, clock, report, stored } = healthOf();
  await report({ a: gone });
  const [first, second] = [messageOf('a'), messageOf('a')];
  for (let tries = 0; tries < 20; tries++)
    await report({}, { batch: [first, second], verdicts: { a: 'wait' } });
  clock.now += 4_000;
  expect(health.failing()).toMatchObject([
    { table: 'a', messages: 2, oldestMs: 5_000, isUnavailable: false },
  ]);
  await report({}, { batch: [first], verdicts: { a: 'stored' } });
  expect(health.failing()).toMatchObject([{ messages: 1 }]);
  // Another process settled it.
  clock.now += 61_000;
  expect(health.failing()).toEqual([]);
  await report({ a: gone });
  await report({}, { batch: [second], verdicts: { a: 'wait' } });
  await stored('a');
  expect(health.failing()).toEqual([]);
});

it('the time that the store was away does not count as the time that a table fails', async () => {
  const { health, clock, report, failFor } = healthOf();
  expect(await failFor(54_000, { a: gone })).toEqual({ a: 'wait' });
  health.storeFailed();
  expect(await failFor(54_000, { a: gone })).toEqual({ a: 'wait' });
  clock.now += 6_000;
  expect(await report({ a: gone })).toEqual({ a: 'dead_letter' });
});

it('of what is observed of a table the gravest counts, wherever it was observed', async () => {
  const { health, broken } = healthOf({ ...allApplied, broken: new Map([['a', 'damaged']]) });
  const plan = await health.plan(['a', 'b']);
  const tried = {
    refused: [],
    storedTables: new Set(['a', 'b']),
    missingTables: new Set(['a', 'b']),
    brokenTables: new Map<string, string>(),
    failing: new Map([['b', { why: 'unknown', scope: 'unclear' as const }]]),
  };
  const { verdicts, why, problem } = await health.report(plan, tried, [], new Set());
  expect([...verdicts]).toEqual([
    ['a', 'dead_letter'],
    ['b', 'wait'],
  ]);
  expect([why('a'), why('b'), problem]).toEqual(['damaged', 'the table does not exist', undefined]);
  expect(broken).toEqual(['a']);
});

it('an unavailable table is tried as soon as QuestDB lists it again', async () => {
  const { health, failFor, nextOf } = healthOf();
  await failFor(66_000, { a: gone });
  expect(await nextOf('a')).toBe('dead_letter');
  health.seenWell(new Set(['a']));
  expect([await nextOf('a'), await nextOf('a')]).toEqual(['write', 'dead_letter']);
});

it.each([
  ['could not append [errno=28, file=x.d]', 'store'],
  ['commit error for table: 2_a, errno: 28, error: no', 'store'],
  ['[24] could not open', 'store'],
  ['could not write: No space left on device', 'store'],
  ['a value of 2_a was 28', 'table'],
  ['commit error for table: 2_a, errno: 2, error: no such file', 'table'],
  ['internal error', 'unclear'],
])('an unknown answer speaks of the machine, of the table, or does not say: %s', (text, scope) => {
  expect(scopeOfAnswer(answerFault(500, text), '2_a')).toBe(scope);
});
