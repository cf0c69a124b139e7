import { bytesIdentity } from '../dead-letters/dead-letters.ts';
import type { Purges } from '../directory/purges.ts';
import { messageKeyOf } from '../outcomes/outcome-rows.ts';
import { addOutcome, addReceiverDrops, storedOutcome } from '../outcomes/tally.ts';
import type { QuestdbWriter } from '../stores/questdb/writer.ts';
import { decodeEnvelope, type MetricsEnvelope } from '../wire/envelope.ts';
import { drop, type HeldMessage, judgeDeferred, type PassedItem, rowsOf } from './held-message.ts';
import type { Judged, Lane, SetAside, Written } from './lane.ts';
import { type BatchResult, type RefusedRow, writeBatch } from './write-batch.ts';

const uidPattern = /[, ]uid=(\d+)i/;

const refusedRow = ({ dataId, table, row, why }: RefusedRow): SetAside => {
  const uid = uidPattern.exec(Buffer.from(row).toString('utf8'))?.[1];
  return {
    reason: 'row_refused',
    why,
    bytes: row,
    identity: uid ?? bytesIdentity(row),
    items: 1,
    place: { dataId, table, ...(uid === undefined ? {} : { uid }) },
    ...(uid === undefined ? {} : { uid: BigInt(uid) }),
  };
};

const purgedOf = (batch: readonly HeldMessage[], purges: Pick<Purges, 'has'>): Set<number> => {
  const purged = new Set<number>();
  for (const { envelope } of batch) {
    for (const { dataId } of [...envelope.header.parts, ...envelope.header.deferred]) {
      if (purges.has(dataId)) purged.add(dataId);
    }
  }
  return purged;
};

/** What became of the batch. A table that is gone because its data id was purged meanwhile leaves nobody homeless. */
const writtenOf = (
  batch: readonly HeldMessage[],
  { refused, missingTables }: BatchResult,
  purged: Set<number>,
  purges: Pick<Purges, 'has'>,
  onMissingTable: (table: string) => void,
): Written<MetricsEnvelope> => {
  const homeless = new Set<HeldMessage>();
  const missing = new Set<string>();
  for (const message of batch) {
    for (const { table, dataId } of message.envelope.header.parts) {
      if (!missingTables.has(table) || purged.has(dataId)) continue;
      if (purges.has(dataId)) purged.add(dataId);
      else {
        homeless.add(message);
        missing.add(table);
      }
    }
  }
  for (const table of missing) onMissingTable(table);
  const setAside = new Map<HeldMessage, SetAside[]>();
  for (const row of refused) {
    if (purged.has(row.dataId)) continue;
    const rows = setAside.get(row.message);
    if (rows === undefined) setAside.set(row.message, [refusedRow(row)]);
    else rows.push(refusedRow(row));
  }
  return { setAside, homeless, purged };
};

const passedPoint = ({ owner, base, ordinal, text }: PassedItem): SetAside => ({
  reason: 'deferred_item_valid',
  why: 'the receiver deferred a point whose time this program finds valid',
  bytes: Buffer.from(text),
  identity: `${base}:${ordinal}`,
  items: 1,
  place: { dataId: owner, uid: `${base}+${ordinal}` },
  uid: BigInt(base) + BigInt(ordinal),
});

const judge = (envelope: MetricsEnvelope, purged: ReadonlySet<number>): Judged => {
  const { header } = envelope;
  const verdicts = judgeDeferred(envelope, purged);
  const { dropped, tally, passed, unreadableItems } = verdicts;
  let kept = 0;
  let rows = 0;
  for (const part of header.parts) {
    if (purged.has(part.dataId)) drop(verdicts, part.dataId, 'data_source_purged', part.points);
    else {
      addOutcome(tally, part.dataId, storedOutcome, part.points);
      kept += part.points;
      rows += part.rows;
    }
  }
  for (const { dataId, dropped: drops } of header.outcomes) addReceiverDrops(tally, dataId, drops);
  return {
    arrivedAt: header.arrivedAt,
    key: messageKeyOf(header),
    kept,
    rows,
    dropped,
    tally,
    passed: passed.map(passedPoint),
    unreadableItems,
  };
};

/**
 * Points: METRICS -> QuestDB. Those of purged data ids are dropped, as of the purges known when the write begins: a write that
 * was begun before may finish. Others in the same message are stored as ever.
 */
export const createMetricsLane = (
  writer: QuestdbWriter,
  purges: Pick<Purges, 'has'>,
  onMissingTable: (table: string) => void,
): Lane<MetricsEnvelope> => ({
  pipeline: 'metrics',
  store: 'QuestDB',
  read: decodeEnvelope,
  rowsOf: ({ header }) => rowsOf(header),
  write: async (batch, onWrite) => {
    const purged = purgedOf(batch, purges);
    const result = await writeBatch(writer, batch, onWrite, purged);
    return writtenOf(batch, result, purged, purges, onMissingTable);
  },
  judge,
});
