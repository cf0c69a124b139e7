import type { Delivery } from '../bus/puller.ts';
import { validatePointTime } from '../model/time.ts';
import type { MetricsEnvelope, MetricsHeader } from '../wire/envelope.ts';

/** A message between its delivery and its settlement. */
export type HeldMessage<E = MetricsEnvelope> = {
  readonly delivery: Delivery;
  readonly envelope: E;
  /** Rows it brings to the store. */
  readonly rows: number;
  readonly bytes: number;
  /** When the server last started its ack wait, ms: at delivery or at the last `working`. */
  touchedAt: number;
};

/** Rows of all parts. */
export const rowsOf = (header: MetricsHeader): number => {
  let rows = 0;
  for (const part of header.parts) rows += part.rows;
  return rows;
};

/** Verdicts on the deferred points of a message: dropped by reason, and those that passed after all. */
export type DeferredVerdicts = {
  readonly dropped: Map<string, number>;
  readonly passed: {
    readonly dataId: number;
    readonly base: string;
    readonly ordinal: number;
    readonly text: string;
  }[];
  /** A section that is no JSON array of as many points as the header says. */
  readonly unreadable: boolean;
};

/** The items of a deferred section: a JSON array of so many; undefined for anything else. */
export const readDeferredItems = (section: Uint8Array | undefined, count: number): unknown[] | undefined => {
  try {
    const items: unknown = JSON.parse(Buffer.from(section ?? []).toString('utf8'));
    return Array.isArray(items) && items.length === count ? items : undefined;
  } catch {
    return undefined;
  }
};

/** Adds to the items that were dropped for a reason. */
export const addDropped = (dropped: Map<string, number>, reason: string, items: number): void => {
  if (items > 0) dropped.set(reason, (dropped.get(reason) ?? 0) + items);
};

const noneOf: ReadonlySet<number> = new Set();

const timestampOf = (item: unknown): unknown =>
  typeof item === 'object' && item !== null ? Reflect.get(item, 'timestamp') : undefined;

/**
 * Judges the deferred points with the arrival and the windows that travel with them (design decision D2), so that a redelivery
 * gets the same verdict. Those of a purged data id are dropped as that, whatever they hold.
 */
export const judgeDeferred = (
  { header, deferredBytes }: MetricsEnvelope,
  purged: ReadonlySet<number> = noneOf,
): DeferredVerdicts => {
  const dropped = new Map<string, number>();
  const passed: DeferredVerdicts['passed'] = [];
  for (const [index, group] of header.deferred.entries()) {
    if (purged.has(group.dataId)) {
      addDropped(dropped, 'data_source_purged', group.ordinals.length);
      continue;
    }
    const items = readDeferredItems(deferredBytes[index], group.ordinals.length);
    if (items === undefined) return { dropped, passed, unreadable: true };
    for (const [place, item] of items.entries()) {
      const reason = validatePointTime(timestampOf(item), group.arrivedAt, group.policy);
      if (reason !== undefined) addDropped(dropped, reason, 1);
      else
        passed.push({
          dataId: group.dataId,
          base: group.base,
          ordinal: group.ordinals[place] ?? 0,
          text: JSON.stringify(item),
        });
    }
  }
  return { dropped, passed, unreadable: false };
};
