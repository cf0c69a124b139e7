import { expect, it } from 'vitest';
import { piecesOf, refusedPiece } from '../../../../src/transfer/blocks/pieces.ts';
import type { HeldMessage } from '../../../../src/transfer/held-message.ts';
import {
  type BlockPart,
  type BlocksEnvelope,
  blocksReaderOf,
  encodeBlocksEnvelope,
} from '../../../../src/wire/blocks-envelope.ts';
import { envelopeVersion } from '../../../../src/wire/frame.ts';
import { encodeBlock, nameColumn, WordColumn } from '../../../../src/wire/native/columns.ts';
import { pushTime } from '../../../../src/wire/otlp/numbers.ts';

const arrivedAt = Date.UTC(2026, 5, 1, 12);
const base = 1_400_000_005_000_000n;
const nanos = `${arrivedAt}000005`;

/** A block of one row with uid and time, which is what a dead letter of a data point needs of it. */
const blockOf = (ordinal: number): Buffer => {
  const uid = new WordColumn('UInt64');
  const time = new WordColumn('DateTime64(9)');
  const value = base + BigInt(ordinal);
  uid.push(Number(value & 0xffff_ffffn), Number(value >> 32n));
  pushTime(time, arrivedAt, 5);
  return encodeBlock([nameColumn('TimeUnix', time), nameColumn('uid', uid)], 1);
};

const messageOf = (itemTable: NonNullable<BlockPart['itemTable']>): HeldMessage<BlocksEnvelope> => {
  const block = blockOf(3);
  const part = {
    ...{ appId: 7, bizId: 2, day: Math.floor(arrivedAt / 86_400_000), rows: 1, base: String(base) },
    ...{ first: 3, last: 3, timeMin: nanos, timeMax: nanos, bytes: block.length, itemTable },
  };
  const parts = { parts: [part], deferred: [], outcomes: [] };
  const payload = encodeBlocksEnvelope(
    { version: envelopeVersion, kind: 'data_points', arrivedAt, ...parts },
    [block],
  );
  const read = blocksReaderOf('data_points')(payload, 1);
  if (read.kind !== 'envelope') throw new Error(read.kind);
  return {
    delivery: {
      ...{ payload, subject: 'otelmetrics.0', version: 1, streamSequence: 3, redelivered: false, redrive: 0 },
      ...{ ack: () => {}, nak: () => {}, working: () => {} },
    },
    envelope: read.envelope,
    ...{ rows: 1, bytes: payload.length, touchedAt: 0, takenAt: 0 },
  };
};

it('a data point that the store will never take is dead-lettered alone, as data_point_refused, with its table', () => {
  const [piece] = piecesOf([messageOf('otel_metrics_sum')]);
  if (piece === undefined) throw new Error('the message has no piece');
  const { reason, identity, uid, part } = refusedPiece(piece, 'no');
  expect([reason, identity, uid]).toEqual(['data_point_refused', `${base}:3`, base + 3n]);
  expect(part).toMatchObject({ itemTable: 'otel_metrics_sum', timeMin: nanos, first: 3 });
});
