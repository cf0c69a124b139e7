import { ClickHouseError } from '@clickhouse/client';
import { expect, it } from 'vitest';
import { Fault } from '../../../../src/model/fault.ts';
import type { BlockWriter } from '../../../../src/stores/clickhouse/block-writer.ts';
import { toFault, unreadableTable } from '../../../../src/stores/clickhouse/faults.ts';
import { dataPointTables } from '../../../../src/stores/clickhouse/item-tables.ts';
import { createBlocksSink } from '../../../../src/transfer/blocks/blocks-sink.ts';
import { piecesOf, refusedBlock } from '../../../../src/transfer/blocks/pieces.ts';
import { createTablePauses } from '../../../../src/transfer/blocks/table-pauses.ts';
import type { HeldMessage } from '../../../../src/transfer/held-message.ts';
import { takenDays } from '../../../../src/transfer/taken-days.ts';
import {
  type BlocksEnvelope,
  blocksReaderOf,
  encodeBlocksEnvelope,
} from '../../../../src/wire/blocks-envelope.ts';
import { readBlock } from '../../../../src/wire/native/block-reader.ts';
import type { OwnerDays } from '../../../../src/wire/part-days.ts';
import {
  type DataPointRow,
  dataPointParts,
  dataPointsMessage,
} from '../../../support/otlp/data-point-blocks.ts';

const arrivedAt = Date.UTC(2026, 5, 1, 12);
const base = 1_400_000_005_000_000n;
const appId = 7;
const read = blocksReaderOf('data_points');

const point = (table: DataPointRow['table'], metric: string, at = arrivedAt): DataPointRow => ({
  ...{ table, metric, at },
  service: 'checkout',
});

const heldOf = (payload: Buffer, redelivered = false): HeldMessage<BlocksEnvelope> => {
  const message = read(payload, 1);
  if (message.kind !== 'envelope') throw new Error(message.kind);
  const settle = { ack: () => {}, nak: () => {}, working: () => {}, free: () => {} };
  return {
    delivery: {
      ...{ payload, subject: 'otelmetrics.0', version: 1, streamSequence: 3, redelivered, redrive: 0 },
      ...settle,
    },
    envelope: message.envelope,
    ...{ rows: 1, bytes: payload.length, touchedAt: 0, takenAt: 0 },
  };
};

const messageOf = (
  rows: readonly DataPointRow[],
  { redelivered = false, deferred = [] as readonly object[] } = {},
) => heldOf(dataPointsMessage(rows, { base, appId, arrivedAt, deferred }), redelivered);

const answer = (code: string, type: string) => (): Fault =>
  toFault(new ClickHouseError({ message: 'no', code, type }));
const tooManyParts = answer('252', 'TOO_MANY_PARTS');
const tooMuchMemory = answer('241', 'MEMORY_LIMIT_EXCEEDED');
const unknownTable = answer('60', 'UNKNOWN_TABLE');
const damagedPart = answer('33', 'CANNOT_READ_ALL_DATA');

type Failures = Partial<Record<'refused' | 'repeatsIn' | 'failing', string>> & {
  readonly failure?: () => Fault | undefined;
};

/** A sink whose writers tell each insert with its table and its metrics, and the merges that are owed. */
const recordingSink = ({
  refused = '',
  repeatsIn = '',
  failing = '',
  failure = tooManyParts,
}: Failures = {}) => {
  const inserts: string[] = [];
  const owed: string[] = [];
  const ids = new Set<string>();
  const clock = { ms: 0 };
  const changes: string[] = [];
  const pauses = createTablePauses({
    now: () => clock.ms,
    onChange: (table, why) => changes.push(`${table}${why === undefined ? '' : `: ${why}`}`),
  });
  const tables = dataPointTables.map((table) => {
    const insert = (kind: string, queryId: string, blocks: readonly Uint8Array[]): void => {
      const metrics = blocks.flatMap((block) => readBlock(block).texts('MetricName'));
      inserts.push(`${kind} ${table.name}: ${metrics.join()}`);
      ids.add(queryId);
      if (metrics.includes(refused)) throw new Fault('permanent', 'clickhouse_rows_refused', 'no');
      const fault = metrics.includes(failing) ? failure() : undefined;
      if (fault !== undefined) throw fault;
    };
    const writer: BlockWriter = {
      insertPlain: async ({ queryId, blocks }) => insert('plain', queryId, blocks),
      insertGuarded: async ({ queryId, blocks, names }) => {
        insert(`guarded by ${names.map((texts) => texts.join('/')).join()}`, queryId, blocks);
        return true;
      },
      killCovering: async () => 0,
      repairTraceLookup: async (traces) => {
        if (traces.length > 0) throw new Error('data points have no lookup');
      },
      countRepeats: async () => (table.name === repeatsIn ? 1 : 0),
      optimizeDay: async () => {},
    };
    const onOverlap = async (day: number) => {
      owed.push(`${table.name} ${day}`);
    };
    return { table, writer, onOverlap };
  });
  const sink = createBlocksSink(
    tables,
    { isFresh: () => true, holds: async () => true },
    {
      ...{ pipeline: 'otel_metrics', stream: 'OTEL_METRICS', boot: 7, ackWaitMs: () => 30_000 },
      ...{ elapsed: () => 0, guard: 'suspect', pauses },
    },
    { onGuarded: () => {}, onUnanswered: async () => {}, onUnclassified: () => {} },
  );
  return { sink, inserts, owed, ids, clock, changes, pauses };
};

