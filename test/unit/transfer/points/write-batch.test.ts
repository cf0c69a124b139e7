import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../../../src/model/fault.ts';
import type { WriteResult } from '../../../../src/stores/questdb/writer.ts';
import type { HeldMessage } from '../../../../src/transfer/held-message.ts';
import { pieceDaysLeast, piecesMax } from '../../../../src/transfer/points/day-pieces.ts';
import { type BatchWriter, writeBatch } from '../../../../src/transfer/points/write-batch.ts';
import { alwaysAsync } from '../../../support/properties.ts';
import { type ReadRow, readRows } from '../../../support/push/line-protocol-reader.ts';

/** A row with a target that ends in what could be taken for the end of the row. */
const rowText = (table: string, uid: number): string =>
  `${table},target=a\\\nb\\\\ f=1,uid=${uid}i 1700000000000\n`;

let sequence = 0;

/** A message with a part per table; parts are given as [table, uids]. */
const messageOf = (...parts: [table: string, uids: number[]][]): HeldMessage => {
  const partBytes = parts.map(([table, uids]) =>
    Buffer.from(uids.map((uid) => rowText(table, uid)).join('')),
  );
  return {
    delivery: {
      payload: new Uint8Array(),
      subject: 'metrics.0',
      version: 1,
      streamSequence: ++sequence,
      redelivered: false,
      redrive: 0,
      ack: () => {},
      nak: () => {},
      working: () => {},
      free: () => {},
    },
    envelope: {
      header: {
        version: 1,
        kind: 'metrics',
        arrivedAt: 1,
        parts: parts.map(([table, uids], index) => ({
          dataId: 1500001,
          table,
          layout: 'wide',
          rows: uids.length,
          points: uids.length,
          base: '0',
          first: 0,
          last: uids.length - 1,
          timeMin: 1,
          timeMax: 1,
          bytes: partBytes[index]?.length ?? 0,
        })),
        deferred: [],
        outcomes: [],
      },
      partBytes,
      deferredBytes: [],
    },
    rows: parts.reduce((sum, [, uids]) => sum + uids.length, 0),
    bytes: 1,
    touchedAt: 0,
    takenAt: 0,
  };
};

/** A store that upserts by uid, refuses some uids by row number and misses some tables, as QuestDB does. */
const createStore = (
  refusedUids: ReadonlySet<number>,
  missing: ReadonlySet<string>,
  refusedByOld: ReadonlySet<number> = new Set(),
) => {
  let isOld = true;
  const bodies: string[] = [];
  const stored = new Map<string, string>();
  const separated: number[] = [];
  const writer: BatchWriter = {
    separate: async () => {
      separated.push(bodies.length);
      return true;
    },
    renew: () => {
      isOld = false;
    },
    write: async (pieces): Promise<WriteResult> => {
      const body = Buffer.concat(pieces).toString('utf8');
      bodies.push(body);
      if (bodies.length > 1000) throw new Error('the same rows are sent without an end');
      const rows = readRows(body);
      for (const [index, row] of rows.entries()) {
        if (missing.has(row.table)) return { kind: 'table_missing', table: row.table };
        const uid = Number(row.uid);
        if (refusedUids.has(uid) || (isOld && refusedByOld.has(uid)))
          return { kind: 'row_refused', line: index + 1, why: `uid ${row.uid}` };
      }
      for (const row of rows) stored.set(row.uid, row.table);
      return { kind: 'stored' };
    },
  };
  return { writer, bodies, stored, separated };
};

const noticed = () => {
  const outcomes: string[] = [];
  return { outcomes, onWrite: (outcome: string): void => void outcomes.push(outcome) };
};

const uidOf = (row: Uint8Array): number => Number(readRows(Buffer.from(row).toString('utf8'))[0]?.uid);

