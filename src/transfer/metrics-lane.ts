import { bytesIdentity } from '../dead-letters/dead-letters.ts';
import type { QuestdbWriter } from '../stores/questdb/writer.ts';
import { decodeEnvelope, type MetricsEnvelope } from '../wire/envelope.ts';
import { type HeldMessage, judgeDeferred, rowsOf } from './held-message.ts';
import type { Lane, SetAside } from './lane.ts';
import { type RefusedRow, writeBatch } from './write-batch.ts';

const uidPattern = /[, ]uid=(\d+)i/;

const refusedRow = ({ table, row, why }: RefusedRow): SetAside => {
  const uid = uidPattern.exec(Buffer.from(row).toString('utf8'))?.[1];
  return {
    reason: 'row_refused',
    why,
    bytes: row,
    identity: uid ?? bytesIdentity(row),
    items: 1,
    place: { table, ...(uid === undefined ? {} : { uid }) },
  };
};

/** Points: METRICS -> QuestDB. */
export const createMetricsLane = (
  writer: QuestdbWriter,
  onMissingTable: (table: string) => void,
): Lane<MetricsEnvelope> => ({
  pipeline: 'metrics',
  store: 'QuestDB',
  read: decodeEnvelope,
  rowsOf: ({ header }) => rowsOf(header),
  itemsOf: ({ header }) => header.parts.reduce((sum, part) => sum + part.points, 0),
  write: async (batch, onWrite) => {
    const { refused, missingTables } = await writeBatch(writer, batch, onWrite);
    const setAside = new Map<HeldMessage, SetAside[]>();
    for (const row of refused) {
      const rows = setAside.get(row.message);
      if (rows === undefined) setAside.set(row.message, [refusedRow(row)]);
      else rows.push(refusedRow(row));
    }
    const homeless = new Set<HeldMessage>();
    for (const table of missingTables) {
      onMissingTable(table);
      for (const message of batch) {
        if (message.envelope.header.parts.some((part) => part.table === table)) homeless.add(message);
      }
    }
    return { setAside, homeless };
  },
  judge: (envelope) => {
    const { dropped, passed, unreadable } = judgeDeferred(envelope);
    return {
      dropped,
      unreadable,
      passed: passed.map(({ dataId, base, ordinal, text }) => ({
        reason: 'deferred_item_valid',
        why: 'the receiver deferred a point whose time this program finds valid',
        bytes: Buffer.from(text),
        identity: `${base}:${ordinal}`,
        items: 1,
        place: { dataId, uid: `${base}+${ordinal}` },
      })),
    };
  },
});