const day = arrivedAt / 86_400_000 - 0.5;
const yesterday = arrivedAt - 86_400_000;
const several = [
  point('otel_metrics_gauge', 'a'),
  point('otel_metrics_sum', 'b'),
  point('otel_metrics_gauge', 'c'),
  point('otel_metrics_sum', 'd', yesterday),
  point('otel_metrics_summary', 'e'),
];

it('writes each table and each day by an insert of its own, with an id of its own', async () => {
  const { sink, inserts, ids } = recordingSink();
  await sink.write([messageOf(several)], () => {});
  expect(inserts).toEqual([
    'plain otel_metrics_gauge: a,c',
    'plain otel_metrics_sum: b',
    'plain otel_metrics_sum: d',
    'plain otel_metrics_summary: e',
  ]);
  expect(ids.size).toBe(4);
});

it('compares the metrics and services of each table, and owes the merge of the one with repeats', async () => {
  const { sink, inserts, owed } = recordingSink({ repeatsIn: 'otel_metrics_sum' });
  await sink.write([messageOf(several, { redelivered: true })], () => {});
  expect(inserts).toEqual([
    'guarded by a/checkout,c/checkout otel_metrics_gauge: a,c',
    'guarded by b/checkout otel_metrics_sum: b',
    'guarded by d/checkout otel_metrics_sum: d',
    'guarded by e/checkout otel_metrics_summary: e',
  ]);
  expect(owed).toEqual([`otel_metrics_sum ${day}`, `otel_metrics_sum ${day - 1}`]);
});

it('dead-letters a data point that its table refuses alone, with its table, and stores the others', async () => {
  const { sink, inserts } = recordingSink({ refused: 'c' });
  const bad = messageOf(several);
  const { deadLettered } = await sink.write([bad], () => {});
  const letters = deadLettered.get(bad) ?? [];
  expect(letters.map(({ reason, items, identity, part }) => [reason, items, identity, part])).toEqual([
    [
      'data_point_refused',
      1,
      `${base}:2`,
      expect.objectContaining({ itemTable: 'otel_metrics_gauge', rows: 1, timeMin: `${arrivedAt}000000` }),
    ],
  ]);
  expect(inserts).toContain('plain otel_metrics_summary: e');
});

// What is dead-lettered counts as such: a purge would count rows as dropped that queries show.
it('dead-letters of a message that alone keeps failing what its last try did not store', async () => {
  const { sink, inserts, clock } = recordingSink({ failing: 'b', refused: 'c', failure: tooMuchMemory });
  const bad = messageOf(several, { redelivered: true });
  const tryOnce = () => sink.write([bad], () => {});
  const storeOther = () => {
    clock.ms += 2_000;
    return sink.write([messageOf([point('otel_metrics_sum', 'other')])], () => {});
  };
  for (let round = 0; round < 4; round++) {
    await storeOther();
    expect([...(await tryOnce()).retryLater]).toEqual([bad]);
  }
  await storeOther();
  inserts.length = 0;
  const letters = (await tryOnce()).deadLettered.get(bad) ?? [];
  expect(letters.map(({ reason, items, part }) => [reason, items, part])).toEqual([
    ['data_point_refused', 1, expect.objectContaining({ itemTable: 'otel_metrics_gauge' })],
    ['block_refused', 1, expect.objectContaining({ itemTable: 'otel_metrics_sum', day })],
  ]);
  expect(inserts.filter((insert) => /: [ade]$/.test(insert))).toHaveLength(3);
  const { days = new Map<number, OwnerDays>() } = sink.validate(bad.envelope, new Set());
  expect(takenDays(days, letters).get(appId)).toMatchObject({ days: [day - 1, day], rows: [1, 2] });
});

