import type { Difference, Owner } from './difference.ts';

/** What else is known of the items that seem lost. */
export type LossEvidence = {
  /** Items of the owner and minute (Unix seconds) whose record is there, although the place of their message is not. */
  readonly recorded: (owner: Owner, minute: number) => number;
  /** Rows that the store has of each owner and no record names, by `ownerText`; in a split table they are more than the items. */
  readonly unrecordedRows: (owners: readonly Owner[]) => Promise<ReadonlyMap<string, number>>;
  /** How many of these rows were there before the minute: they are of no message of it. */
  readonly rowsBefore: (owner: Owner, minute: number) => number;
  /** Messages whose record is gone although their place is there. */
  readonly withoutRecord: readonly Difference[];
};

export type ExplainedLosses = {
  readonly differences: readonly Difference[];
  /** Items of the owner, by `ownerText`, that the store has without a record. */
  readonly byStore: ReadonlyMap<string, number>;
  /** The same by minute (Unix seconds). */
  readonly byMinute: ReadonlyMap<number, ReadonlyMap<string, number>>;
};

/** Whether items seem lost. */
export const isLoss = ({ kind }: Difference): boolean =>
  kind === 'lost_in_the_stream' || kind === 'lost_by_the_engine';

export const ownerText = ({ pipeline, dataId, appId }: Owner): string => `${pipeline} ${dataId} ${appId}`;

/** Two differences of one kind, owner and minute are one. */
export const mergeEqual = (differences: readonly Difference[]): Difference[] => {
  const merged = new Map<string, Difference>();
  for (const each of differences) {
    const key = `${each.kind} ${each.stream} ${ownerText(each)} ${each.minute}`;
    const known = merged.get(key);
    const { items, messages, placedItems = 0 } = known ?? { items: 0, messages: 0 };
    merged.set(key, {
      ...each,
      items: each.items + items,
      messages: each.messages + messages,
      placedItems: (each.placedItems ?? 0) + placedItems,
    });
  }
  return [...merged.values()];
};

/**
 * Items whose record is there, or whose rows the store has without a record, were not lost: only lines of the settlers' book are gone.
 * They are unrecorded. One loss stands in one difference.
 */
export const explainLosses = async (
  found: readonly Difference[],
  { recorded, unrecordedRows, rowsBefore, withoutRecord }: LossEvidence,
): Promise<ExplainedLosses> => {
  const byStore = new Map<string, number>();
  const byMinute = new Map<number, Map<string, number>>();
  const differences: Difference[] = [];
  const addToStore = (owner: string, minute: number, items: number): void => {
    byStore.set(owner, items + (byStore.get(owner) ?? 0));
    const owners = byMinute.get(minute) ?? new Map<string, number>();
    byMinute.set(minute, owners.set(owner, items + (owners.get(owner) ?? 0)));
  };
  const asked = new Map<string, Owner>();
  for (const each of found)
    if (isLoss(each) && each.items > recorded(each, each.minute)) asked.set(ownerText(each), each);
  const rowsLeft = new Map(await unrecordedRows([...asked.values()]));
  for (const each of found) {
    if (!isLoss(each) || each.items === 0) {
      differences.push(each);
      continue;
    }
    const owner = ownerText(each);
    const ofRecords = Math.min(each.items, recorded(each, each.minute));
    const left = each.items - ofRecords;
    const rows = rowsLeft.get(owner) ?? 0;
    const ofStore = left === 0 ? 0 : Math.min(left, Math.max(0, rows - rowsBefore(each, each.minute)));
    rowsLeft.set(owner, rows - ofStore);
    if (ofStore > 0) addToStore(owner, each.minute, ofStore);
    const items = ofRecords + ofStore;
    // Without a message it would be a difference with a store.
    const messages = items === 0 ? 0 : Math.max(1, Math.round((each.messages * items) / each.items));
    if (items > 0) differences.push({ ...each, kind: 'unrecorded', items, messages });
    if (items < each.items)
      differences.push({
        ...each,
        items: each.items - items,
        messages: Math.max(0, each.messages - messages),
      });
  }
  // Their rows, as far as they were stored, are rows without a record: the stores' own comparison does not name them again.
  for (const each of withoutRecord) {
    addToStore(ownerText(each), each.minute, each.items);
    differences.push({ ...each, placedItems: each.items });
  }
  return { differences: mergeEqual(differences), byStore, byMinute };
};
