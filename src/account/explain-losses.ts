import type { Difference, Owner } from './difference.ts';

const isLoss = ({ kind }: Difference): boolean =>
  kind === 'lost_in_the_stream' || kind === 'lost_by_the_engine';

const textOf = ({ pipeline, dataId, appId }: Owner): string => `${pipeline} ${dataId} ${appId}`;

/**
 * Rows that a store has and no record names are those of messages whose lines are gone: what seemed lost is unrecorded. One loss stands in
 * one difference. `rows` reads how many such rows the store has of an owner; in a split table they are more than the items.
 */
export const explainLosses = async (
  differences: readonly Difference[],
  rows: (owner: Owner) => Promise<number>,
): Promise<Difference[]> => {
  const left = new Map<string, number>();
  const explained: Difference[] = [];
  for (const each of differences) {
    if (!isLoss(each) || each.items === 0) {
      explained.push(each);
      continue;
    }
    const owner = textOf(each);
    const surplus = left.get(owner) ?? (await rows(each));
    const items = Math.min(each.items, surplus);
    left.set(owner, surplus - items);
    const messages = Math.round((each.messages * items) / each.items);
    if (items > 0) explained.push({ ...each, kind: 'unrecorded', items, messages });
    if (items < each.items)
      explained.push({ ...each, items: each.items - items, messages: each.messages - messages });
  }
  return mergeEqual(explained);
};

/** Two differences of one kind, owner and minute are one. */
const mergeEqual = (differences: readonly Difference[]): Difference[] => {
  const merged = new Map<string, Difference>();
  for (const each of differences) {
    const key = `${each.kind} ${each.stream} ${textOf(each)} ${each.minute}`;
    const known = merged.get(key);
    merged.set(
      key,
      known === undefined
        ? each
        : { ...each, items: each.items + known.items, messages: each.messages + known.messages },
    );
  }
  return [...merged.values()];
};
