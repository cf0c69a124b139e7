import type { RowsArrived } from './arrived-rows.ts';
import type { Difference, Owner } from './difference.ts';

/** What an earlier look has found of a loss. */
export type KnownLoss = {
  /** Items of its owner and minute that are unrecorded. */
  readonly unrecorded: number;
  /** It was called a loss. */
  readonly isLost: boolean;
};

/** What else is known of the items that seem lost. */
export type LossEvidence = {
  /** Items of the owner and minute (Unix seconds) whose record is there, although the place of their message is not. */
  readonly recorded: (owner: Owner, minute: number) => number;
  /** Rows that the store has of each owner and no record names, by `ownerText`; in a split table they are more than the items. */
  readonly unrecordedRows: (owners: readonly Owner[]) => Promise<ReadonlyMap<string, number>>;
  /** How many of these rows were there before the minute: they are of no message of it. */
  readonly rowsBefore: (owner: Owner, minute: number) => number;
  /** How many of these rows arrived in the minute of each of these, and in the next one. */
  readonly rowsArrived: (differences: readonly Difference[]) => Promise<RowsArrived>;
  readonly known: (loss: Difference) => KnownLoss;
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

/** Of the messages of a loss, those of which these items are. Without a message they would be a difference with a store. */
const settledMessages = (each: Difference, items: number): number => {
  if (items === 0) return 0;
  const messages = Math.max(1, Math.round((each.messages * items) / each.items));
  // What is left is of one message at least, where there are several.
  return items < each.items && each.messages > 1 ? Math.min(messages, each.messages - 1) : messages;
};

/** A loss, and what explains it. */
type Loss = { readonly each: Difference; readonly ofRecords: number; ofStore: number };

/** Rows without a record: those that are left of each owner, and of those that arrived in each minute. */
class RowsLeft {
  private readonly left: Map<string, number>;
  private readonly arrived: RowsArrived;
  private readonly minutes = new Map<string, { rows: number; early: number }>();

  constructor(left: Map<string, number>, arrived: RowsArrived) {
    this.left = left;
    this.arrived = arrived;
  }

  /** Gives a loss rows of its own minute, or early ones of the next. `before`: this many are of none. */
  give(loss: Loss, limit: number, part: 'own' | 'early', before: number): void {
    const { each, ofRecords, ofStore } = loss;
    const owner = ownerText(each);
    const left = this.left.get(owner) ?? 0;
    const there = this.minuteOf(each, part === 'own' ? each.minute : each.minute + 60);
    const here = part === 'own' ? there.rows : Math.min(there.rows, there.early);
    const taken = Math.max(0, Math.min(each.items - ofRecords - ofStore, limit, left - before, here));
    loss.ofStore += taken;
    this.left.set(owner, left - taken);
    there.rows -= taken;
    if (part === 'early') there.early -= taken;
  }

  private minuteOf(owner: Owner, minute: number): { rows: number; early: number } {
    const key = `${ownerText(owner)} ${minute}`;
    const there = this.minutes.get(key) ?? { ...this.arrived(owner, minute) };
    this.minutes.set(key, there);
    return there;
  }
}

/**
 * Gives each row of the stores to one loss. Rows of a message whose record alone is gone are no other one's; it has no more of them than
 * arrived in its minute, since some of its items may have been dropped. Then every loss has rows of its own minute before any has those
 * that arrived soon after it. What an earlier look has called unrecorded stays so, as far as there are rows, and what it has called lost
 * stays so, as far as other losses need them: rows cannot be of a message that was missed before they came. Else the earliest losses have
 * them, since rows are there after their arrival.
 */
const shareRows = async (
  losses: readonly Loss[],
  { unrecordedRows, rowsBefore, rowsArrived, known, withoutRecord }: LossEvidence,
): Promise<void> => {
  const open = losses.filter(({ each, ofRecords }) => each.items > ofRecords);
  const asked = new Map(open.map(({ each }) => [ownerText(each), each]));
  const left = new Map(await unrecordedRows([...asked.values()]));
  const inOrder = open
    .filter(({ each }) => (left.get(ownerText(each)) ?? 0) > 0)
    .toSorted((a, b) => a.each.minute - b.each.minute);
  if (inOrder.length === 0) return;
  const placed = withoutRecord
    .filter((each) => asked.has(ownerText(each)))
    .map((each): Loss => ({ each, ofRecords: 0, ofStore: 0 }));
  const rows = new RowsLeft(left, await rowsArrived([...inOrder, ...placed].map(({ each }) => each)));
  const give = (loss: Loss, limit: number, part: 'own' | 'early'): void =>
    rows.give(loss, limit, part, rowsBefore(loss.each, loss.each.minute));
  const limits: ((loss: Loss) => number)[] = [
    ({ each, ofRecords }) => known(each).unrecorded - ofRecords,
    ({ each }) => (known(each).isLost ? 0 : each.items),
    ({ each }) => each.items,
  ];
  for (const part of ['own', 'early'] as const) {
    for (const loss of placed) give(loss, loss.each.items, part);
    for (const limitOf of limits) for (const loss of inOrder) give(loss, limitOf(loss), part);
  }
};

/**
 * Items whose record is there, or whose rows the store has without a record, were not lost: only lines of the settlers' book are gone.
 * They are unrecorded. One loss stands in one difference.
 */
export const explainLosses = async (
  found: readonly Difference[],
  evidence: LossEvidence,
): Promise<ExplainedLosses> => {
  const byStore = new Map<string, number>();
  const byMinute = new Map<number, Map<string, number>>();
  const differences = found.filter((each) => !isLoss(each) || each.items === 0);
  const addToStore = (owner: string, minute: number, items: number): void => {
    byStore.set(owner, items + (byStore.get(owner) ?? 0));
    const owners = byMinute.get(minute) ?? new Map<string, number>();
    byMinute.set(minute, owners.set(owner, items + (owners.get(owner) ?? 0)));
  };
  const losses = found
    .filter((each) => isLoss(each) && each.items > 0)
    .map((each): Loss => {
      const ofRecords = Math.min(each.items, evidence.recorded(each, each.minute));
      return { each, ofRecords, ofStore: 0 };
    });
  await shareRows(losses, evidence);
  for (const { each, ofRecords, ofStore } of losses) {
    if (ofStore > 0) addToStore(ownerText(each), each.minute, ofStore);
    const items = ofRecords + ofStore;
    const messages = settledMessages(each, items);
    if (items > 0) differences.push({ ...each, kind: 'unrecorded', items, messages });
    if (items < each.items)
      differences.push({
        ...each,
        items: each.items - items,
        messages: Math.max(0, each.messages - messages),
      });
  }
  // Their rows, as far as they were stored, are rows without a record: the stores' own comparison does not name them again.
  for (const each of evidence.withoutRecord) {
    addToStore(ownerText(each), each.minute, each.items);
    differences.push({ ...each, placedItems: each.items });
  }
  return { differences: mergeEqual(differences), byStore, byMinute };
};
