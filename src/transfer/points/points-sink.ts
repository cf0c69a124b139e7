import type { Purges } from '../../directory/purges.ts';
import { unclassifiedStatus } from '../../stores/questdb/writer.ts';
import { decodeEnvelope, type MetricsEnvelope } from '../../wire/metrics-envelope.ts';
import type { HeldMessage } from '../held-message.ts';
import type { DeadLettered, Sink, Written } from '../sink.ts';
import { refusedRows, unavailablePart } from './point-letters.ts';
import type { TableHealth, TableReport } from './table-health.ts';
import { rowsOf, validatePoints } from './validate-points.ts';
import { type BatchWriter, type RefusedRow, writeBatch } from './write-batch.ts';
import { writeTables } from './write-tables.ts';

const purgedOf = (batch: readonly HeldMessage[], purges: Pick<Purges, 'has'>): Set<number> => {
  const purged = new Set<number>();
  for (const { envelope } of batch) {
    for (const { dataId } of [...envelope.header.parts, ...envelope.header.deferred]) {
      if (purges.has(dataId)) purged.add(dataId);
    }
  }
  return purged;
};

/** Tables of the batch on this store, except those of purged data ids. */
const tablesOf = (
  batch: readonly HeldMessage[],
  purged: ReadonlySet<number>,
  isOurs: (dataId: number) => boolean,
): Set<string> => {
  const tables = new Set<string>();
  for (const { envelope } of batch) {
    for (const { table, dataId } of envelope.header.parts)
      if (!purged.has(dataId) && !tables.has(table) && isOurs(dataId)) tables.add(table);
  }
  return tables;
};

/** The missing tables, except those of data ids that were purged meanwhile, which are added to the purged ones. */
const missedOf = (
  missing: ReadonlySet<string>,
  batch: readonly HeldMessage[],
  purged: Set<number>,
  purges: Pick<Purges, 'has'>,
): Set<string> => {
  const missed = new Set(missing);
  if (missing.size === 0) return missed;
  for (const { envelope } of batch) {
    for (const { table, dataId } of envelope.header.parts) {
      if (!missing.has(table) || !purges.has(dataId)) continue;
      purged.add(dataId);
      missed.delete(table);
    }
  }
  return missed;
};

/** The result for each message, from the results for its tables. */
const writtenOf = (
  batch: readonly HeldMessage[],
  { verdicts, why, problem }: TableReport,
  refused: readonly RefusedRow[],
  purged: ReadonlySet<number>,
): Written<MetricsEnvelope> => {
  const retryLater = new Set<HeldMessage>();
  const deadLettered = new Map<HeldMessage, DeadLettered[]>();
  const add = (message: HeldMessage, more: readonly DeadLettered[]): void => {
    deadLettered.set(message, [...(deadLettered.get(message) ?? []), ...more]);
  };
  for (const message of batch) {
    for (const [index, part] of message.envelope.header.parts.entries()) {
      if (purged.has(part.dataId)) continue;
      const verdict = verdicts.get(part.table);
      if (verdict === 'wait') retryLater.add(message);
      const bytes = message.envelope.partBytes[index];
      if (verdict === 'dead_letter' && bytes !== undefined)
        add(message, [unavailablePart(part, bytes, why(part.table))]);
    }
  }
  for (const [message, rows] of Map.groupBy(refused, (row) => row.message)) {
    const isTaken = (verdict: string | undefined): boolean => verdict === undefined || verdict === 'stored';
    const kept = rows.filter(({ part }) => !purged.has(part.dataId) && isTaken(verdicts.get(part.table)));
    if (kept.length > 0) add(message, refusedRows(kept));
  }
  return { deadLettered, retryLater, purged, ...(problem === undefined ? {} : { problem }) };
};

/** Above what spans have: an interval that full load had grown would stay at half load, and points be visible twice as late. */
const pointShares = { grow: 0.75, shrink: 0.45 } as const;

export type PointsSinkEvents = {
  /** QuestDB answered with a status and a text that Tidemark does not know. */
  readonly onUnclassified: (status: string) => void;
  /** Whether the table of a data id lies on the store that this sink writes to; other sinks write the rows of others. */
  readonly isOurs: (dataId: number) => boolean;
};

/**
 * Points: METRICS -> QuestDB. Those of purged data ids are dropped, by the purges known when the write begins: an earlier write may
 * finish. Others in the same message are stored as usual. `health` decides about the rows of a table that takes none.
 */
export const createPointsSink = (
  writer: BatchWriter,
  purges: Pick<Purges, 'has'>,
  health: TableHealth,
  { onUnclassified, isOurs }: PointsSinkEvents,
): Sink<MetricsEnvelope> => ({
  pipeline: 'metrics',
  store: 'QuestDB',
  busyShares: pointShares,
  read: decodeEnvelope,
  rowsOf: ({ header }) => rowsOf(header),
  write: async (batch, onWrite) => {
    const purged = purgedOf(batch, purges);
    try {
      const plan = await health.plan(tablesOf(batch, purged, isOurs));
      const tried = await writeTables(
        (isWanted) =>
          writeBatch(
            writer,
            batch,
            onWrite,
            ({ dataId, table }) => purged.has(dataId) || !isWanted(table),
            health.noteBroken,
          ),
        plan.together,
        plan.apart,
      );
      const missingTables = missedOf(tried.missingTables, batch, purged, purges);
      const report = await health.report(plan, { ...tried, missingTables }, batch, purged);
      return writtenOf(batch, report, tried.refused, purged);
    } catch (error) {
      const status = unclassifiedStatus(error);
      if (status === undefined) health.storeFailed();
      else {
        onUnclassified(String(status));
        health.answeredUnknown();
      }
      throw error;
    }
  },
  validate: validatePoints,
});
