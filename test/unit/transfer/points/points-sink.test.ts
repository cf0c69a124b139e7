import { describe, expect, it, onTestFinished } from 'vitest';
import { Fault } from '../../../../src/model/fault.ts';
import type { Unapplied } from '../../../../src/stores/questdb/applied.ts';
import type { WriteResult } from '../../../../src/stores/questdb/writer.ts';
import { createBreaker, fitToSettle } from '../../../../src/transfer/breaker.ts';
import type { HeldMessage } from '../../../../src/transfer/held-message.ts';
import { createPointsSink } from '../../../../src/transfer/points/points-sink.ts';
import { createTableHealth } from '../../../../src/transfer/points/table-health.ts';
import type { Observation } from '../../../../src/transfer/points/table-observations.ts';
import { createWaitingMessages } from '../../../../src/transfer/points/waiting-messages.ts';
import type { DeferredGroup, Part } from '../../../../src/wire/metrics-envelope.ts';
import { firstDelivery } from '../../../support/outcomes/deliveries.ts';

const arrivedAt = Date.UTC(2026, 5, 1, 12);

/** A message with a point of each of these data ids, and a deferred one without a time of each of those. */
const messageOf = (
  dataIds: readonly number[],
  deferredIds: readonly number[] = [],
  deferredTime: string | number = 'N',
): HeldMessage => {
  const rows = dataIds.map((dataId) => `t${dataId},target=a up=1,uid=${dataId}i ${arrivedAt}\n`);
  const parts = dataIds.map(
    (dataId, index): Part => ({
      dataId,
      table: `t${dataId}`,
      layout: 'wide',
      rows: 1,
      points: 1,
      base: '1',
      first: 0,
      last: 0,
      timeMin: arrivedAt,
      timeMax: arrivedAt,
      bytes: rows[index]?.length ?? 0,
    }),
  );
  const section = Buffer.from(JSON.stringify([{ metrics: { a: 1 }, timestamp: deferredTime }]));
  const deferred = deferredIds.map(
    (dataId): DeferredGroup => ({
      dataId,
      arrivedAt,
      policy: { aheadMsMax: undefined, ageMsMax: undefined },
      base: '1',
      ordinals: [9],
      bytes: section.length,
    }),
  );
  return {
    delivery: firstDelivery,
    envelope: {
      header: { version: 1, kind: 'metrics', arrivedAt, parts, deferred, outcomes: [] },
      partBytes: rows.map((row) => Buffer.from(row)),
      deferredBytes: deferred.map(() => section),
    },
    rows: dataIds.length,
    bytes: 1,
    touchedAt: 0,
    takenAt: 0,
  };
};

const allApplied: Unapplied = { late: new Map(), held: new Map(), broken: new Map() };

/** A sink to a store that says what it was sent and answers what `answer` says. */
const sinkOf = (purged: Set<number>, answer: (body: string) => WriteResult = () => ({ kind: 'stored' })) => {
  const bodies: string[] = [];
  const missing: string[] = [];
  const setAsideTables: string[] = [];
  const back: string[] = [];
  const unclassified: string[] = [];
  const unsafe = new Set<string>();
  const broken = new Map<string, string>();
  const elsewhere = new Set<number>();
  const clock = { now: 0 };
  const shown = { unapplied: allApplied, still: allApplied };
  const sink = createPointsSink(
    {
      write: async (bytes) => {
        const body = Buffer.concat(bytes).toString('utf8');
        bodies.push(body);
        return answer(body);
      },
      renew: () => {},
      separate: async () => true,
    },
    { has: (dataId) => purged.has(dataId) },
    createTableHealth({
      applied: { unapplied: async () => shown.unapplied, stillUnapplied: async () => shown.still },
      watch: {
        observed: (table): Observation | undefined => {
          const why = broken.get(table);
          if (why !== undefined) return { state: 'broken', scope: 'table', why };
          return unsafe.has(table) ? { state: 'unsafe', scope: 'table', why: 'no keys' } : undefined;
        },
        noteBroken: (table, why) => broken.set(table, why),
      },
      waitMs: 60_000,
      retryMs: 5_000,
      probeMs: 30_000,
      waitingMax: 2_048,
      waiting: createWaitingMessages(() => clock.now),
      now: () => clock.now,
      onWait: (table) => missing.push(table),
      onSetAside: (table) => setAsideTables.push(table),
      onBack: (table) => back.push(table),
      onCount: () => {},
    }),
    {
      onUnclassified: (status) => unclassified.push(status),
      isOurs: (dataId) => !elsewhere.has(dataId),
    },
  );
  const written = async (...messages: HeldMessage[]) => {
    const result = await sink.write(messages, () => {});
    const verdicts = messages.map((message) => {
      const { kept, rows, dropped } = sink.validate(message.envelope, result.purged);
      return { kept, rows, dropped: Object.fromEntries(dropped) };
    });
    return { ...result, verdicts };
  };
  return {
    sink,
    written,
    bodies,
    missing,
    setAsideTables,
    back,
    unclassified,
    unsafe,
    broken,
    elsewhere,
    clock,
    shown,
  };
};

