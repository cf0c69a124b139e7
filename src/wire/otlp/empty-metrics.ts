import type { ReadState } from './read-state.ts';
import { TooManyElements } from './types.ts';

/** Counts the metrics of a request that have no data points: no limit of data points bounds the work on them. */
export class EmptyMetrics {
  private count = 0;

  /** Notes one. Throws TooManyElements where there are more than there may be data points. */
  note({ owner }: ReadState): void {
    const { itemsMax } = owner.requestLimits;
    if (++this.count <= itemsMax) return;
    throw new TooManyElements(
      `the body has more than ${itemsMax} metrics without data points: send metrics that have some`,
    );
  }
}
