import { describe, expect, it } from 'vitest';
import { type Difference, isOfStore, type Owner } from '../../../src/account/difference.ts';
import { explainLosses, ownerText } from '../../../src/account/explain-losses.ts';
import { randomOf } from '../../support/otlp/plain/mutations.ts';

const minute = 1_790_000_040;

const difference = (change: Partial<Difference> = {}): Difference => ({
  ...{ kind: 'lost_in_the_stream', stream: 'METRICS', pipeline: 'metrics', dataId: 1, appId: 0, minute },
  ...{ items: 20, messages: 4 },
  ...change,
});

/** The same rows, or those of its data id, for each owner that is asked for. */
const rowsOf =
  (rows: (dataId: number) => number) =>
  async (owners: readonly Owner[]): Promise<ReadonlyMap<string, number>> =>
    new Map(owners.map((owner) => [ownerText(owner), rows(owner.dataId)]));

const none = (): number => 0;

const explain = (found: readonly Difference[], records: number, rows: number) =>
  explainLosses(found, {
    recorded: () => records,
    unrecordedRows: rowsOf(() => rows),
    rowsBefore: none,
    withoutRecord: [],
  });

const textOf = ({ kind, minute: at, items, messages }: Difference): unknown[] => [
  ...[kind, (at - minute) / 60, items, messages],
];

