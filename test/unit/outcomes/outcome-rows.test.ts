import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeLines } from '../../../src/outcomes/ledger.ts';
import { itemKeyOf, keyOfBytes, messageKeyOf, outcomeRows } from '../../../src/outcomes/outcome-rows.ts';
import {
  addOutcome,
  addReceiverDrops,
  deadLetteredOutcome,
  droppedOutcome,
  moveToDeadLetters,
  storedOutcome,
  type Tally,
} from '../../../src/outcomes/tally.ts';

const items = fc.integer({ min: 0, max: 50_000 });
const owner = fc.integer({ min: 1, max: 4 });
const reason = fc.constantFrom('timestamp_zero_or_missing', 'metrics_empty', '__proto__');

/** What can happen to items of a message, in any order. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('stored' as const), owner, items }),
  fc.record({ kind: fc.constant('deferred_valid' as const), owner, items }),
  fc.record({ kind: fc.constant('dropped' as const), owner, reason, items }),
  fc.record({
    kind: fc.constant('receiver' as const),
    owner,
    dropped: fc.array(fc.tuple(reason, items), { maxLength: 3 }),
  }),
);

const receivedOf = (tally: Tally): Record<string, number> =>
  Object.fromEntries([...tally].map(([id, counts]) => [id, [...counts.values()].reduce((a, b) => a + b, 0)]));

// A record whose parts do not add up would show a loss where there is none, or hide one.
describe('the record of a message', () => {
  it('adds up to the received items, for any refusals among them', () => {
    fc.assert(
      fc.property(fc.array(step), fc.array(fc.record({ owner, items })), (steps, refused) => {
        const tally: Tally = new Map();
        const received = new Map<number, number>();
        const take = (id: number, count: number): void => {
          if (count > 0) received.set(id, (received.get(id) ?? 0) + count);
        };
        for (const each of steps) {
          if (each.kind === 'stored') addOutcome(tally, each.owner, storedOutcome, each.items);
          else if (each.kind === 'deferred_valid')
            addOutcome(tally, each.owner, deadLetteredOutcome, each.items);
          else if (each.kind === 'dropped')
            addOutcome(tally, each.owner, droppedOutcome(each.reason), each.items);
          else {
            const dropped = Object.fromEntries(each.dropped);
            addReceiverDrops(tally, each.owner, dropped);
            for (const count of Object.values(dropped)) take(each.owner, count);
            continue;
          }
          take(each.owner, each.items);
        }
        expect(receivedOf(tally)).toEqual(Object.fromEntries(received));
        for (const { owner: id, items: rows } of refused) {
          const before = tally.get(id)?.get(storedOutcome) ?? 0;
          expect(moveToDeadLetters(tally, id, rows)).toBe(Math.min(before, rows));
        }
        const key = { base: '7', first: 3 };
        const rows = outcomeRows('metrics', key, tally, Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1));
        expect(rows.map((row) => [row.data_id, row.received])).toEqual([...received]);
        for (const row of rows) {
          const counts = Object.values(row.outcomes);
          expect(counts.every((count) => count > 0)).toBe(true);
          expect(counts.reduce((a, b) => a + b, 0)).toBe(row.received);
        }
      }),
    );
  });

  it('names the minute of the arrival and the moment of the record, as ClickHouse reads them', () => {
    const tally: Tally = new Map([[4, new Map([[storedOutcome, 2]])]]);
    const arrivedAt = Date.UTC(2026, 1, 3, 4, 5, 59, 999);
    expect(outcomeRows('traces', { base: '7', first: 3 }, tally, arrivedAt, arrivedAt + 2)).toEqual([
      {
        pipeline: 'traces',
        data_id: 0,
        app_id: 4,
        base: '7',
        first: 3,
        ordinal: -1,
        redrive: 0,
        minute: '2026-02-03 04:05:00',
        received: 2,
        outcomes: { stored: 2 },
        at: '2026-02-03 04:06:00.001',
      },
    ]);
  });

  it('takes any arrival that a header can hold', () => {
    const tally: Tally = new Map([[4, new Map([[storedOutcome, 2]])]]);
    const [row] = outcomeRows('traces', { base: '7', first: 3 }, tally, Number.MAX_SAFE_INTEGER, 0);
    expect(row?.minute).toBe('2106-02-07 06:28:00');
  });
});

describe('the key of a message', () => {
  const part = { base: '10', first: 4 };
  const group = { base: '12', ordinals: [9, 8] };

  it.each([
    ['its own', { key: { base: '1', first: 2 }, parts: [part], deferred: [group] }, { base: '1', first: 2 }],
    ['of an older program that of its first part', { parts: [part], deferred: [group] }, part],
    ['or of its first deferred point', { parts: [], deferred: [group] }, { base: '12', first: 9 }],
    ['or none', { parts: [], deferred: [] }, undefined],
  ])('is %s', (_, header, key) => {
    expect(messageKeyOf(header)).toEqual(key);
  });

  it('is made of the bytes where there is no other, the same for the same bytes', () => {
    const key = keyOfBytes(Buffer.from('a'));
    expect([keyOfBytes(Buffer.from('a')), keyOfBytes(Buffer.from('b'))]).toEqual([
      key,
      expect.not.objectContaining({ base: key.base }),
    ]);
    expect(BigInt(key.base)).toBeLessThan(2n ** 63n);
  });

  // Two items under one key would replace each other's records: one of them would be lost from the balance.
  // An item under another key than its message has no standing record: its redrive could not be counted against it.
  it('of an item is its distance from the base, before it or behind, and never -1, which is the whole message', () => {
    const key = { base: '1000', first: 5 };
    const ordinals = [1007n, 1000n, 999n, 998n, 1000n + 2n ** 40n].map((uid) => itemKeyOf(key, uid));
    expect(ordinals).toEqual([7, 0, -2, -3, 2 ** 40].map((ordinal) => ({ ...key, ordinal })));
  });

  it('of an item further away than a number tells exactly is its uid', () => {
    const base = 2n ** 62n;
    expect(itemKeyOf({ base: String(base), first: 5 }, 999n)).toEqual({ base: '999', first: 0, ordinal: 0 });
    expect(itemKeyOf({ base: '1000', first: 5 }, base)).toEqual({ base: String(base), first: 0, ordinal: 0 });
  });
});

describe('the payloads of a publish', () => {
  it('hold every row once, in order, as whole lines within the bound', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ text: fc.string({ maxLength: 40 }) })), (rows) => {
        const payloads = encodeLines(rows, 100);
        const lines = payloads.flatMap((payload) => payload.toString().split('\n').slice(0, -1));
        expect(lines.map((line) => JSON.parse(line))).toEqual(rows);
        for (const payload of payloads) {
          expect(payload.length <= 100 || payload.indexOf('\n') === payload.length - 1).toBe(true);
        }
      }),
    );
  });
});