describe('a batch', () => {
  it('is sent without a copy of its large parts; small ones share a piece', async () => {
    const rows = (first: number, count: number): number[] =>
      Array.from({ length: count }, (_, index) => first + index);
    const messages = [
      ...[1, 2, 3].map((uid) => messageOf(['a', [uid]])),
      messageOf(['a', rows(10, 3_000)]),
      messageOf(['a', [4]]),
    ];
    const sent: (readonly Uint8Array[])[] = [];
    const writer = {
      renew: () => {},
      separate: async () => true,
      write: async (pieces: readonly Uint8Array[]): Promise<WriteResult> => {
        sent.push(pieces);
        return { kind: 'stored' };
      },
    };
    await writeBatch(writer, messages, () => {});
    const [pieces = []] = sent;
    expect([sent.length, pieces.length]).toEqual([1, 3]);
    expect(pieces[1]).toBe(messages[3]?.envelope.partBytes[0]);
    expect(readRows(Buffer.concat(pieces).toString('utf8')).map(({ uid }) => Number(uid))).toEqual([
      ...[1, 2, 3],
      ...rows(10, 3_000),
      4,
    ]);
  });

  it('is written in one request, the rows of one table side by side', async () => {
    const { writer, bodies } = createStore(new Set(), new Set());
    const { outcomes, onWrite } = noticed();
    const batch = [messageOf(['a', [1, 2]], ['b', [3]]), messageOf(['b', [4]]), messageOf(['a', [5]])];
    expect(await writeBatch(writer, batch, onWrite)).toEqual({
      storedTables: new Set(['a', 'b']),
      refused: [],
      missingTables: new Set(),
      brokenTables: new Map(),
    });
    expect(bodies.map((body) => readRows(body).map(({ table, uid }: ReadRow) => table + uid))).toEqual([
      ['a1', 'a2', 'a5', 'b3', 'b4'],
    ]);
    expect(outcomes).toEqual(['stored']);
  });

  // One row that the store never takes must not hold up the others for ever, nor take a good row with it.
  it('goes on without the rows that are refused, one by one, each named with its message', async () => {
    const { writer, stored } = createStore(new Set([2, 4, 5]), new Set());
    const { outcomes, onWrite } = noticed();
    const first = messageOf(['a', [1, 2, 3]]);
    const second = messageOf(['a', [4]], ['b', [5, 6]]);
    const { refused, missingTables } = await writeBatch(writer, [first, second], onWrite);
    expect(refused.map(({ message, part, row, why }) => [message, part.table, uidOf(row), why])).toEqual([
      [first, 'a', 2, 'uid 2'],
      [second, 'a', 4, 'uid 4'],
      [second, 'b', 5, 'uid 5'],
    ]);
    expect([...stored.keys()].toSorted()).toEqual(['1', '3', '6']);
    expect(missingTables.size).toBe(0);
    expect(outcomes).toEqual(['row_refused', 'row_refused', 'row_refused', 'row_refused', 'stored']);
  });

  // A connection keeps its picture of a table's columns: it would refuse good rows for hours after the table was mended.
  it('loses no row that a new connection takes', async () => {
    const { writer, stored } = createStore(new Set([2]), new Set(), new Set([1, 3]));
    const { outcomes, onWrite } = noticed();
    const { refused } = await writeBatch(writer, [messageOf(['a', [1, 2, 3]])], onWrite);
    expect([refused.map(({ row }) => uidOf(row)), [...stored.keys()]]).toEqual([[2], ['1', '3']]);
    expect(outcomes).toEqual(['row_refused', 'row_refused', 'stored']);
  });

  it('goes on without the rows of a table that is missing', async () => {
    const { writer, stored } = createStore(new Set(), new Set(['gone', 'lost']));
    const { outcomes, onWrite } = noticed();
    const batch = [messageOf(['gone', [1]], ['a', [2]]), messageOf(['lost', [3]]), messageOf(['gone', [4]])];
    const result = await writeBatch(writer, batch, onWrite);
    expect(result).toEqual({
      storedTables: new Set(['a']),
      refused: [],
      missingTables: new Set(['gone', 'lost']),
      brokenTables: new Map(),
    });
    expect([...stored.keys()]).toEqual(['2']);
    expect(outcomes).toEqual(['table_missing', 'table_missing', 'stored']);
  });

  it('without rows is not sent', async () => {
    const { writer, bodies } = createStore(new Set(), new Set());
    const { onWrite } = noticed();
    expect(await writeBatch(writer, [], onWrite)).toEqual({
      storedTables: new Set(),
      refused: [],
      missingTables: new Set(),
      brokenTables: new Map(),
    });
    await writeBatch(writer, [messageOf(), messageOf(['a', []])], onWrite);
    expect(bodies).toEqual([]);
  });

  it('of which every row is refused ends, and is not sent empty', async () => {
    const { writer, bodies } = createStore(new Set([1, 2]), new Set());
    const { refused } = await writeBatch(writer, [messageOf(['a', [1, 2]])], noticed().onWrite);
    expect([refused.length, bodies.length]).toEqual([2, 3]);
  });

  // A table with a wrong column refuses each row by itself: the whole request for each of them would never end.
  it('of which most rows are refused is sent in pieces, and every good row is stored', async () => {
    const uids = Array.from({ length: 900 }, (_, uid) => uid);
    const refusedUids = new Set(uids.filter((uid) => uid % 100 !== 7));
    const { writer, bodies, stored } = createStore(refusedUids, new Set());
    const batch = [messageOf(['a', uids.slice(0, 800)]), messageOf(['a', uids.slice(800)], ['b', [900]])];
    const { refused } = await writeBatch(writer, batch, noticed().onWrite);
    expect(refused).toHaveLength(refusedUids.size);
    expect([...stored.keys()].map(Number).toSorted((a, b) => a - b)).toEqual(
      [...uids, 900].filter((uid) => !refusedUids.has(uid)),
    );
    const wholeBytes = bodies[0]?.length ?? 0;
    const sentBytes = bodies.reduce((sum, { length }) => sum + length, 0);
    expect(sentBytes).toBeLessThan((refusedUids.size * wholeBytes) / 3);
  });

  it('ends every row as stored, refused or of a missing table, once', async () => {
    const tables = ['a', 'b', 'c'];
    const parts = fc.array(fc.tuple(fc.constantFrom(...tables), fc.integer({ min: 0, max: 4 })), {
      maxLength: 3,
    });
    await alwaysAsync(
      fc.asyncProperty(
        fc.array(parts, { maxLength: 6 }),
        fc.uniqueArray(fc.nat(40)),
        fc.subarray(tables),
        async (shape, refusedList, missingList) => {
          let uid = 0;
          const batch = shape.map((message) =>
            messageOf(
              ...message.map(([table, count]): [string, number[]] => [
                table,
                Array.from({ length: count }, () => uid++),
              ]),
            ),
          );
          const expected = { stored: [] as string[], refused: [] as number[] };
          for (const { envelope } of batch) {
            for (const [index, { table }] of envelope.header.parts.entries()) {
              for (const row of readRows(Buffer.from(envelope.partBytes[index] ?? []).toString('utf8'))) {
                if (missingList.includes(table)) continue;
                if (refusedList.includes(Number(row.uid))) expected.refused.push(Number(row.uid));
                else expected.stored.push(row.uid);
              }
            }
          }
          const { writer, stored } = createStore(new Set(refusedList), new Set(missingList));
          const { refused } = await writeBatch(writer, batch, noticed().onWrite);
          expect([...stored.keys()].toSorted()).toEqual(expected.stored.toSorted());
          // A row of a table that turns out to be missing later may be refused before; no other may.
          const refusedUids = refused.map(({ row }) => uidOf(row));
          const kept = refused
            .filter(({ part }) => !missingList.includes(part.table))
            .map(({ row }) => uidOf(row));
          expect(kept.toSorted()).toEqual(expected.refused.toSorted());
          expect(new Set(refusedUids).size).toBe(refusedUids.length);
          for (const { message, row } of refused) {
            const own = message.envelope.partBytes
              .map((bytes) => Buffer.from(bytes).toString('utf8'))
              .join('');
            expect(own).toContain(Buffer.from(row).toString('utf8'));
          }
        },
      ),
      200,
    );
  });

  const unknownOutcomes: [string, () => Promise<WriteResult>, string[]][] = [
    [
      'the store does not answer',
      () => Promise.reject(new Fault('transient', 'questdb_unavailable', 'away')),
      ['failed'],
    ],
    [
      'a row is refused that was not sent',
      async () => ({ kind: 'row_refused', line: 3, why: '?' }),
      ['row_refused', 'row_refused'],
    ],
    [
      'a table is missing that was not sent',
      async () => ({ kind: 'table_missing', table: 'other' }),
      ['table_missing'],
    ],
  ];

  // Anything else would settle messages whose rows are nowhere, or loop without an end.
  it.each(unknownOutcomes)('is of unknown outcome where %s', async (_, write, expected) => {
    const { outcomes, onWrite } = noticed();
    const writing = writeBatch(
      { write, renew: () => {}, separate: async () => true },
      [messageOf(['a', [1, 2]])],
      onWrite,
    );
    await expect(writing).rejects.toMatchObject({ kind: 'transient', code: 'questdb_unavailable' });
    expect(outcomes).toEqual(expected);
  });

  it('leaves the messages as they came, so that the next try writes everything again', async () => {
    const batch = [messageOf(['a', [1, 2, 3]])];
    await writeBatch(createStore(new Set([2]), new Set()).writer, batch, noticed().onWrite);
    const { writer, stored } = createStore(new Set(), new Set());
    await writeBatch(writer, batch, noticed().onWrite);
    expect([...stored.keys()]).toEqual(['1', '2', '3']);
  });
});

