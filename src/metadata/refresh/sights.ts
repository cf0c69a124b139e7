import type { NodeManagement, ShownSubscription } from './node-management.ts';
import type { Subscription } from './subscriptions.ts';

/** A subscription to look at, and how long the JSON is that it was sent. */
export type Expected = { readonly id: number; readonly length: number };

/** Of one call. An answer is about as large as what was sent of its subscriptions. */
const idsMax = 100;
const lengthMax = 256 * 1024;

function* batchesOf(expected: readonly Expected[]): Generator<number[]> {
  let ids: number[] = [];
  let total = 0;
  for (const { id, length } of expected) {
    if (ids.length === idsMax || (ids.length > 0 && total + length > lengthMax)) {
      yield ids;
      ids = [];
      total = 0;
    }
    ids.push(id);
    total += length;
  }
  if (ids.length > 0) yield ids;
}

/** Whether the id of a record is another report's by now. Where node management does not show whose, the record made last has it. */
export const isAnothers = (
  { subscription_id, mon_data_id, adapter, created }: Subscription,
  shown: ShownSubscription | undefined,
  all: readonly Subscription[],
): boolean =>
  shown === undefined
    ? all.some(
        (other) =>
          other.subscription_id === subscription_id &&
          other.adapter === adapter &&
          (other.created > created || (other.created === created && other.mon_data_id > mon_data_id)),
      )
    : shown.dataId !== mon_data_id;

/**
 * What node management showed of subscriptions during one run. A look never fails: what cannot be looked at is not
 * shown, and after one look at a single subscription failed, or was refused, the run asks no more.
 */
export class Sights {
  private readonly nodeManagement: NodeManagement;
  private readonly onFailed: (error: unknown) => void;
  /** By subscription id; undefined where it was asked and does not show it. */
  private readonly shown = new Map<number, ShownSubscription | undefined>();
  private hasFailed = false;

  constructor(nodeManagement: NodeManagement, onFailed: (error: unknown) => void) {
    this.nodeManagement = nodeManagement;
    this.onFailed = onFailed;
  }

  /** As of the last look of this run. */
  last(id: number): ShownSubscription | undefined {
    return this.shown.get(id);
  }

  /** It is about to change. */
  forget(id: number): void {
    this.shown.delete(id);
  }

  /**
   * Looks at many with few calls, until one fails or `isOver`; each of the rest is then looked at alone, as the answer
   * of many may only have been too large.
   */
  async takeMany(expected: readonly Expected[], isOver: () => boolean): Promise<void> {
    const batches = batchesOf(expected);
    let isOff = false;
    const worker = async (): Promise<void> => {
      for (const ids of batches) {
        if (isOff || isOver()) return;
        const seen = await this.nodeManagement.look(ids).catch(() => undefined);
        if (seen === undefined) isOff = true;
        else for (const id of ids) this.shown.set(id, seen.get(id));
      }
    };
    await Promise.all(Array.from({ length: this.nodeManagement.atOnce }, worker));
  }

  /** Looks at one, unless this run did; undefined where node management does not show it. */
  async take(id: number): Promise<ShownSubscription | undefined> {
    return this.shown.has(id) ? this.shown.get(id) : this.takeNow(id);
  }

  /** Looks at one now. */
  async takeNow(id: number): Promise<ShownSubscription | undefined> {
    const seen = this.hasFailed ? undefined : await this.lookAt(id);
    this.shown.set(id, seen);
    return seen;
  }

  private async lookAt(id: number): Promise<ShownSubscription | undefined> {
    try {
      return (await this.nodeManagement.look([id])).get(id);
    } catch (error) {
      if (!this.hasFailed) this.onFailed(error);
      this.hasFailed = true;
      return undefined;
    }
  }
}
