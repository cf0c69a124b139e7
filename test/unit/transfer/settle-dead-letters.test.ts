import { describe, expect, it } from 'vitest';
import { messageIdHeader } from '../../../src/bus/message-headers.ts';
import type { Delivery } from '../../../src/bus/puller.ts';
import { countedPlaces } from '../../../src/dead-letters/counted-places.ts';
import { type Letter, readLetter } from '../../../src/dead-letters/dead-letter.ts';
import { createDeadLetters } from '../../../src/dead-letters/dead-letters.ts';
import { redriveMessage } from '../../../src/dead-letters/redrive-message.ts';
import { accountOf, type MessageAccount, type MessageRecord } from '../../../src/outcomes/message-account.ts';
import type { SettledLine } from '../../../src/outcomes/rows.ts';
import { createTransferMetrics } from '../../../src/telemetry/transfer-metrics.ts';
import { validatePoints } from '../../../src/transfer/points/validate-points.ts';
import { settledLinesOf } from '../../../src/transfer/record-outcomes.ts';
import { createSettleDeadLetters } from '../../../src/transfer/settle-dead-letters.ts';
import type { DeadLettered } from '../../../src/transfer/sink.ts';
import {
  decodeEnvelope,
  encodeEnvelope,
  type MetricsHeader,
  type Part,
} from '../../../src/wire/metrics-envelope.ts';
import type { Redrive } from '../../../src/wire/redrive.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const arrivedAt = Date.UTC(2026, 5, 1, 12);
const base = '5000';
const row = 'a up=1,uid=5000i 1\n';
const section = '[{"metrics"';

const payloadOf = (sections: Readonly<Record<number, number>>, redrive?: Redrive): Buffer => {
  const part: Part = {
    ...{ dataId: 1, table: 'a', rows: 1, points: 1, base, first: 0, last: 0, bytes: row.length },
    ...{ timeMin: arrivedAt, timeMax: arrivedAt },
    layout: 'wide',
  };
  const deferred = Object.entries(sections).map(([owner, items], index) => ({
    ...{ dataId: Number(owner), arrivedAt, base, bytes: section.length },
    policy: { aheadMsMax: undefined, ageMsMax: undefined },
    ordinals: Array.from({ length: items }, (_, item) => 10 * (index + 1) + item),
  }));
  const header: MetricsHeader = {
    ...{ version: 1, kind: 'metrics', arrivedAt, key: { base, first: 0 }, outcomes: [], deferred },
    parts: [part],
    ...(redrive === undefined ? {} : { redrive }),
  };
  return encodeEnvelope(header, [row, ...deferred.map(() => section)]);
};

const refusedRow: DeadLettered = {
  ...{ reason: 'row_refused', why: 'no', bytes: Buffer.from(row), identity: `${base}:0:a`, items: 1 },
  place: { dataId: 1, table: 'a', uid: base },
  uid: 5000n,
};

/** Settles one delivery of a message: its dead letters with their message ids, and its records. */
const settle = async (
  payload: Uint8Array,
  redrive: number,
  refused: readonly DeadLettered[] = [],
): Promise<{ letters: Letter[]; ids: string[]; lines: SettledLine[] }> => {
  const letters: Letter[] = [];
  const ids: string[] = [];
  const deadLetters = createDeadLetters({
    publish: async (subject, id, bytes) => {
      const stored = { sequence: ids.push(id), subject, time: arrivedAt };
      const headers = new Map([[messageIdHeader, id]]);
      const letter = readLetter({
        ...stored,
        headers,
        payload: Buffer.concat([bytes].flat().map(Buffer.from)),
      });
      if (letter === undefined) throw new Error('no letter');
      letters.push(letter);
      return { duplicate: false, wasKnown: false, tries: 1, sequence: ids.length };
    },
    pending: 0,
    sizeMax: undefined,
    askSizeMax: async () => {},
    close: () => {},
  });
  const settler = createSettleDeadLetters({
    ...{ sink: { pipeline: 'metrics' }, stream: 'METRICS', deadLetters, log: silent, now: () => arrivedAt },
    samples: { deadLettered: () => {}, purged: () => {} },
    metrics: createTransferMetrics(),
  });
  const delivery: Delivery = {
    ...{
      payload,
      subject: 'metrics.0',
      version: 1,
      streamSequence: 7 + redrive,
      redelivered: false,
      redrive,
    },
    ...{ ack: () => {}, nak: () => {}, working: () => {}, free: () => {} },
  };
  const read = decodeEnvelope(payload, 1);
  if (read.kind !== 'envelope') throw new Error(read.kind);
  const validated = validatePoints(read.envelope, new Set());
  const { key } = validated;
  const kept = await settler.itemsOf(delivery, validated, refused, key);
  const message = { delivery, stream: 'METRICS', validated, key, letters: kept.letters };
  return { letters, ids, lines: settledLinesOf('metrics', message, arrivedAt) };
};

