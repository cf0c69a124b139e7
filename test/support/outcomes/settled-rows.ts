import type { Pipeline } from '../../../src/model/signals.ts';
import { outcomeRows, redriveRows } from '../../../src/outcomes/outcome-rows.ts';
import { moveToDeadLetters } from '../../../src/outcomes/tally.ts';
import type { Clickhouse } from '../../../src/stores/clickhouse/client.ts';
import type { DeadLettered, Validated } from '../../../src/transfer/sink.ts';
import { takenDays } from '../../../src/transfer/taken-days.ts';
import { relativeSums } from '../../../src/wire/part-days.ts';

/** A record as it is inserted; its `book` is 0 where an earlier program wrote it. */
export type SettledRecord = Readonly<Record<string, unknown>>;

/** The records of a message as transfer settles it: with its dead letters, and what the store has taken. */
export const settledRecords = (
  pipeline: Pipeline,
  validated: Validated,
  refused: readonly DeadLettered[] = [],
): SettledRecord[] => {
  const { key, tally, arrivedAt, redrive } = validated;
  if (key === undefined) throw new Error('the message has no key');
  for (const { place, items } of refused) moveToDeadLetters(tally, place.dataId ?? place.appId ?? 0, items);
  const days = takenDays(validated.days ?? new Map(), refused);
  const now = Date.now();
  const rows =
    redrive === undefined
      ? outcomeRows(pipeline, key, tally, arrivedAt, now)
      : redriveRows(pipeline, redrive, tally, now);
  return rows.map((row) => {
    const owner = row.data_id + row.app_id;
    const taken = days.get(owner) ?? { days: [], rows: [], sums: [] };
    const letters = refused.filter(({ place }) => (place.dataId ?? place.appId) === owner);
    return {
      ...row,
      letters: letters.map(({ uid }) => Number((uid ?? 0n) - BigInt(key.base))),
      letter_items: letters.map(({ items }) => items),
      days: taken.days,
      day_rows: taken.rows,
      day_sums: relativeSums(taken, row.base),
      book: 1,
    };
  });
};

export const insertRecords = async (
  clickhouse: Clickhouse,
  records: readonly SettledRecord[],
): Promise<void> => {
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  await clickhouse.insert('INSERT INTO otel.ingest_outcomes FORMAT JSONEachRow', [Buffer.from(lines)]);
};
