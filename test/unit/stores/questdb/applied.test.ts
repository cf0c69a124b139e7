import { describe, expect, it, vi } from 'vitest';
import { Fault } from '../../../../src/model/fault.ts';
import { createAppliedCheck } from '../../../../src/stores/questdb/applied.ts';

type Row = { confirmed: number; applied: number; suspended?: string };

const damage = 'unexpected new WAL structure version [table=t~1, walStructure=9, newWalStructureVersion=10]';

/** A QuestDB whose tables' logs are what a test says; `onPause` is what happens while the check waits. */
const checkOf = (onPause: (pauses: number) => void = () => {}) => {
  const server = { startedAt: 'first', connections: 1 };
  const tables = new Map<string, Row>();
  const looks: string[][] = [];
  const changes: string[] = [];
  const starts: string[] = [];
  const refusals = new Map<string, Fault>();
  const clock = { now: 0 };
  let pauses = 0;
  const check = createAppliedCheck({
    sql: {
      exec: async (statement) => {
        const altered = /^ALTER TABLE "(t\d+)" DEDUP ENABLE/.exec(statement)?.[1];
        if (altered !== undefined) {
          changes.push(altered);
          const refusal = refusals.get(altered);
          if (refusal !== undefined) throw refusal;
          return { columns: [], dataset: [] };
        }
        if (statement.includes('pg_postmaster_start_time')) {
          starts.push(server.startedAt);
          return { columns: [], dataset: [[server.startedAt]] };
        }
        const named = [...statement.matchAll(/'(t\d+)'/g)].flatMap(([, name]) => name ?? []);
        looks.push(named);
        const dataset = named.flatMap((name) => {
          const row = tables.get(name);
          if (row === undefined) return [];
          const { confirmed, applied, suspended } = row;
          return [[name, confirmed, applied, suspended !== undefined, '', suspended ?? '']];
        });
        return { columns: [], dataset };
      },
    },
    connections: () => server.connections,
    now: () => clock.now,
    pause: async (ms) => {
      clock.now += ms;
      onPause(++pauses);
    },
  });
  const unapplied = async (...names: string[]) => {
    const { late, held, broken } = await check.unapplied(names);
    return { late: [...late.keys()], held: [...held.keys()], broken: [...broken.keys()] };
  };
  const stillUnapplied = async (...names: string[]) => {
    const { late, held, broken } = await check.stillUnapplied(names);
    return { late: [...late.keys()], held: [...held.keys()], broken: [...broken.keys()] };
  };
  return { check, unapplied, stillUnapplied, server, tables, looks, starts, changes, refusals, clock };
};

const allShown = { late: [], held: [], broken: [] };

