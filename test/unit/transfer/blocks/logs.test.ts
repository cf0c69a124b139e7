import { expect, it } from 'vitest';
import { Fault } from '../../../../src/model/fault.ts';
import type { BlockWriter, TraceTimes } from '../../../../src/stores/clickhouse/block-writer.ts';
import { logsTable } from '../../../../src/stores/clickhouse/item-tables.ts';
import { createBlocksSink } from '../../../../src/transfer/blocks/blocks-sink.ts';
import { halvesOf, piecesOf } from '../../../../src/transfer/blocks/pieces.ts';
import type { HeldMessage } from '../../../../src/transfer/held-message.ts';
import { type BlocksEnvelope, blocksReaderOf } from '../../../../src/wire/blocks-envelope.ts';
import { mergeBlocks } from '../../../../src/wire/native/block-merger.ts';
import { readBlock } from '../../../../src/wire/native/block-reader.ts';
import { type LogRow, logsMessage } from '../../../support/otlp/log-blocks.ts';
import { rowsOfLogBlock } from '../../../support/otlp/log-source.ts';

const arrivedAt = Date.UTC(2026, 5, 1, 12);
const base = 1_400_000_005_000_000n;
const appId = 7;

const rowsOf = (...bodies: readonly string[]): LogRow[] =>
  bodies.map((body, index) => ({ at: arrivedAt - index, service: `s${index % 2}`, body }));

const messageOf = (
  rows: readonly LogRow[],
  { redelivered = false, deferred = [] as readonly object[] } = {},
): HeldMessage<BlocksEnvelope> => {
  const payload = logsMessage(rows, { base, appId, arrivedAt, deferred });
  const read = blocksReaderOf('logs')(payload, 1);
  if (read.kind !== 'envelope') throw new Error(read.kind);
  const settle = { ack: () => {}, nak: () => {}, working: () => {}, free: () => {} };
  return {
    delivery: {
      ...{ payload, subject: 'logs.0', version: 1, streamSequence: 3, redelivered, redrive: 0 },
      ...settle,
    },
    envelope: read.envelope,
    ...{ rows: rows.length, bytes: payload.length, touchedAt: 0, takenAt: 0 },
  };
};

type Recorded = { readonly writer: BlockWriter; readonly names: unknown[]; readonly lookups: TraceTimes[][] };

const recordingWriter = (refused = ''): Recorded => {
  const names: unknown[] = [];
  const lookups: TraceTimes[][] = [];
  const refuse = (blocks: readonly Uint8Array[]): void => {
    if (blocks.some((block) => readBlock(block).texts('Body').includes(refused)))
      throw new Fault('permanent', 'clickhouse_rows_refused', 'no');
  };
  return {
    names,
    lookups,
    writer: {
      insertPlain: async ({ blocks }) => refuse(blocks),
      insertGuarded: async (insert) => {
        refuse(insert.blocks);
        names.push(insert.names);
        return true;
      },
      killCovering: async () => 0,
      repairTraceLookup: async (traces) => {
        lookups.push([...traces]);
      },
      countRepeats: async () => 0,
      optimizeDay: async () => {},
    },
  };
};

const sinkOf = ({ writer }: Recorded) =>
  createBlocksSink(
    [{ table: logsTable, writer, onOverlap: async () => {} }],
    { isFresh: () => true, holds: async () => true },
    {
      pipeline: 'logs',
      stream: 'LOGS',
      boot: 7,
      ackWaitMs: () => 30_000,
      elapsed: () => 0,
      guard: 'suspect',
    },
    { onGuarded: () => {}, onUnanswered: async () => {}, onUnclassified: () => {} },
  );

it('a guarded insert of log records compares their services, and has no lookup of traces', async () => {
  const recorded = recordingWriter();
  const sink = sinkOf(recorded);
  await sink.write([messageOf(rowsOf('a', 'b', 'c'), { redelivered: true })], () => {});
  expect(recorded.names).toEqual([[['s0'], ['s1']]]);
  expect(recorded.lookups.flat()).toEqual([]);
  expect([sink.pipeline, sink.read(messageOf(rowsOf('a')).delivery.payload, 1).kind]).toEqual([
    'logs',
    'envelope',
  ]);
});

it('a log record that the store will never take is dead-lettered alone, as record_refused', async () => {
  const bad = messageOf(rowsOf('a', 'b', 'c'));
  const { deadLettered } = await sinkOf(recordingWriter('b')).write([bad], () => {});
  const letters = deadLettered.get(bad) ?? [];
  expect(letters.map(({ reason, items, identity }) => [reason, items, identity])).toEqual([
    ['record_refused', 1, `${base}:1`],
  ]);
  expect(readBlock(letters[0]?.bytes ?? Buffer.alloc(0)).texts('Body')).toEqual(['b']);
});

it('a deferred log record is dropped by its own time, or where it has none by the observed one', () => {
  const ns = (ms: number): string => `${ms}000000`;
  const late = ns(arrivedAt + 3_600_001);
  const deferred = [
    { timeUnixNano: late, observedTimeUnixNano: ns(arrivedAt) },
    { timeUnixNano: '0', observedTimeUnixNano: late },
    {},
    { observedTimeUnixNano: ns(arrivedAt) },
  ].map((logRecord) => ({ logRecord }));
  const sink = sinkOf(recordingWriter());
  const validated = sink.validate(messageOf(rowsOf('a'), { deferred }).envelope, new Set());
  expect(Object.fromEntries(validated.dropped)).toEqual({
    timestamp_too_far_ahead: 2,
    timestamp_zero_or_missing: 1,
  });
  expect(validated.passed.map(({ reason, why, place }) => [reason, why, place])).toEqual([
    [
      'deferred_item_valid',
      'the receiver deferred a log record, and this version finds its times valid',
      { appId, uid: `${base}+4` },
    ],
  ]);
  expect(Object.fromEntries(validated.tally.get(appId) ?? [])).toMatchObject({ stored: 1, dead_lettered: 1 });
});

it('half of a block of log records is a block of its own, with every column', () => {
  const [piece] = piecesOf([messageOf(rowsOf('a', 'b', 'c', 'd', 'e'))]);
  if (piece === undefined) throw new Error('no piece');
  const halves = halvesOf([piece])?.flat() ?? [];
  const whole = rowsOfLogBlock(piece.block);
  expect(whole.map(({ Body: body }) => body)).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(halves.map(({ block }) => rowsOfLogBlock(block))).toEqual([whole.slice(0, 3), whole.slice(3)]);
  expect(
    mergeBlocks(
      halves.map(({ block }) => block),
      { rowsMax: 100, bytesMax: 1e6 },
    ).map(rowsOfLogBlock),
  ).toEqual([whole]);
});