const recordsOf = (lines: readonly SettledLine[], dataId: number): MessageRecord[] =>
  lines
    .filter((line) => line.data_id === dataId)
    .map(({ letters = [], letter_items: letterItems = [], ...line }) => ({ ...line, letters, letterItems }));

/** The account of an owner once these letters were purged. */
const purged = (
  lines: readonly SettledLine[],
  letters: readonly Letter[],
  dataId: number,
): MessageAccount => {
  const acts = letters.flatMap(countedPlaces).filter(({ message }) => message.data_id === dataId);
  return accountOf([
    ...recordsOf(lines, dataId),
    ...acts.map(({ ordinal, redrive, items }) => ({
      ...{ ordinal, redrive: redrive + 1, received: 0, letters: [], letterItems: [] },
      outcomes: { dead_lettered: -items, 'dropped/purged_by_operator': items },
    })),
  ]);
};

// A purge whose record no record names would leave items dead-lettered for ever, without a dead letter.
describe('the dead letter of a message with sections that cannot be read', () => {
  it.each([0, 1, 2, 3])('is purged for each of its owners after %i redrives', async (redrives) => {
    const { letters, lines } = await settle(payloadOf({ 1: 2, 2: 3 }), redrives);
    expect(letters).toHaveLength(1);
    for (const [dataId, items] of [
      [1, 2],
      [2, 3],
    ] as const) {
      const { outcomes, open } = purged(lines, letters, dataId);
      expect(open).toEqual([]);
      expect([outcomes.get('dead_lettered'), outcomes.get('dropped/purged_by_operator')]).toEqual([0, items]);
    }
  });

  it('has message ids of its own after each redrive, and the same ones in each delivery', async () => {
    const payload = payloadOf({ 1: 2 });
    const ids: unknown[] = [];
    for (const redrive of [0, 0, 1, 1, 2]) {
      const { letters, ids: made } = await settle(payload, redrive);
      const [letter] = letters;
      if (letter === undefined) throw new Error('no letter');
      const next = redriveMessage(letter);
      expect(next.headers).toEqual({ 'Tidemark-Redrive': String(redrive + 1) });
      ids.push(`${made[0]} ${next.messageId}`);
    }
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).toBe(ids[3]);
    expect(new Set(ids).size).toBe(3);
  });
});

describe('the dead letter of an item', () => {
  it('that is refused out of a redriven message has the number under which the record names it', async () => {
    const { letters, lines } = await settle(payloadOf({}), 1, [refusedRow]);
    expect(letters.map(({ header }) => header.redrive)).toEqual([0]);
    expect(accountOf(recordsOf(lines, 1)).open).toEqual([{ redrive: 0, ordinal: 0, items: 1 }]);
    const { outcomes, open } = purged(lines, letters, 1);
    expect(open).toEqual([]);
    expect(outcomes.get('dropped/purged_by_operator')).toBe(1);
  });

  it.each([1, 2, 3])('that is refused again in its redrive %i has that number', async (number) => {
    const outcome = { base, first: 0, ordinal: 0, minute: '2026-06-01 12:00:00' };
    const { letters, lines, ids } = await settle(payloadOf({}, { number, items: 1, outcome }), number, [
      refusedRow,
    ]);
    expect(ids).toEqual([`dl:${base}:0:a:${number}`]);
    expect(lines).toMatchObject([{ redrive: number, letters: [0], letter_items: [1] }]);
    expect(letters.flatMap(countedPlaces)).toMatchObject([{ redrive: number, ordinal: 0, items: 1 }]);
  });
});