const tablesIn = (body: string | undefined): string[] => body?.match(/^t\d+/gm) ?? [];

// A table that is dropped while rows go on arriving would come back in backups and counts; what is dropped has to be counted.
// Two instances never share a table: rows written to the wrong one would be rows that nobody finds.
it('leaves rows of tables on another instance to its sink', async () => {
  const { written, bodies, elsewhere } = sinkOf(new Set());
  elsewhere.add(2);
  const message = messageOf([1, 2]);
  const { retryLater, deadLettered } = await written(message, messageOf([2]));
  expect(bodies.length).toBe(1);
  expect(bodies[0]).toContain('t1,');
  expect(bodies[0]).not.toContain('t2,');
  expect([retryLater.size, deadLettered.size]).toEqual([0, 0]);
});

describe('the points of a purged data id', () => {
  it('are dropped and counted, deferred ones alike, and those of others in the same message stored', async () => {
    const { written, bodies } = sinkOf(new Set([2]));
    const { verdicts, retryLater } = await written(
      messageOf([1, 2], [1, 2]),
      messageOf([2]),
      messageOf([], [2]),
      messageOf([3]),
    );
    expect(bodies.map(tablesIn)).toEqual([['t1', 't3']]);
    expect(retryLater.size).toBe(0);
    expect(verdicts).toEqual([
      { kept: 1, rows: 1, dropped: { timestamp_not_numeric: 1, data_source_purged: 2 } },
      { kept: 0, rows: 0, dropped: { data_source_purged: 1 } },
      { kept: 0, rows: 0, dropped: { data_source_purged: 1 } },
      { kept: 1, rows: 1, dropped: {} },
    ]);
  });

  it('are not even sent when nothing else is there', async () => {
    const { written, bodies } = sinkOf(new Set([2]));
    await written(messageOf([2]));
    expect(bodies).toEqual([]);
  });

  it('are stored when the purge arrives while they are being written', async () => {
    const purged = new Set<number>();
    const { written } = sinkOf(purged, () => {
      purged.add(1);
      return { kind: 'stored' };
    });
    expect((await written(messageOf([1], [1]))).verdicts).toEqual([
      { kept: 1, rows: 1, dropped: { timestamp_not_numeric: 1 } },
    ]);
  });

  it('are dropped when the table turns out to be gone because of the purge', async () => {
    const purged = new Set<number>();
    const { written, missing } = sinkOf(purged, (body) => {
      purged.add(2);
      return body.includes('t2') ? { kind: 'table_missing', table: 't2' } : { kind: 'stored' };
    });
    const { verdicts, retryLater } = await written(messageOf([1, 2], [2]));
    expect([verdicts, retryLater.size, missing]).toEqual([
      [{ kept: 1, rows: 1, dropped: { data_source_purged: 2 } }],
      0,
      [],
    ]);
  });

  it('are no dead letters even if the store refused them before their table was gone', async () => {
    const purged = new Set<number>();
    let calls = 0;
    const { written } = sinkOf(purged, () => {
      if (calls++ === 0) return { kind: 'row_refused', line: 1, why: 'cast error' };
      purged.add(1);
      return { kind: 'table_missing', table: 't1' };
    });
    const twoRows = messageOf([1, 1]);
    const { verdicts, deadLettered } = await written(twoRows);
    expect([verdicts, deadLettered.size]).toEqual([
      [{ kept: 0, rows: 0, dropped: { data_source_purged: 2 } }],
      0,
    ]);
  });

  it('leave the messages of other missing tables waiting', async () => {
    const { written, missing } = sinkOf(new Set([2]), (body) =>
      body.includes('t1') ? { kind: 'table_missing', table: 't1' } : { kind: 'stored' },
    );
    const waiting = messageOf([1, 2]);
    const { retryLater } = await written(waiting, messageOf([2, 3]));
    expect([[...retryLater], missing]).toEqual([[waiting], ['t1']]);
  });

  it('are left out of the next try when the store was away at the first', async () => {
    const purged = new Set<number>();
    const { written, bodies } = sinkOf(purged, () => {
      if (bodies.length === 1) throw new Fault('transient', 'questdb_unavailable', 'away');
      return { kind: 'stored' };
    });
    const message = messageOf([1, 2]);
    await expect(written(message)).rejects.toThrow('away');
    purged.add(2);
    expect((await written(message)).verdicts[0]).toEqual({
      kept: 1,
      rows: 1,
      dropped: { data_source_purged: 1 },
    });
    expect(bodies.map(tablesIn)).toEqual([['t1', 't2'], ['t1']]);
  });
});

