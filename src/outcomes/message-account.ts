import { sumOf } from '../model/sums.ts';
import type { OutcomeCounts } from './rows.ts';
import { deadLetteredOutcome, storedOutcome } from './tally.ts';

/** A record of `otel.ingest_outcomes` without its message's key. `letters` and `letterItems` are empty in records of earlier programs. */
export type MessageRecord = {
  /** -1 for the whole message. */
  readonly ordinal: number;
  /** 0 for the standing record. */
  readonly redrive: number;
  readonly received: number;
  readonly outcomes: OutcomeCounts;
  readonly letters: readonly number[];
  readonly letterItems: readonly number[];
};

/** A dead letter that a record names and that no record has moved: `redrive` is the number of its earlier redrives. */
export type OpenLetter = { readonly redrive: number; readonly ordinal: number; readonly items: number };

/** The outcomes of the items of one message for one owner. Nothing in it is below 0. */
export type MessageAccount = {
  /** False: no standing record is there (yet), and nothing is counted. */
  readonly isStanding: boolean;
  /** The sum of the outcomes. */
  readonly received: number;
  readonly outcomes: ReadonlyMap<string, number>;
  readonly open: readonly OpenLetter[];
  /** Dead-lettered items of the standing record, before any redrive or purge. */
  readonly deadLettered: number;
  /** Dead-lettered items whose letters no record names: those of earlier programs. */
  readonly unnamed: number;
};

/** The items that a record takes out of the dead letters, without those that it brings back there. */
export const removedBy = (outcomes: OutcomeCounts): number =>
  Math.max(0, -(outcomes[deadLetteredOutcome] ?? 0));

/** New outcomes of items, up to a number of items: stored ones first, then by name. */
export const outcomesUpTo = (outcomes: OutcomeCounts, itemsMax: number): Map<string, number> => {
  const taken = new Map<string, number>();
  let left = itemsMax;
  const names = Object.keys(outcomes).filter(
    (name) => name !== deadLetteredOutcome && name !== storedOutcome,
  );
  for (const name of [storedOutcome, ...names.toSorted()]) {
    const items = Math.min(left, Math.max(0, outcomes[name] ?? 0));
    if (items > 0) taken.set(name, items);
    left -= items;
  }
  return taken;
};

const placeOf = (redrive: number, ordinal: number): string => `${redrive} ${ordinal}`;

/** In the order of redrives: what a redrive brought back is there before the next one takes it. */
const inOrder = (left: MessageRecord, right: MessageRecord): number =>
  left.redrive - right.redrive || left.ordinal - right.ordinal;

/**
 * Adds up the records of one message and owner, in any order (architecture 10.1). A record of a redrive or purge counts where a record
 * that counts names its dead letter, up to the items of that letter; else as far as the message has dead-lettered items that no record
 * names. `./corrections-query.ts` is the same in SQL.
 */
export const accountOf = (records: readonly MessageRecord[]): MessageAccount => {
  const standing = records.find(({ redrive }) => redrive === 0);
  const outcomes = new Map(Object.entries(standing?.outcomes ?? {}));
  let dead = outcomes.get(deadLetteredOutcome) ?? 0;
  let unnamed = Math.max(0, dead - sumOf(standing?.letterItems ?? []));
  let received = standing?.received ?? 0;
  const named = new Map<string, OpenLetter>();
  const nameAll = ({ redrive, letters, letterItems }: MessageRecord): void => {
    for (const [index, ordinal] of letters.entries()) {
      const place = placeOf(redrive, ordinal);
      const items = (letterItems[index] ?? 0) + (named.get(place)?.items ?? 0);
      named.set(place, { redrive, ordinal, items });
    }
  };
  if (standing !== undefined) nameAll(standing);
  for (const record of records.filter(({ redrive }) => redrive > 0).toSorted(inOrder)) {
    const place = placeOf(record.redrive - 1, record.ordinal);
    const letter = named.get(place);
    const room = letter?.items ?? unnamed;
    const removed = Math.min(removedBy(record.outcomes), room, dead);
    const again = sumOf(record.letterItems);
    const isWhole = removed === removedBy(record.outcomes) && removed + again <= room;
    // Letters of a record that counts in part are not known: its items stay dead-lettered without a name.
    if (isWhole) nameAll(record);
    const left = room - removed - (isWhole ? again : 0);
    unnamed = letter === undefined ? left : unnamed + left;
    named.delete(place);
    dead -= removed;
    received -= removed;
    for (const [outcome, items] of outcomesUpTo(record.outcomes, removed)) {
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + items);
      received += items;
    }
  }
  if (outcomes.has(deadLetteredOutcome)) outcomes.set(deadLetteredOutcome, dead);
  const deadLettered = standing?.outcomes[deadLetteredOutcome] ?? 0;
  const open = [...named.values()];
  return { isStanding: standing !== undefined, received, outcomes, deadLettered, open, unnamed };
};

/**
 * The sums of one owner with the records of redrives and purges whose messages have no standing record: they move items as far as the
 * owner has dead-lettered ones.
 */
export const withStrays = (
  { received, outcomes }: { readonly received: number; readonly outcomes: OutcomeCounts },
  stray: OutcomeCounts,
  strayRemoved: number,
): { readonly received: number; readonly outcomes: OutcomeCounts } => {
  const dead = outcomes[deadLetteredOutcome] ?? 0;
  const removed = Math.min(strayRemoved, dead);
  if (removed <= 0) return { received, outcomes };
  const counts: Record<string, number> = { ...outcomes, [deadLetteredOutcome]: dead - removed };
  let sum = received - removed;
  for (const [outcome, items] of outcomesUpTo(stray, removed)) {
    counts[outcome] = (counts[outcome] ?? 0) + items;
    sum += items;
  }
  return { received: sum, outcomes: counts };
};