const dayMs = 86_400_000;
const since = Date.UTC(2001, 0, 1);
/** A prime: its multiples come in no order of time. */
const stride = 7_919;

/** A message with one row of each of these days, which are in no order; `isTold`: its part names them. */
const messageOfDays = (table: string, days: readonly number[], isTold: boolean): HeldMessage => {
  const message = messageOf([table, [...days]]);
  const times = days.map((day) => since + day * dayMs);
  const text = days.map((day, index) => rowText(table, day).replace('1700000000000', `${times[index]}`));
  const bytes = Buffer.from(text.join(''));
  const [part] = message.envelope.header.parts;
  if (part === undefined) throw new Error('no part');
  const told = isTold ? { days: times.map((time) => [time / dayMs, 1, '0'] as const) } : {};
  const [timeMin = 0] = times.toSorted((a, b) => a - b);
  const dated = { ...part, timeMin, timeMax: times.reduce((most, time) => Math.max(most, time)), ...told };
  const { header } = message.envelope;
  return {
    ...message,
    envelope: { header: { ...header, parts: [dated] }, partBytes: [bytes], deferredBytes: [] },
  };
};

const daysIn = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, index) => from + ((index * stride) % count));

const daysOf = (body: string): number[] => [
  ...new Set(readRows(body).map(({ time }) => Math.floor((time - since) / dayMs))),
];