// Two versions that judge time differently would lose the point between them.
describe('a deferred point whose time turns out to be valid', () => {
  it('is neither stored nor dropped, but dead-lettered with its bytes', () => {
    const { sink } = sinkOf(new Set());
    const { kept, dropped, passed } = sink.validate(messageOf([1], [2], arrivedAt).envelope, new Set());
    expect([kept, [...dropped]]).toEqual([1, []]);
    expect(passed).toMatchObject([
      { reason: 'deferred_item_valid', identity: '1:9', items: 1, place: { dataId: 2 } },
    ]);
    expect(JSON.parse(Buffer.from(passed[0]?.bytes ?? []).toString())).toEqual({
      metrics: { a: 1 },
      timestamp: arrivedAt,
    });
  });
});

const tablesOf = (messages: ReadonlySet<HeldMessage>): string[] =>
  [...messages].flatMap(({ envelope }) => envelope.header.parts.map(({ table }) => table));

// What fails for a reason that names no row would otherwise be tried with everybody else's rows for ever.
describe('a table that QuestDB does not take rows of', () => {
  const answerUnknown = (): never => {
    throw new Fault('transient', 'questdb_unclassified', 'table is busy', undefined, { status: 500 });
  };

  it('is found by writing each table by itself; the others are stored, and it is unavailable after a minute', async () => {
    const { written, setAsideTables, back, unclassified, clock } = sinkOf(new Set(), (body) =>
      body.includes('t1,') && clock.now < 100_000 ? answerUnknown() : { kind: 'stored' },
    );
    const [bad, good] = [messageOf([1]), messageOf([2])];
    await expect(written(bad, good)).rejects.toMatchObject({ kind: 'transient' });
    await expect(written(bad, good)).rejects.toMatchObject({ kind: 'transient' });
    expect(unclassified).toEqual(['500', '500']);
    const apart = await written(bad, good);
    expect([tablesOf(apart.retryLater), apart.deadLettered.size, apart.problem]).toEqual([
      ['t1'],
      0,
      undefined,
    ]);
    clock.now = 1_000;
    const waiting = await written(bad, good);
    expect([tablesOf(waiting.retryLater), waiting.deadLettered.size]).toEqual([['t1'], 0]);
    for (clock.now = 6_000; setAsideTables.length === 0 && clock.now < 90_000; clock.now += 6_000) {
      for (let tries = 0; tries < 3; tries++) await written(bad, good).catch(() => undefined);
    }
    expect(clock.now).toBeGreaterThanOrEqual(60_000);
    expect(setAsideTables).toEqual(['t1']);
    const aside = await written(messageOf([1, 2]));
    const [letter] = [...aside.deadLettered.values()].flat();
    expect(letter).toMatchObject({
      reason: 'table_unavailable',
      items: 1,
      place: { table: 't1', dataId: 1 },
    });
    expect(letter?.part).toMatchObject({ table: 't1', rows: 1 });
    expect(aside.retryLater.size).toBe(0);
    clock.now = 130_000;
    expect((await written(bad)).deadLettered.size).toBe(0);
    expect(back).toEqual(['t1']);
  });

  it('is not unavailable while the others fail too: then QuestDB is at fault', async () => {
    const { written, setAsideTables, clock } = sinkOf(new Set(), answerUnknown);
    for (clock.now = 0; clock.now < 300_000; clock.now += 6_000) {
      for (let tries = 0; tries < 3; tries++) {
        const result = await written(messageOf([1]), messageOf([2])).catch(() => undefined);
        expect(result?.problem ?? 'table is busy').toContain('table is busy');
      }
    }
    expect(setAsideTables).toEqual([]);
  });

  // Once its log is damaged, QuestDB confirms rows that nobody will ever see.
  it('is unavailable at once when QuestDB cannot change it any more, and not written to before it is recreated', async () => {
    const isMadeAnew = { t1: false };
    const { written, bodies, setAsideTables, back, broken, clock } = sinkOf(new Set(), (body) =>
      tablesIn(body).includes('t1') && !isMadeAnew.t1
        ? { kind: 'table_broken', table: 't1', why: 'possible corruption' }
        : { kind: 'stored' },
    );
    const bad = messageOf([1]);
    const { deadLettered, retryLater } = await written(bad, messageOf([2]));
    expect([retryLater.size, setAsideTables, broken.get('t1')]).toEqual([0, ['t1'], 'possible corruption']);
    expect(deadLettered.get(bad)).toMatchObject([{ reason: 'table_unavailable', place: { table: 't1' } }]);
    expect(bodies.map(tablesIn)).toEqual([['t1', 't2'], ['t2']]);
    // Not when a try is due, either: QuestDB would confirm it.
    for (let probes = 0; probes < 3; probes++) {
      clock.now += 31_000;
      expect((await written(bad)).deadLettered.size).toBe(1);
    }
    expect(bodies.map(tablesIn)).toEqual([['t1', 't2'], ['t2']]);
    isMadeAnew.t1 = true;
    broken.delete('t1');
    clock.now += 31_000;
    expect((await written(bad)).deadLettered.size).toBe(0);
    expect([bodies.map(tablesIn).at(-1), back]).toEqual([['t1'], ['t1']]);
  });

  // The next answer may be that of a server that confirms everything.
  it('is known at once, also when the others of the batch are of unknown outcome', async () => {
    const { written, broken } = sinkOf(new Set(), (body) => {
      if (tablesIn(body).includes('t1')) return { kind: 'table_broken', table: 't1', why: 'corruption' };
      throw new Fault('transient', 'questdb_unavailable', 'away');
    });
    await expect(written(messageOf([1]), messageOf([2]))).rejects.toThrow('away');
    expect(broken.get('t1')).toBe('corruption');
  });

  it('is not written to when its upsert keys are off', async () => {
    const { written, bodies, unsafe } = sinkOf(new Set());
    unsafe.add('t1');
    const { retryLater } = await written(messageOf([1]), messageOf([2]));
    expect([tablesOf(retryLater), bodies.map(tablesIn)]).toEqual([['t1'], [['t2']]]);
  });

  // QuestDB may confirm what it never shows: such rows are not stored before they are seen.
  it('waits for ever while what was confirmed is not shown yet, and is stored once it is', async () => {
    const { written, shown, setAsideTables, back, bodies, clock } = sinkOf(new Set());
    shown.unapplied = { ...allApplied, late: new Map([['t1', 'QuestDB shows less']]) };
    const first = await written(messageOf([1]), messageOf([2]));
    expect([tablesOf(first.retryLater), first.deadLettered.size, first.problem]).toEqual([
      ['t1'],
      0,
      undefined,
    ]);
    for (clock.now = 6_000; clock.now < 300_000; clock.now += 6_000) {
      expect(tablesOf((await written(messageOf([1]), messageOf([2]))).retryLater)).toEqual(['t1']);
    }
    expect(setAsideTables).toEqual([]);
    expect((await written(messageOf([1]))).problem).toBe('QuestDB shows less');
    shown.unapplied = allApplied;
    clock.now += 6_000;
    expect((await written(messageOf([1]))).retryLater.size).toBe(0);
    expect([back, bodies.map(tablesIn).at(-1)]).toEqual([['t1'], ['t1']]);
  });

  // Each try would put more behind what it waits for.
  it('is not written again before its confirmed rows are visible, and no longer unavailable once it is only late', async () => {
    const { written, shown, setAsideTables, bodies, clock } = sinkOf(new Set());
    shown.still = {
      ...allApplied,
      held: new Map([['t1', { why: 'suspended: a reason', scope: 'table' as const }]]),
    };
    for (clock.now = 0; clock.now <= 66_000; clock.now += 6_000)
      await written(messageOf([1]), messageOf([2]));
    expect(setAsideTables).toEqual(['t1']);
    shown.still = { ...allApplied, late: new Map([['t1', 'QuestDB shows less']]) };
    clock.now += 31_000;
    expect(tablesOf((await written(messageOf([1]))).retryLater)).toEqual(['t1']);
    clock.now += 1_000;
    const between = await written(messageOf([1]), messageOf([2]));
    expect([tablesOf(between.retryLater), between.deadLettered.size]).toEqual([['t1'], 0]);
    shown.still = {
      ...allApplied,
      held: new Map([['t1', { why: 'suspended: again', scope: 'table' as const }]]),
    };
    clock.now += 6_000;
    expect((await written(messageOf([1]), messageOf([2]))).deadLettered.size).toBe(0);
    expect(bodies.flatMap(tablesIn)).not.toContain('t1');
  });

  // A purge counts them as dropped, and a resumed table shows them.
  it('has dead letters that warn of a purge where QuestDB may have confirmed their rows', async () => {
    const { written, shown, clock } = sinkOf(new Set());
    const held = new Map([['t1', { why: 'suspended: a reason', scope: 'table' as const }]]);
    shown.unapplied = { ...allApplied, held };
    shown.still = { ...allApplied, held };
    const whys: string[] = [];
    for (clock.now = 0; clock.now <= 66_000; clock.now += 6_000) {
      const { deadLettered } = await written(messageOf([1]), messageOf([2]));
      whys.push(...[...deadLettered.values()].flat().map(({ why }) => why));
    }
    expect(new Set(whys)).toEqual(
      new Set([
        'suspended: a reason; QuestDB may have confirmed these rows, and show them later: redrive, do not purge',
      ]),
    );
  });

  it('is unavailable after a minute when its confirmed rows are held, and at once when they will never be visible', async () => {
    const { written, shown, setAsideTables, broken, clock } = sinkOf(new Set());
    shown.unapplied = {
      ...allApplied,
      held: new Map([['t1', { why: 'suspended: a reason', scope: 'table' as const }]]),
    };
    for (clock.now = 0; clock.now <= 66_000; clock.now += 6_000)
      await written(messageOf([1]), messageOf([2]));
    expect(setAsideTables).toEqual(['t1']);
    shown.unapplied = { ...allApplied, broken: new Map([['t2', 'damaged']]) };
    const { deadLettered } = await written(messageOf([2]));
    expect([...deadLettered.values()].flat()).toMatchObject([
      // Named by its first row: what is put off in the same message may stand before it.
      {
        reason: 'table_unavailable',
        why: 'damaged',
        identity: '2:2',
        uid: 2n,
        place: { table: 't2', uid: '2' },
      },
    ]);
    expect(broken.get('t2')).toBe('damaged');
  });
});

// Each refused row costs a request, a publish and a log line, and room in DEADLETTER, for as long as it is let through.
it('rows that one table refuses one by one open the breaker, also while another table takes its rows', async () => {
  const limits = { inARowMax: 10, shareMax: 0.2, shareItemsMin: 100, pauseMs: 60_000 };
  const breaker = createBreaker(limits, { onChange: () => {} });
  onTestFinished(() => breaker.stop());
  const { sink } = sinkOf(new Set(), (body) => {
    const line = tablesIn(body).indexOf('t1') + 1;
    return line === 0 ? { kind: 'stored' } : { kind: 'row_refused', line, why: 'cast error' };
  });
  const batch = [2, ...Array.from({ length: 11 }, () => 1)].map((dataId) => messageOf([dataId]));
  fitToSettle(breaker, batch, await sink.write(batch, () => {}));
  expect(breaker.why).toBe('11 items in a row went to the dead letters');
});