// Each of its days is a try of its own, and a message stored beside it proves something against each.
it('dead-letters no block of a message of several days before its fifth try while others are stored', async () => {
  const { sink, clock } = recordingSink({ failing: 'b', failure: tooMuchMemory });
  const times = [0, 1, 2, 3, 4, 5].map((days) => arrivedAt - days * 86_400_000);
  const ofDays = (metric: string) => times.map((at) => point('otel_metrics_sum', metric, at));
  const settled: number[] = [];
  for (let round = 0; round < 5; round++) {
    clock.ms += 60_000;
    await sink.write([messageOf([point('otel_metrics_gauge', 'other')])], () => {});
    const [fine, bad] = ['f', 'b'].map((metric) => messageOf(ofDays(metric), { redelivered: true }));
    if (fine === undefined || bad === undefined) throw new Error('no message');
    const { deadLettered } = await sink.write([fine, bad], () => {});
    settled.push(deadLettered.get(bad)?.length ?? 0);
  }
  expect(settled).toEqual([0, 0, 0, 0, 6]);
});

it('dead-letters nothing and takes nothing for stored while an insert has no answer', async () => {
  let failure: () => Fault = tooMuchMemory;
  const { sink, clock } = recordingSink({ failing: 'b', failure: () => failure() });
  const bad = messageOf(several);
  expect([...(await sink.write([bad], () => {})).retryLater]).toEqual([bad]);
  failure = () => new Fault('transient', 'clickhouse_unavailable', 'no answer');
  for (let tries = 0; tries < 12; tries++) {
    clock.ms += 60_000;
    await sink.write([messageOf([point('otel_metrics_gauge', 'other')])], () => {});
    await expect(sink.write([bad], () => {})).rejects.toThrow('no answer');
  }
});

const others = [point('otel_metrics_gauge', 'g'), point('otel_metrics_sum', 's')];

