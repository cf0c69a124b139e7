import { addOutcome, deadLetteredOutcome, droppedOutcome, type Tally } from '../outcomes/tally.ts';
import { readDeferredItems } from '../wire/envelope.ts';

/** A deferred item whose time is valid after all: it cannot be encoded here. */
export type PassedItem = {
  readonly owner: number;
  readonly base: string;
  readonly ordinal: number;
  /** Arrival of its request, ms since the epoch. */
  readonly arrivedAt: number;
  readonly text: string;
};

/** The results for items of a message: dropped in transfer by reason, and all of them by data id or application. */
export type Verdicts = {
  readonly dropped: Map<string, number>;
  readonly tally: Tally;
};

/** The results for the deferred items of a message. */
export type DeferredVerdicts = Verdicts & {
  readonly passed: PassedItem[];
  /** Items of sections that are not a JSON array of the length in the header: their message is dead-lettered. */
  unreadableItems: number;
};

export const noVerdicts = (): DeferredVerdicts => ({
  dropped: new Map(),
  tally: new Map(),
  passed: [],
  unreadableItems: 0,
});

/** Drops items of a data id or application. */
export const drop = ({ dropped, tally }: Verdicts, owner: number, reason: string, items: number): void => {
  if (items === 0) return;
  dropped.set(reason, (dropped.get(reason) ?? 0) + items);
  addOutcome(tally, owner, droppedOutcome(reason), items);
};

/** A group of deferred items, as the headers of both signals have it. */
type Group = { readonly base: string; readonly ordinals: readonly number[]; readonly arrivedAt: number };

/** Validates the items of one section; `reasonOf` returns why an item is dropped, or undefined where it is kept. */
export const validateSection = (
  verdicts: DeferredVerdicts,
  owner: number,
  { base, ordinals, arrivedAt }: Group,
  section: Uint8Array | undefined,
  reasonOf: (item: unknown) => string | undefined,
): void => {
  const items = readDeferredItems(section, ordinals.length);
  if (items === undefined) {
    verdicts.unreadableItems += ordinals.length;
    addOutcome(verdicts.tally, owner, deadLetteredOutcome, ordinals.length);
    return;
  }
  const counts = new Map<string, number>();
  const passedBefore = verdicts.passed.length;
  for (const [place, item] of items.entries()) {
    const reason = reasonOf(item);
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    else
      verdicts.passed.push({
        owner,
        base,
        ordinal: ordinals[place] ?? 0,
        arrivedAt,
        text: JSON.stringify(item),
      });
  }
  for (const [reason, count] of counts) drop(verdicts, owner, reason, count);
  addOutcome(verdicts.tally, owner, deadLetteredOutcome, verdicts.passed.length - passedBefore);
};