describe('a batch with rows of many days', () => {
  it('is written in pieces of few days in the order of time, apart from each other and after the other tables', async () => {
    const { writer, bodies, stored, separated } = createStore(new Set(), new Set());
    await writeBatch(
      writer,
      [
        messageOfDays('many', daysIn(100, 300), true),
        messageOfDays('many', daysIn(300), false),
        messageOf(['b', [9_999]]),
      ],
      () => {},
    );
    expect(bodies.map((body) => [...new Set(readRows(body).map(({ table }) => table))])).toEqual([
      ['b'],
      ...Array.from({ length: 4 }, () => ['many']),
    ]);
    expect(separated).toEqual([1, 2, 3, 4]);
    const days = bodies.slice(1).map(daysOf);
    expect(Math.max(...days.map(({ length }) => length))).toBe(pieceDaysLeast);
    expect(days.map((each) => Math.min(...each))).toEqual([0, 128, 256, 384]);
    expect(stored.size).toBe(401);
  });

  it('has no more pieces the more days it has', async () => {
    const { writer, bodies, stored } = createStore(new Set(), new Set());
    await writeBatch(writer, [messageOfDays('many', daysIn(9_000), false)], () => {});
    expect([bodies.length, stored.size]).toEqual([piecesMax, 9_000]);
  });

  // As many arguments of one call would be too many.
  it('is written with 150,000 days, too', async () => {
    const sent: number[] = [];
    const write = async (pieces: readonly Uint8Array[]): Promise<WriteResult> => {
      sent.push(pieces.reduce((sum, { length }) => sum + length, 0));
      return { kind: 'stored' };
    };
    const message = messageOfDays('many', daysIn(150_000), false);
    await writeBatch({ write, renew: () => {}, separate: async () => true }, [message], () => {});
    expect(sent.length).toBe(piecesMax);
    expect(sent.reduce((sum, bytes) => sum + bytes)).toBe(message.envelope.partBytes[0]?.length);
  });

  // Each call would take its whole time, and writes of all other tables with it.
  it('is kept apart no more once QuestDB has not answered that', async () => {
    const { writer, stored } = createStore(new Set(), new Set());
    let calls = 0;
    const separate = async (): Promise<boolean> => ++calls < 2;
    const messages = [
      messageOfDays('many', daysIn(900), false),
      messageOfDays('others', daysIn(900, 900), false),
    ];
    await writeBatch({ ...writer, separate }, messages, () => {});
    expect([calls, stored.size]).toEqual([2, 1_800]);
  });

  it.each([
    ['few days far apart', [messageOfDays('a', [0, 5_000], false), messageOfDays('a', [1, 9_000], true)]],
    ['as many days as a piece', [messageOfDays('a', daysIn(pieceDaysLeast), false)]],
  ])('is one request with %s', async (_, messages) => {
    const { writer, bodies, separated } = createStore(new Set(), new Set());
    await writeBatch(writer, messages, () => {});
    expect([bodies.length, separated]).toEqual([1, []]);
  });

  it('names the rows that are refused, and stores all others', async () => {
    const { writer, stored } = createStore(new Set([5, 250]), new Set());
    const message = messageOfDays('many', daysIn(300), false);
    const { refused } = await writeBatch(writer, [message], () => {});
    expect(refused.map(({ row }) => uidOf(row)).toSorted((a, b) => a - b)).toEqual([5, 250]);
    expect(refused.every((each) => each.message === message)).toBe(true);
    expect(stored.size).toBe(298);
  });

  it('is given up at the first piece where its table is missing', async () => {
    const { writer, bodies, separated } = createStore(new Set(), new Set(['many']));
    const { missingTables } = await writeBatch(writer, [messageOfDays('many', daysIn(300), false)], () => {});
    expect([[...missingTables], bodies.length, separated]).toEqual([['many'], 1, [0]]);
  });
});