// Its data points wait; those of the others are stored, and not once more when its messages come again.
it('holds back the messages of a missing table alone, and leaves it out of later writes for a growing time', async () => {
  const { sink, inserts, clock, changes, pauses } = recordingSink({ failing: 'e', failure: unknownTable });
  await sink.write([messageOf(others)], () => {});
  const [bad, fine] = [messageOf(several), messageOf(others)];
  const written = await sink.write([bad, fine], () => {});
  expect([...written.retryLater]).toEqual([bad]);
  expect([written.problem, written.deadLettered.size]).toEqual([undefined, 0]);
  expect(pauses.problem).toMatch(
    /takes no rows, its messages wait: otel_metrics_summary \(.*60 UNKNOWN_TABLE/,
  );
  const tries: number[] = [];
  const waits: number[] = [];
  for (clock.ms = 100; clock.ms < 100_000; clock.ms += 1_000) {
    inserts.length = 0;
    const again = messageOf(several, { redelivered: true });
    const {
      retryLater,
      retryLaterMs = 0,
      deadLettered,
    } = await sink.write([again, messageOf(others)], () => {});
    expect([[...retryLater], deadLettered.size]).toEqual([[again], 0]);
    expect(inserts.filter((insert) => insert.startsWith('plain')).length).toBe(2);
    expect(inserts.filter((insert) => /^guarded .*: [bd]$/.test(insert)).length).toBe(2);
    if (inserts.some((insert) => insert.endsWith(': e'))) {
      tries.push(clock.ms);
      waits.push(retryLaterMs);
    }
  }
  expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  expect(tries.length).toBe(waits.length);
  expect(changes).toEqual([expect.stringContaining('otel_metrics_summary: ClickHouse answered 60')]);
});

it('writes the messages that waited once the table takes rows again', async () => {
  let isMissing = true;
  const failure = () => (isMissing ? unknownTable() : undefined);
  const { sink, clock, changes, pauses } = recordingSink({ failing: 'e', failure });
  await sink.write([messageOf(others)], () => {});
  await sink.write([messageOf(several)], () => {});
  isMissing = false;
  clock.ms = 1_000;
  const again = await sink.write([messageOf(several, { redelivered: true })], () => {});
  expect([again.retryLater.size, pauses.problem]).toEqual([0, undefined]);
  expect(changes.at(-1)).toBe('otel_metrics_summary');
});

// The rows are not at fault: a table with too many parts takes them once it has merged some.
it('never dead-letters data points for the state of their table, while other tables are stored', async () => {
  const { sink, clock } = recordingSink({ failing: 'e', failure: tooManyParts });
  for (let round = 0; round < 20; round++) {
    clock.ms += 60_000;
    const bad = messageOf([point('otel_metrics_summary', 'e')], { redelivered: true });
    const { retryLater, deadLettered } = await sink.write([messageOf(others), bad], () => {});
    expect([[...retryLater], deadLettered.size]).toEqual([[bad], 0]);
  }
});

it('holds back the message alone whose guard cannot read a damaged part, and stores the others of its table', async () => {
  const failure = () => {
    const error = unreadableTable('otel.otel_metrics_summary', damagedPart());
    if (!(error instanceof Fault)) throw error;
    return error;
  };
  const { sink, clock, inserts } = recordingSink({ failing: 'e', failure });
  await sink.write([messageOf(others)], () => {});
  const bad = messageOf([point('otel_metrics_summary', 'e')], { redelivered: true });
  for (let round = 0; round < 8; round++) {
    clock.ms += 60_000;
    const fine = [`r${round}`, `t${round}`].map((metric) =>
      messageOf([point('otel_metrics_summary', metric)], { redelivered: true }),
    );
    await sink.write([messageOf(others)], () => {});
    const { retryLater, deadLettered, problem } = await sink.write([bad, ...fine], () => {});
    expect([[...retryLater], deadLettered.size, problem]).toEqual([[bad], 0, undefined]);
    expect(inserts).toContain(`guarded by t${round}/checkout otel_metrics_summary: t${round}`);
  }
});

it('counts no failure of a message alone against it while nothing of the same table is stored', async () => {
  const { sink, clock } = recordingSink({ failing: 'e', failure: tooMuchMemory });
  for (let round = 0; round < 20; round++) {
    clock.ms += 60_000;
    const bad = messageOf([point('otel_metrics_summary', 'e')], { redelivered: true });
    const { deadLettered } = await sink.write([messageOf(others), bad], () => {});
    expect(deadLettered.size).toBe(0);
  }
});

it('retries a batch as a whole while no table takes rows, and then returns it with the reason', async () => {
  const { sink } = recordingSink({ failing: 'e', failure: unknownTable });
  const bad = messageOf([point('otel_metrics_summary', 'e')]);
  for (let tries = 0; tries < 6; tries++)
    await expect(sink.write([bad], () => {})).rejects.toThrow('60 UNKNOWN_TABLE');
  const { retryLater, problem } = await sink.write([bad], () => {});
  expect([[...retryLater], problem]).toEqual([[bad], expect.stringContaining('60 UNKNOWN_TABLE')]);
  expect((await sink.write([messageOf(others)], () => {})).retryLater.size).toBe(0);
});

// Their ordinals are those of the whole message: one of two dead letters with the same id would be lost.
it('names unreadable blocks of two tables of one message differently', () => {
  const letters = piecesOf([messageOf(several)]).map((piece) =>
    refusedBlock({ ...piece, block: Buffer.from('no block') }, 'no'),
  );
  expect(letters).toHaveLength(4);
  expect(new Set(letters.map(({ identity }) => identity)).size).toBe(4);
  expect(new Set(letters.map(({ uid }) => uid)).size).toBe(4);
});

it('a message with a part that names none of its tables, or that of another signal, is unreadable', () => {
  const [only] = dataPointParts(several.slice(0, 1), { base, appId, arrivedAt });
  if (only === undefined) throw new Error('no part');
  const { itemTable: _, ...nameless } = only.part;
  const header = { version: 1, kind: 'data_points', arrivedAt, deferred: [], outcomes: [] } as const;
  for (const part of [nameless, { ...nameless, itemTable: 'otel_logs' as const }])
    expect(read(encodeBlocksEnvelope({ ...header, parts: [part] }, [only.block]), 1)).toMatchObject({
      kind: 'unreadable',
      why: expect.stringContaining('tables'),
    });
});

it('drops a deferred data point by its own time', () => {
  const late = `${arrivedAt + 3_600_001}000000`;
  const deferred = [late, '0', undefined, `${arrivedAt}000000`].map((timeUnixNano) => ({
    dataPoint: { timeUnixNano, startTimeUnixNano: late },
  }));
  const { sink } = recordingSink();
  const { dropped, passed } = sink.validate(messageOf(several, { deferred }).envelope, new Set());
  expect(Object.fromEntries(dropped)).toEqual({ timestamp_too_far_ahead: 1, timestamp_zero_or_missing: 2 });
  expect(passed.map(({ reason, why }) => [reason, why])).toEqual([
    ['deferred_item_valid', 'the receiver deferred a data point, and this version finds its times valid'],
  ]);
});
