import { type Difference, isOfStore } from './difference.ts';
import { isOfGaps } from './uncounted.ts';

/** What one comparison of the books of a stream has looked at. */
export type ComparedScope = {
  readonly stream: string;
  /** Minutes of the books, Unix seconds. */
  readonly minutes: ReadonlySet<number>;
  /** Minutes for which the gaps of the stream have another figure now. */
  readonly gapMinutes: ReadonlySet<number>;
};

/** Kinds that a comparison of the books finds, in the minutes that it compares. */
const booksKinds = new Set([
  'lost_in_the_stream',
  'lost_by_the_engine',
  'not_counted',
  'stuck',
  'unrecorded',
]);

/** A receiver that ended without a last line was one, also where its minutes are compared again. */
const isOfEndedLife = ({ kind, dataId, appId }: Difference): boolean =>
  kind === 'not_counted' && dataId === 0 && appId === 0;

/**
 * Whether the comparison replaces a difference that an earlier one found: it stays only where it is found again. So a loss without an
 * owner goes when the line that names its owner has come.
 */
export const comparedIn =
  ({ stream, minutes, gapMinutes }: ComparedScope) =>
  (each: Difference): boolean =>
    each.stream === stream &&
    (isOfGaps(each)
      ? gapMinutes.has(each.minute)
      : booksKinds.has(each.kind) && !isOfStore(each) && !isOfEndedLife(each) && minutes.has(each.minute));
