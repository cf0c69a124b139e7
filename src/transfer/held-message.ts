import type { Delivery } from '../bus/puller.ts';
import { validatePointTime } from '../model/time.ts';
import { addOutcome, deadLetteredOutcome, droppedOutcome, type Tally } from '../outcomes/tally.ts';
import type { MetricsEnvelope, MetricsHeader } from '../wire/metrics-envelope.ts';

/** A message between its delivery and its settlement. */
export type HeldMessage<E = MetricsEnvelope> = {
  readonly delivery: Delivery;
  readonly envelope: E;
  /** Rows it brings to the store. */
  readonly rows: number;
  readonly bytes: number;
  /** When the server last started its ack wait, at delivery or at the last `working`: ms of the worker's `elapsed`. */
  touchedAt: number;
  /** When it was delivered, ms since the epoch. */
  readonly takenAt: number;
};

/** Rows of all parts. */
export const rowsOf = (header: MetricsHeader): number => {
  let rows = 0;
  for (const part of header.parts) rows += part.rows;
  return rows;
};

/** A deferred item whose time is valid after all: it cannot be encoded here. */
export type PassedItem = {
  readonly owner: number;
  readonly base: string;
  readonly ordinal: number;
  /** Arrival of its request, ms since the epoch. */
  readonly arrivedAt: number;
  readonly text: string;
};

/** Verdicts on items of a message: dropped in transfer by reason, and all of them by data id or application. */
export type Verdicts = {
  readonly dropped: Map<string, number>;
  readonly tally: Tally;
};

/** Verdicts on the deferred items of a message. */
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

/** The items of a deferred section: a JSON array of this length; undefined for anything else. */
export const readDeferredItems = (section: Uint8Array | undefined, count: number): unknown[] | undefined => {
  try {
    const items: unknown = JSON.parse(Buffer.from(section ?? []).toString('utf8'));
    return Array.isArray(items) && items.length === count ? items : undefined;
  } catch {
    return undefined;
  }
};

/** Drops items of a data id or application. */
export const drop = ({ dropped, tally }: Verdicts, owner: number, reason: string, items: number): void => {
  if (items === 0) return;
  dropped.set(reason, (dropped.get(reason) ?? 0) + items);
  addOutcome(tally, owner, droppedOutcome(reason), items);
};

/** A group of deferred items, as both signals' headers tell of it. */
type Group = { readonly base: string; readonly ordinals: readonly number[]; readonly arrivedAt: number };

/** Judges the items of one section; `reasonOf` answers why an item is dropped, or undefined where it is not. */
export const judgeSection = (
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

const noneOf: ReadonlySet<number> = new Set();

const timestampOf = (item: unknown): unknown =>
  typeof item === 'object' && item !== null ? Reflect.get(item, 'timestamp') : undefined;

/**
 * Judges the deferred points with the arrival and the windows that travel with them (architecture 6.3), so that a redelivery
 * gets the same verdict. Items of a purged data id are always dropped for the purge.
 */
export const judgeDeferred = (
  { header, deferredBytes }: MetricsEnvelope,
  purged: ReadonlySet<number> = noneOf,
): DeferredVerdicts => {
  const verdicts = noVerdicts();
  for (const [index, group] of header.deferred.entries()) {
    const { dataId, arrivedAt, policy } = group;
    if (purged.has(dataId)) drop(verdicts, dataId, 'data_source_purged', group.ordinals.length);
    else
      judgeSection(verdicts, dataId, group, deferredBytes[index], (item) =>
        validatePointTime(timestampOf(item), arrivedAt, policy),
      );
  }
  return verdicts;
};