describe('items that seem lost', () => {
  it('are lost where neither a record nor the store has them', async () => {
    const { differences, byStore } = await explain([difference()], 0, 0);
    expect(differences.map(textOf)).toEqual([['lost_in_the_stream', 0, 20, 4]]);
    expect(byStore.size).toBe(0);
  });

  it('are unrecorded as far as records have them, then as far as the store does, and lost beyond', async () => {
    const { differences, byStore } = await explain([difference()], 5, 10);
    expect(differences.map(textOf)).toEqual([
      ['unrecorded', 0, 15, 3],
      ['lost_in_the_stream', 0, 5, 1],
    ]);
    expect(byStore).toEqual(new Map([['metrics 1 0', 10]]));
  });

  // A difference of no message is one with a store: it would count in the account as such, be named twice, and stay for good.
  it('are never unrecorded without a message, and one message is not two', async () => {
    const large = difference({ items: 1_000, messages: 1 });
    const { differences } = await explain([large], 0, 400);
    expect(differences.map(textOf)).toEqual([
      ['unrecorded', 0, 400, 1],
      ['lost_in_the_stream', 0, 600, 0],
    ]);
    expect(differences.some(isOfStore)).toBe(false);
    const many = await explain([difference({ items: 1_000, messages: 3 })], 1, 0);
    expect(many.differences.map(textOf)).toEqual([
      ['unrecorded', 0, 1, 1],
      ['lost_in_the_stream', 0, 999, 2],
    ]);
    // A part of a message that is lost elsewhere.
    const none = await explain([difference({ items: 2, messages: 0 })], 1, 0);
    expect(none.differences.map(textOf)).toEqual([
      ['unrecorded', 0, 1, 1],
      ['lost_in_the_stream', 0, 1, 0],
    ]);
  });

  it('take each row of the store once, in any number of minutes', async () => {
    const found = [difference(), difference({ minute: minute + 60 })];
    const { differences, byStore } = await explain(found, 0, 30);
    expect(differences.map(textOf)).toEqual([
      ['unrecorded', 0, 20, 4],
      ['unrecorded', 1, 10, 2],
      ['lost_in_the_stream', 1, 10, 2],
    ]);
    expect(byStore).toEqual(new Map([['metrics 1 0', 30]]));
  });

  it('are lost where the rows without a record were there before they arrived', async () => {
    const [early, late] = [difference({ items: 8 }), difference({ items: 8, minute: minute + 60 })];
    const { differences, byStore } = await explainLosses([early, late], {
      ...{ recorded: () => 0, unrecordedRows: rowsOf(() => 15), withoutRecord: [] },
      rowsBefore: (_owner, at) => (at > minute ? 12 : 0),
    });
    expect(differences.map(textOf)).toEqual([
      ['unrecorded', 0, 8, 4],
      ['lost_in_the_stream', 1, 8, 4],
    ]);
    expect(byStore).toEqual(new Map([['metrics 1 0', 8]]));
  });

  it('and the other differences keep their kind, those of one owner and minute are one', async () => {
    const found = [
      ...[difference({ kind: 'unrecorded', items: 3, messages: 1 }), difference({ kind: 'stuck' })],
      ...[difference({ items: 2, messages: 1 }), difference({ dataId: 0, items: 0 })],
    ];
    const { differences } = await explain(found, 2, 0);
    expect(differences.map(textOf)).toEqual([
      ['unrecorded', 0, 5, 2],
      ['stuck', 0, 20, 4],
      ['lost_in_the_stream', 0, 0, 4],
    ]);
  });

  it('and messages without a record are unrecorded, and the store does not name their rows again', async () => {
    const { differences, byMinute } = await explainLosses([difference()], {
      ...{ recorded: () => 0, unrecordedRows: rowsOf(() => 5), rowsBefore: none },
      withoutRecord: [difference({ kind: 'unrecorded', items: 8, messages: 2 })],
    });
    expect(differences.map(textOf)).toEqual([
      ['unrecorded', 0, 13, 3],
      ['lost_in_the_stream', 0, 15, 3],
    ]);
    expect(byMinute).toEqual(new Map([[minute, new Map([['metrics 1 0', 13]])]]));
  });

  it('keep their sums of items, stand in one difference, and take no more than there is', async () => {
    const sum = (each: readonly Difference[]): number => each.reduce((all, { items }) => all + items, 0);
    for (let seed = 1; seed <= 2_000; seed++) {
      const random = randomOf(seed);
      const found = Array.from({ length: 1 + random(5) }, (_, index) =>
        difference({
          kind: random(2) === 0 ? 'lost_in_the_stream' : 'lost_by_the_engine',
          ...{ dataId: 1 + random(2), minute: minute + 60 * index },
          ...{ items: random(30), messages: 1 + random(4) },
        }),
      );
      const rows = [0, random(40), random(40)];
      const records = new Map(found.map((each) => [each.minute, random(2) * random(40)]));
      const { differences, byStore } = await explainLosses(found, {
        recorded: (_owner, at) => records.get(at) ?? 0,
        unrecordedRows: rowsOf((dataId) => rows[dataId] ?? 0),
        rowsBefore: none,
        withoutRecord: [],
      });
      const unrecorded = differences.filter(({ kind }) => kind === 'unrecorded');
      expect(sum(differences), `seed ${seed}`).toBe(sum(found));
      // What the records have is taken first, then the rows of the owner.
      let expected = 0;
      const left = [...rows];
      for (const { minute: at, items, dataId } of found) {
        const ofRecords = Math.min(items, records.get(at) ?? 0);
        const ofRows = Math.min(items - ofRecords, left[dataId] ?? 0);
        left[dataId] = (left[dataId] ?? 0) - ofRows;
        expected += ofRecords + ofRows;
      }
      expect(sum(unrecorded), `seed ${seed}`).toBe(expected);
      for (const owner of [1, 2])
        expect(byStore.get(ownerText(difference({ dataId: owner }))) ?? 0).toBe(
          (rows[owner] ?? 0) - (left[owner] ?? 0),
        );
      const messagesIn = (each: readonly Difference[]): number =>
        each.reduce((all, { messages }) => all + messages, 0);
      expect(messagesIn(differences), `seed ${seed}`).toBe(messagesIn(found));
      expect(unrecorded.some(isOfStore), `seed ${seed}`).toBe(false);
      for (const { items, messages } of differences)
        expect(Math.min(items, messages)).toBeGreaterThanOrEqual(0);
    }
  });

  it('of several owners are sought in the stores with one question that names each owner once', async () => {
    const found = Array.from({ length: 24 }, (_, index) => difference({ dataId: 1 + (index % 12) }));
    const asked: number[][] = [];
    const { differences } = await explainLosses(found, {
      recorded: () => 0,
      unrecordedRows: async (owners) => {
        asked.push(owners.map(({ dataId }) => dataId));
        return rowsOf((dataId) => dataId)(owners);
      },
      rowsBefore: none,
      withoutRecord: [],
    });
    expect(asked).toEqual([Array.from({ length: 12 }, (_, index) => 1 + index)]);
    const unrecorded = differences.filter(({ kind }) => kind === 'unrecorded');
    expect(unrecorded.map(({ dataId, items }) => items - dataId)).toEqual(
      Array.from({ length: 12 }, () => 0),
    );
  });
});
