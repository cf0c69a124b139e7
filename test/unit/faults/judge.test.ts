import { describe, expect, it } from 'vitest';
import {
  compareBalances,
  emptyBalance,
  expectedBalance,
  laterVerdicts,
  swingReason,
} from '../../faults/books.ts';
import { fateOf, type World } from '../../faults/items.ts';
import { severalMessages } from '../../faults/load.ts';
import { type Claim, claimOf, createOracle, type Debt, type Target } from '../../faults/oracle.ts';
import { bitsOf, type SeenRow } from '../../faults/rows.ts';
import {
  describeFault,
  isProcessFault,
  planFaults,
  processKinds,
  type ScheduleOptions,
  weightOf,
} from '../../faults/schedule.ts';
import { judgeAnswers, judgeRows } from '../../faults/verdict.ts';

const world: World = { seed: 5, baseMs: 1_780_000_000_000 };

const targetOf = (layout: Target['layout'], hasSwing = false): Target => ({
  name: layout,
  layout,
  id: 1_500_001,
  tokens: ['t'],
  hasSwing,
});

/** A claim of 100 items behind one of 10, and every row that it has to have. */
const given = (target: Target, debt: Debt, secondsOfTries = 0) => {
  const oracle = createOracle();
  oracle.claim({ target, count: 10, isNamed: true, form: 'push' }).debt = 'owed';
  const claim: Claim = oracle.claim({ target, count: 100, isNamed: true, form: 'push' });
  claim.debt = debt;
  for (const at of [0, secondsOfTries * 1000]) {
    claim.tries.push({ sentAt: at, answeredAt: at, receiver: 0, status: 503, reason: '' });
  }
  const claims = oracle.take();
  const rows: SeenRow[] = [];
  for (const { first, count } of claims) {
    for (let id = first; id < first + count; id++) {
      if (fateOf(id, target.layout, id === first, target.hasSwing, world.seed) !== 'good') continue;
      for (const bit of [1, 2, 4]) {
        if ((bitsOf(id, target, world) & bit) !== 0) rows.push({ id, bit, isUnchanged: true, text: '' });
      }
    }
  }
  const of = (seen: readonly SeenRow[]): string[] =>
    judgeRows(seen, target, { world, claims, duplicateWindowSeconds: 120 }).findings.map(
      ({ offence }) => offence,
    );
  return { claim, claims, rows, of, ofClaim: ({ id }: SeenRow) => id >= claim.first };
};

describe('the judge', () => {
  it.each(['wide', 'narrow', 'spans', 'logs', 'data_points'] as const)(
    'finds nothing in %s where each owed row is once',
    (layout) => {
      const { rows, of } = given(targetOf(layout), 'owed');
      expect(rows.length).toBeGreaterThan(90);
      expect(of(rows)).toEqual([]);
    },
  );

  it('sees each owed row that is missing, twice or changed, and a row without an owner', () => {
    const { rows, of } = given(targetOf('narrow'), 'owed');
    const last = rows.at(-1);
    expect(of(rows.slice(0, -1))).toEqual(['missing']);
    expect(of([...rows, ...rows.slice(-1)])).toEqual(['twice']);
    expect(of(rows.map((row) => (row === last ? { ...row, isUnchanged: false } : row)))).toEqual(['changed']);
    expect(of([...rows, { id: 9_999, bit: 1, isUnchanged: true, text: '' }])).toEqual(['unexpected']);
    expect(of([...rows, { id: Number.NaN, bit: 1, isUnchanged: true, text: '' }])).toEqual(['unexpected']);
  });

  it('sees a bad item that was stored', () => {
    const { rows, of, claim } = given(targetOf('wide'), 'owed');
    let bad = claim.first;
    while (fateOf(bad, 'wide', false, false, world.seed) === 'good') bad++;
    expect(of([...rows, { id: bad, bit: 1, isUnchanged: true, text: '' }])).toEqual(['unexpected']);
  });

  it('takes an uncertain request whole or not at all', () => {
    const { rows, of, ofClaim } = given(targetOf('wide'), 'uncertain');
    expect(of(rows)).toEqual([]);
    expect(of(rows.filter((row) => !ofClaim(row)))).toEqual([]);
    expect(of(rows.slice(0, -1))).toEqual(['torn']);
  });

  // Each of its messages may be stored by itself where they are not one batch.
  it('sees a part of a push of several messages that has no name', () => {
    const target = targetOf('wide');
    const oracle = createOracle();
    const claim = oracle.claim({ target, count: severalMessages, isNamed: false, form: 'push' });
    claim.debt = 'uncertain';
    const claims = oracle.take();
    const rowsUpTo = (last: number): SeenRow[] =>
      Array.from({ length: last }, (_, index) => claim.first + index).flatMap((id) =>
        fateOf(id, 'wide', id === claim.first, false, world.seed) === 'good'
          ? [{ id, bit: 1, isUnchanged: true, text: '' }]
          : [],
      );
    const offencesOf = (rows: readonly SeenRow[]): Set<string> =>
      new Set(
        judgeRows(rows, target, { world, claims, duplicateWindowSeconds: 120 }).findings.map(
          ({ offence }) => offence,
        ),
      );
    expect(offencesOf(rowsUpTo(severalMessages))).toEqual(new Set());
    expect(offencesOf([])).toEqual(new Set());
    expect(offencesOf(rowsUpTo(severalMessages / 2))).toEqual(new Set(['torn']));
    claim.debt = 'absent';
    expect(offencesOf(rowsUpTo(severalMessages / 2))).toEqual(new Set(['unexpected']));
  });

  it('sees stored rows of items that were refused for good', () => {
    const { rows, of, ofClaim } = given(targetOf('wide'), 'absent');
    expect(of(rows.filter((row) => !ofClaim(row)))).toEqual([]);
    expect(new Set(of(rows))).toEqual(new Set(['unexpected']));
  });

  it('wants overlaps of spans merged, but not the repeats of a request that came after its id was forgotten', () => {
    const soon = given(targetOf('spans'), 'owed', 100);
    expect(soon.of([...soon.rows, ...soon.rows.slice(-1)])).toEqual(['unmerged']);
    const late = given(targetOf('spans'), 'owed', 130);
    expect(late.of([...late.rows, ...late.rows.slice(-1)])).toEqual([]);
  });

  it('takes an item that the policy decides on either way', () => {
    const { rows, of, claim } = given(targetOf('wide', true), 'owed');
    let swing = claim.first;
    while (fateOf(swing, 'wide', false, true, world.seed) !== 'swing') swing++;
    expect(of(rows)).toEqual([]);
    expect(of([...rows, { id: swing, bit: 1, isUnchanged: true, text: '' }])).toEqual([]);
  });

  it('sees a request without an end, and an answer that no fault explains', () => {
    const { claims, claim } = given(targetOf('wide'), 'open');
    claim.tries.push({ sentAt: 0, answeredAt: 0, receiver: 0, status: 401, reason: '' });
    expect(judgeAnswers(claims).map(({ offence }) => offence)).toEqual(['stuck', 'answer']);
  });
});

