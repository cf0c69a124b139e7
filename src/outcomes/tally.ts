/**
 * What became of the items of one message, by data id (points) or application (spans): `stored`, `dead_lettered` or
 * `dropped/<reason>` -> items. What was received is the sum.
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
 * Turns stored items into dead-lettered ones, as many as there are; answers how many. Fewer than asked for where several rows of one
 * item were refused: the item is counted once.
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

/** What the receiver dropped: it travels in the message. */
export const addReceiverDrops = (
  tally: Tally,
  owner: number,
  dropped: Readonly<Record<string, number>>,
): void => {
  for (const [reason, items] of Object.entries(dropped))
    addOutcome(tally, owner, droppedOutcome(reason), items);
};