describe('rows that QuestDB has confirmed', () => {
  it('count once they are shown; later ones of the table are believed without a look', async () => {
    const { unapplied, tables, looks, changes, starts } = checkOf((pauses) => {
      if (pauses === 3) tables.set('t1', { confirmed: 9, applied: 7 });
    });
    tables.set('t1', { confirmed: 7, applied: 2 });
    expect(await unapplied('t1')).toEqual(allShown);
    expect([looks.length, changes]).toEqual([4, ['t1']]);
    const asked = starts.length;
    for (let writes = 0; writes < 100; writes++) await unapplied('t1');
    expect([looks.length, starts.length, changes]).toEqual([4, asked, ['t1']]);
  });

  it('are looked for again after every start of the server, and only then', async () => {
    const { unapplied, server, tables, looks, changes } = checkOf();
    tables.set('t1', { confirmed: 5, applied: 5 });
    await unapplied('t1');
    server.connections++;
    expect(await unapplied('t1')).toEqual(allShown);
    expect([looks.length, changes.length]).toEqual([1, 1]);
    server.connections++;
    server.startedAt = 'second';
    tables.set('t1', { confirmed: 8, applied: 5 });
    expect(await unapplied('t1')).toEqual({ ...allShown, late: ['t1'] });
    tables.set('t1', { confirmed: 20, applied: 8 });
    expect(await unapplied('t1')).toEqual(allShown);
    expect(changes).toEqual(['t1', 't1']);
  });

  // QuestDB does not list a damaged table for a while after its start.
  it('of a table that was believed are not after a start in which the server does not list it', async () => {
    const { unapplied, server, tables, changes } = checkOf();
    tables.set('t1', { confirmed: 5, applied: 5 });
    tables.set('t2', { confirmed: 5, applied: 5 });
    await unapplied('t1', 't2');
    server.connections++;
    server.startedAt = 'second';
    tables.delete('t1');
    expect(await unapplied('t1')).toEqual({ ...allShown, held: ['t1'] });
    expect(await unapplied('t2')).toEqual(allShown);
    expect(changes).toEqual(['t1', 't2', 't1', 't2']);
  });

  // What was confirmed before may be of the server that is gone.
  it('have an unknown outcome when the server restarts during the check', async () => {
    const { unapplied, server, tables } = checkOf(() => {
      server.startedAt = 'second';
      tables.set('t1', { confirmed: 6, applied: 6 });
    });
    tables.set('t1', { confirmed: 6, applied: 4 });
    await expect(unapplied('t1')).rejects.toMatchObject({ kind: 'transient', code: 'questdb_unavailable' });
    expect(await unapplied('t1')).toEqual(allShown);
  });

  // It takes rows without new columns for a while, and none later.
  it('of a table that refuses a change are not trusted, even if some are visible; others are', async () => {
    const { unapplied, tables, refusals } = checkOf();
    const damaged = 'QuestDB answered 500: possible corruption in transaction metadata [table=t1~17]';
    refusals.set('t1', new Fault('transient', 'questdb_unavailable', damaged));
    refusals.set('t2', new Fault('permanent', 'questdb_rejected', 'Metadata read timeout'));
    refusals.set('t3', new Fault('transient', 'questdb_unavailable', 'QuestDB does not answer'));
    for (const table of ['t1', 't2', 't3', 't4']) tables.set(table, { confirmed: 5, applied: 5 });
    const named = await unapplied('t1', 't2', 't3', 't4');
    expect(named).toEqual({ late: [], held: ['t2', 't3'], broken: ['t1'] });
    refusals.clear();
    expect(await unapplied('t2', 't3')).toEqual(allShown);
  });

  // The writes of all other tables wait as long: a log of thousands of commits made progress for half a minute.
  it('of a table that is stalled, or makes slow progress, are given up after three seconds', async () => {
    const { unapplied, tables, clock } = checkOf(() => {
      const moving = tables.get('t2');
      if (moving !== undefined) moving.applied++;
    });
    tables.set('t1', { confirmed: 5, applied: 4 });
    expect(await unapplied('t1')).toEqual({ ...allShown, late: ['t1'] });
    expect(clock.now).toBeGreaterThanOrEqual(3_000);
    expect(clock.now).toBeLessThan(4_000);
    clock.now = 0;
    tables.set('t2', { confirmed: 1_000_000, applied: 0 });
    expect(await unapplied('t2')).toEqual({ ...allShown, late: ['t2'] });
    expect(clock.now).toBeGreaterThanOrEqual(3_000);
    expect(clock.now).toBeLessThan(4_000);
  });

  it('of a stalled table are given up in time although the clock of the machine is set back', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    let pauses = 0;
    const check = createAppliedCheck({
      sql: {
        exec: async (statement) => {
          const isStart = statement.includes('pg_postmaster_start_time');
          return { columns: [], dataset: isStart ? [['first']] : [['t1', 5, 4, false, '', '']] };
        },
      },
      connections: () => 1,
      pause: async (ms) => {
        if (++pauses > 1_000) throw new Error('it waits on');
        vi.advanceTimersByTime(ms);
        vi.setSystemTime(Date.now() - 3_600_000);
      },
    });
    try {
      expect([...(await check.unapplied(['t1'])).late.keys()]).toEqual(['t1']);
    } finally {
      vi.useRealTimers();
    }
  });

  // One table that is behind must not hold up the others at each of its tries.
  it('are awaited once, and then checked; a log without progress for a minute is held', async () => {
    const { check, unapplied, stillUnapplied, tables, clock } = checkOf();
    tables.set('t1', { confirmed: 5, applied: 4 });
    expect(await stillUnapplied('t1')).toEqual(allShown);
    await unapplied('t1');
    const waited = clock.now;
    expect(check.problem).toBe('wait until QuestDB shows what it confirmed: t1');
    expect(await stillUnapplied('t1', 't2')).toEqual({ ...allShown, late: ['t1'] });
    expect(await unapplied('t1')).toEqual({ ...allShown, late: ['t1'] });
    expect(clock.now).toBe(waited);
    clock.now = 61_000;
    expect(await stillUnapplied('t1')).toEqual({ ...allShown, held: ['t1'] });
    tables.set('t1', { confirmed: 5, applied: 5 });
    expect(await stillUnapplied('t1')).toEqual(allShown);
    expect([check.problem, await unapplied('t1')]).toEqual([undefined, allShown]);
  });

  it('of a damaged table are never believed, and those of a suspended one not before it goes on', async () => {
    const { unapplied, tables, clock } = checkOf();
    tables.set('t1', { confirmed: 5, applied: 4, suspended: damage });
    tables.set('t2', { confirmed: 5, applied: 4, suspended: 'could not write' });
    tables.set('t3', { confirmed: 5, applied: 5 });
    expect(await unapplied('t1', 't2', 't3')).toEqual({ late: [], held: ['t2'], broken: ['t1'] });
    expect(clock.now).toBe(0);
    tables.set('t2', { confirmed: 9, applied: 5 });
    expect(await unapplied('t2')).toEqual(allShown);
  });

  // Its transactions count from the beginning again.
  it('of a recreated table are checked from its own beginning', async () => {
    const { unapplied, tables, changes } = checkOf();
    tables.set('t1', { confirmed: 40_000, applied: 39_000 });
    await unapplied('t1');
    tables.set('t1', { confirmed: 2, applied: 2 });
    expect(await unapplied('t1')).toEqual({ ...allShown, late: ['t1'] });
    expect(await unapplied('t1')).toEqual(allShown);
    expect(changes).toEqual(['t1', 't1']);
  });

  it('are looked for in statements of a bounded size', async () => {
    const { unapplied, tables, looks } = checkOf();
    const names = Array.from({ length: 450 }, (_, index) => `t${index}`);
    for (const name of names) tables.set(name, { confirmed: 1, applied: 1 });
    expect(await unapplied(...names)).toEqual(allShown);
    expect(looks.map((named) => named.length)).toEqual([200, 200, 50]);
  });
});