describe('the books', () => {
  it('count every item that is owed or turned out to be stored, by its outcome', () => {
    const target = targetOf('wide', true);
    const { claims, rows } = given(target, 'uncertain');
    const isPresent = (id: number): boolean => rows.some((row) => row.id === id);
    const whole = expectedBalance(claims, target, world, isPresent);
    expect(whole.received).toBe(110);
    expect(whole.stored).toBe(rows.length);
    const dropped = [...whole.dropped.values()].reduce((left, right) => left + right, 0);
    expect(whole.stored + dropped).toBe(110);
    expect(whole.dropped.get('timestamp_too_old')).toBeGreaterThan(0);
    expect(expectedBalance(claims, target, world, (id) => id < 11 && isPresent(id)).received).toBe(10);
  });

  it('take an item that two tries judged for stored and dropped, and no other one', () => {
    const of = (stored: number, reason: string, dropped: number) => ({
      ...emptyBalance(),
      stored,
      dropped: new Map([[reason, dropped]]),
    });
    const expected = of(9, swingReason, 1);
    expect(laterVerdicts(expected, of(7, swingReason, 3))).toBe(2);
    expect(laterVerdicts(expected, of(7, swingReason, 2))).toBe(0);
    expect(laterVerdicts(expected, of(8, 'metrics_empty', 2))).toBe(0);
    expect(laterVerdicts(expected, of(10, swingReason, 0))).toBe(0);
  });

  it('name each difference', () => {
    const told = { ...emptyBalance(), received: 2, stored: 1, dropped: new Map([['metrics_empty', 1]]) };
    expect(compareBalances(told, told)).toEqual([]);
    expect(compareBalances(told, emptyBalance())).toEqual([
      'received: the books say 2, the outcomes 0',
      'stored: the books say 1, the outcomes 0',
      'dropped/metrics_empty: the books say 1, the outcomes 0',
    ]);
  });
});

describe('the schedule', () => {
  const options: ScheduleOptions = { seed: 9, processFaults: 60, gapMs: 1_000, ackWaitMs: 6_000 };

  it('is the same for the same seed, and another for another', () => {
    const lines = (seed: number): string[] => planFaults({ ...options, seed }).map(describeFault);
    expect(lines(9)).toEqual(lines(9));
    expect(lines(9)).not.toEqual(lines(10));
  });

  it('has as many kills, pauses and stops as were asked for, of all kinds of process alike', () => {
    const faults = planFaults(options).filter(isProcessFault);
    const total = faults.reduce((sum, fault) => sum + weightOf(fault), 0);
    expect(total).toBeGreaterThanOrEqual(60);
    expect(total).toBeLessThanOrEqual(61);
    for (const kind of processKinds) {
      expect(faults.filter(({ processKind }) => processKind === kind).length).toBeGreaterThan(6);
    }
  });
});

it('a number belongs to the claim that holds it', () => {
  const { claims } = given(targetOf('wide'), 'owed');
  expect([0, 1, 10, 11, 110, 111].map((id) => claimOf(claims, id)?.first)).toEqual([
    undefined,
    1,
    1,
    11,
    11,
    undefined,
  ]);
});
