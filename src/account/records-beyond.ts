import type { Recorded } from './books.ts';
import type { Evidence, OwnerMinute } from './compare.ts';
import type { LossEvidence } from './explain-losses.ts';
import type { MissingRecords } from './missing-records.ts';

const textOf = ({ dataId, appId, minute }: OwnerMinute): string => `${dataId} ${appId} ${minute}`;

/** By owner and minute: items that records have beyond the places of their messages. */
export const itemsBeyond = (
  recorded: readonly Recorded[],
  settled: Evidence['settled'],
  withoutRecord: readonly MissingRecords[],
): LossEvidence['recorded'] => {
  const beyond = new Map<string, number>();
  const add = (each: OwnerMinute, items: number): void => {
    beyond.set(textOf(each), (beyond.get(textOf(each)) ?? 0) + items);
  };
  for (const each of recorded) add(each, each.items);
  for (const each of withoutRecord) add(each, each.items);
  for (const each of settled) add(each, -each.counted - each.beyond - each.doubtful);
  return ({ dataId, appId }, minute) => Math.max(0, beyond.get(textOf({ dataId, appId, minute })) ?? 0);
};
