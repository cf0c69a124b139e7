import { describe, expect, it } from 'vitest';
import { type Difference, isOfStore, type Owner } from '../../../src/account/difference.ts';
import { explainLosses, type LossEvidence, ownerText } from '../../../src/account/explain-losses.ts';
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

/** Of points: their time of arrival is not known. */
const anyArrival = async () => () => ({ rows: Number.POSITIVE_INFINITY, early: 0 });

/** The rows that arrived in each minute, and how many of them soon after its begin. */
const arrivals =
  (...minutes: readonly (readonly [rows: number, early: number])[]): LossEvidence['rowsArrived'] =>
  async () =>
  (_owner, at) => {
    const [rows, early] = minutes[(at - minute) / 60] ?? [0, 0];
    return { rows, early };
  };

/** Nothing was found before, and nothing says when rows arrived. */
const nothing: LossEvidence = {
  recorded: none,
  unrecordedRows: rowsOf(none),
  rowsBefore: none,
  rowsArrived: anyArrival,
  known: () => ({ unrecorded: 0, isLost: false }),
  withoutRecord: [],
};

const explain = (found: readonly Difference[], records: number, rows: number) =>
  explainLosses(found, { ...nothing, recorded: () => records, unrecordedRows: rowsOf(() => rows) });

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
    // What is left of several messages may be one that is lost.
    const most = await explain([difference({ items: 1_000, messages: 3 })], 0, 900);
    expect(most.differences.map(textOf)).toEqual([
      ['unrecorded', 0, 900, 2],
      ['lost_in_the_stream', 0, 100, 1],
    ]);
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
      ...{ ...nothing, unrecordedRows: rowsOf(() => 15) },
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

  it('and messages without a record are unrecorded, their rows explain no loss, and the store does not name them again', async () => {
    const { differences, byMinute } = await explainLosses([difference()], {
      ...{ ...nothing, unrecordedRows: rowsOf(() => 13) },
      withoutRecord: [difference({ kind: 'unrecorded', items: 8, messages: 2 })],
    });
    expect(differences.map(textOf)).toEqual([
      ['unrecorded', 0, 13, 3],
      ['lost_in_the_stream', 0, 15, 3],
    ]);
    expect(byMinute).toEqual(new Map([[minute, new Map([['metrics 1 0', 13]])]]));
    const alone = await explainLosses([difference()], {
      ...{ ...nothing, unrecordedRows: rowsOf(() => 8) },
      withoutRecord: [difference({ kind: 'unrecorded', items: 8, messages: 2, minute: minute - 60 })],
    });
    expect(alone.differences.map(textOf)).toEqual([
      ['lost_in_the_stream', 0, 20, 4],
      ['unrecorded', -1, 8, 2],
    ]);
  });

  it('have the rows that arrived in their minute, in any order', async () => {
    const [early, late] = [difference({ items: 5 }), difference({ items: 5, minute: minute + 60 })];
    const arrived =
      (at: number): LossEvidence['rowsArrived'] =>
      async () =>
      (_owner, of) => ({ rows: of === at ? 5 : 0, early: 0 });
    for (const found of [
      [early, late],
      [late, early],
    ])
      for (const at of [minute, minute + 60]) {
        const evidence = { ...nothing, unrecordedRows: rowsOf(() => 5), rowsArrived: arrived(at) };
        const { differences } = await explainLosses(found, evidence);
        const unrecorded = differences.filter(({ kind }) => kind === 'unrecorded');
        expect(unrecorded.map(textOf)).toEqual([['unrecorded', (at - minute) / 60, 5, 4]]);
      }
    // The one whose rows are there is compared later.
    const alone = { ...nothing, unrecordedRows: rowsOf(() => 5), rowsArrived: arrived(minute) };
    const { differences } = await explainLosses([late], alone);
    expect(differences.map(textOf)).toEqual([['lost_in_the_stream', 1, 5, 4]]);
  });

  it('do not have the rows of a message of the next minute that arrived soon after its begin', async () => {
    const [lost, lineless] = [difference({ items: 5 }), difference({ items: 5, minute: minute + 60 })];
    const evidence = { ...nothing, unrecordedRows: rowsOf(() => 5), rowsArrived: arrivals([0, 0], [5, 5]) };
    for (const known of [nothing.known, () => ({ unrecorded: 5, isLost: true })]) {
      const { differences } = await explainLosses([lost, lineless], { ...evidence, known });
      expect(differences.map(textOf)).toEqual([
        ['lost_in_the_stream', 0, 5, 4],
        ['unrecorded', 1, 5, 4],
      ]);
    }
    // Requests that share a message with some of the minute before.
    const alone = await explainLosses([lost], evidence);
    expect(alone.differences.map(textOf)).toEqual([['unrecorded', 0, 5, 4]]);
  });

  it('do not have the rows of a message of their own minute whose record alone is gone', async () => {
    const { differences } = await explainLosses([difference({ items: 10 })], {
      ...{ ...nothing, unrecordedRows: rowsOf(() => 20), rowsArrived: arrivals([10, 0]) },
      withoutRecord: [difference({ kind: 'unrecorded', items: 10, messages: 1 })],
    });
    expect(differences.map(textOf)).toEqual([
      ['lost_in_the_stream', 0, 10, 4],
      ['unrecorded', 0, 10, 1],
    ]);
  });

  it('are not those of a stored message because items of another one, whose record alone is gone, were dropped', async () => {
    for (const at of [minute - 60, minute + 60]) {
      const stored = difference({ items: 10, minute: at });
      const { differences } = await explainLosses([stored], {
        ...{ ...nothing, unrecordedRows: rowsOf(() => 12) },
        // Eight of its ten items were dropped.
        rowsArrived: async () => (_owner, of) => {
          const rows = of === minute ? 2 : 0;
          return of === at ? { rows: 10, early: 10 } : { rows, early: rows };
        },
        withoutRecord: [difference({ kind: 'unrecorded', items: 10, messages: 1 })],
      });
      expect(differences.map(textOf)).toEqual([
        ['unrecorded', (at - minute) / 60, 10, 4],
        ['unrecorded', 0, 10, 1],
      ]);
    }
  });

  it('are exactly those without rows beside messages whose record alone is gone, in random histories', async () => {
    for (let seed = 1; seed <= 2_000; seed++) {
      const random = randomOf(seed);
      const minutes = Array.from({ length: 1 + random(5) }, (_, index) => {
        const [stored, lost] = [random(3) * random(20), random(2) * (1 + random(20))];
        return {
          at: minute + 60 * index,
          stored,
          lost,
          early: random(stored + 1),
          isPlaced: random(3) === 0,
        };
      });
      // Of a message whose record alone is gone the others were dropped.
      const of = ({ at, stored, lost }: (typeof minutes)[number]) =>
        difference({ minute: at, items: stored + lost, messages: 1 });
      const foreign = random(2) * random(30);
      const rows = minutes.reduce((sum, { stored }) => sum + stored, foreign);
      const lines = minutes.filter(({ isPlaced }) => !isPlaced);
      const { differences } = await explainLosses(lines.map(of), {
        ...{ ...nothing, unrecordedRows: rowsOf(() => rows) },
        rowsArrived: arrivals(...minutes.map(({ stored, early }) => [stored, early] as const)),
        known: () => ({ unrecorded: random(30), isLost: random(2) === 0 }),
        withoutRecord: minutes
          .filter(({ isPlaced }) => isPlaced)
          .map((each) => ({ ...of(each), kind: 'unrecorded' as const })),
      });
      const lost = differences
        .filter(({ kind, items }) => kind === 'lost_in_the_stream' && items > 0)
        .map(({ minute: at, items }) => [at, items]);
      const expected = lines.flatMap((each) => (each.lost > 0 ? [[each.at, each.lost]] : []));
      expect(lost, `seed ${seed}`).toEqual(expected);
    }
  });

  it('are the later ones where nothing says when the rows arrived, unless they were called lost or unrecorded before', async () => {
    const found = [1, 0, 2].map((at) => difference({ items: 5, minute: minute + 60 * at }));
    const unrecordedOf = async (known: LossEvidence['known']): Promise<unknown[]> => {
      const { differences } = await explainLosses(found, {
        ...{ ...nothing, unrecordedRows: rowsOf(() => 5), known },
      });
      return differences
        .filter(({ kind }) => kind === 'unrecorded')
        .map((each) => (each.minute - minute) / 60);
    };
    expect(await unrecordedOf(nothing.known)).toEqual([0]);
    expect(await unrecordedOf((loss) => ({ unrecorded: 0, isLost: loss.minute === minute }))).toEqual([1]);
    const isLast = (loss: Difference): boolean => loss.minute === minute + 120;
    expect(await unrecordedOf((loss) => ({ unrecorded: isLast(loss) ? 5 : 0, isLost: false }))).toEqual([2]);
    // A store that could not be read explains what was called lost meanwhile.
    expect(await unrecordedOf(() => ({ unrecorded: 0, isLost: true }))).toEqual([0]);
  });

  it('are distinguished from those whose lines alone are gone, in random histories, whichever minutes a look compares', async () => {
    for (let seed = 1; seed <= 2_000; seed++) {
      const random = randomOf(seed);
      const minutes = Array.from({ length: 1 + random(5) }, (_, index) => minute + 60 * index);
      const settled = new Map(minutes.map((at) => [at, random(3) * random(20)]));
      const lost = new Map(minutes.map((at) => [at, random(2) * (1 + random(20))]));
      const foreign = random(2) * random(30);
      const all = foreign + [...settled.values()].reduce((sum, items) => sum + items, 0);
      let named = 0;
      for (const compared of random(2) === 0 ? [minutes] : minutes.map((at) => [at]).toReversed()) {
        const found = compared.map((at) =>
          difference({
            minute: at,
            items: (settled.get(at) ?? 0) + (lost.get(at) ?? 0),
            messages: 1 + random(4),
          }),
        );
        const { differences, byStore } = await explainLosses(found, {
          ...{ ...nothing, unrecordedRows: rowsOf(() => all - named) },
          rowsArrived: async () => (_owner, at) => ({ rows: settled.get(at) ?? 0, early: 0 }),
          known: () => ({ unrecorded: random(30), isLost: random(2) === 0 }),
        });
        named += byStore.get('metrics 1 0') ?? 0;
        for (const at of compared) {
          const items = (kind: string): number =>
            differences
              .filter((each) => each.minute === at && each.kind === kind)
              .reduce((sum, each) => sum + each.items, 0);
          expect([items('unrecorded'), items('lost_in_the_stream')], `seed ${seed}`).toEqual([
            ...[settled.get(at), lost.get(at)],
          ]);
        }
      }
    }
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
        ...nothing,
        recorded: (_owner, at) => records.get(at) ?? 0,
        unrecordedRows: rowsOf((dataId) => rows[dataId] ?? 0),
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
      ...nothing,
      unrecordedRows: async (owners) => {
        asked.push(owners.map(({ dataId }) => dataId));
        return rowsOf((dataId) => dataId)(owners);
      },
    });
    expect(asked).toEqual([Array.from({ length: 12 }, (_, index) => 1 + index)]);
    const unrecorded = differences.filter(({ kind }) => kind === 'unrecorded');
    expect(unrecorded.map(({ dataId, items }) => items - dataId)).toEqual(
      Array.from({ length: 12 }, () => 0),
    );
  });
});
