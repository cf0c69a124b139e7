/**
 * The outcomes of the items of one message, by data id or application: `stored`, `dead_lettered` or
 * `dropped/<reason>` -> items. Their sum is the number of received items.
 */
export type Tally = Map<number, Map<string, number>>;

export const storedOutcome = 'stored';
export const deadLetteredOutcome = 'dead_lettered';
export const droppedOutcome = (reason: string): string => `dropped/${reason}`;

/** Adds items with this outcome. */
export const addOutcome = (tally: Tally, owner: number, outcome: string, items: number): void => {
  if (items <= 0) return;
  const counts = tally.get(owner);
  if (counts === undefined) tally.set(owner, new Map([[outcome, items]]));
  else counts.set(outcome, (counts.get(outcome) ?? 0) + items);
};

/**
 * Turns up to this many stored items into dead-lettered ones; returns the number. It is smaller than the given one
 * where several rows of one item were refused: the item is counted once.
 */
export const moveToDeadLetters = (tally: Tally, owner: number, items: number): number => {
  const counts = tally.get(owner);
  const stored = counts?.get(storedOutcome) ?? 0;
  const moved = Math.min(stored, items);
  if (counts === undefined || moved <= 0) return 0;
  if (moved === stored) counts.delete(storedOutcome);
  else counts.set(storedOutcome, stored - moved);
  addOutcome(tally, owner, deadLetteredOutcome, moved);
  return moved;
};

/** Dropped by the receiver: the message carries these counts. */
export const addReceiverDrops = (
  tally: Tally,
  owner: number,
  dropped: Readonly<Record<string, number>>,
): void => {
  for (const [reason, items] of Object.entries(dropped))
    addOutcome(tally, owner, droppedOutcome(reason), items);
};
