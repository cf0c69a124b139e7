import { type Difference, isOfStore } from './difference.ts';
import { isLoss, type KnownLoss, ownerText } from './explain-losses.ts';
import type { FoundDifferences } from './found.ts';
import { isOfLetters } from './lost-letters.ts';
import { isOfEnds } from './stream-ends.ts';
import { isOfGaps } from './uncounted.ts';

/** What one comparison of the books of a stream has looked at. */
export type ComparedScope = {
  readonly stream: string;
  /** Minutes of the books, Unix seconds. */
  readonly minutes: ReadonlySet<number>;
  /** Minutes for which the gaps of the stream have another figure now. */
  readonly gapMinutes: ReadonlySet<number>;
  /** Minutes under which a receiver was found to have ended that writes again. */
  readonly wokenAt: ReadonlySet<number>;
};

/** Kinds that a comparison of the books finds, in the minutes that it compares. */
const booksKinds = new Set([
  'lost_in_the_stream',
  'lost_by_the_engine',
  'not_counted',
  'stuck',
  'unrecorded',
]);

/** A receiver that ended without a last line was one, also where its minutes are compared again, unless it writes again. */
const isOfEndedLife = ({ kind, dataId, appId }: Difference): boolean =>
  kind === 'not_counted' && dataId === 0 && appId === 0;

/**
 * Whether the comparison replaces a difference that an earlier one found: it stays only where it is found again. So a loss without an
 * owner goes when the line that names its owner has come.
 */
export const comparedIn =
  ({ stream, minutes, gapMinutes, wokenAt }: ComparedScope) =>
  (each: Difference): boolean => {
    if (each.stream !== stream) return false;
    if (isOfGaps(each)) return gapMinutes.has(each.minute);
    if (isOfEndedLife(each)) return wokenAt.has(each.minute);
    return booksKinds.has(each.kind) && !isOfStore(each) && minutes.has(each.minute);
  };

/** Messages that any process has found in the gaps of a stream, by the minute of its report. Throws the Faults of ClickHouse. */
export const readStoredGaps = async (
  found: FoundDifferences,
  stream: string,
): Promise<ReadonlyMap<number, number>> => {
  const isInScope = (each: Difference): boolean => each.stream === stream && isOfGaps(each);
  const gaps = await found.readAgain({ dataId: 0, appId: 0, kind: 'lost_in_the_stream' }, isInScope);
  return new Map(gaps.map(({ minute, messages }) => [minute, messages]));
};

const lostByMinute = (differences: Iterable<Difference>, stream: string): Map<number, number> => {
  const lost = new Map<number, number>();
  for (const each of differences)
    if (
      each.stream === stream &&
      each.kind === 'lost_in_the_stream' &&
      !isOfGaps(each) &&
      !isOfLetters(each) &&
      !isOfEnds(each)
    )
      lost.set(each.minute, each.messages + (lost.get(each.minute) ?? 0));
  return lost;
};

/**
 * By minute: messages that a comparison found lost, as far as no process had stored them. A message of several owners counts once for
 * each in what is stored: there may be more of them.
 */
export const newlyLostIn = (
  stream: string,
  lost: ReadonlyMap<number, number>,
  differences: readonly Difference[],
  stored: Iterable<Difference>,
): Map<number, number> => {
  const [now, before] = [lostByMinute(differences, stream), lostByMinute(stored, stream)];
  return new Map(
    [...lost].map(([minute, messages]) => [
      minute,
      Math.max(0, Math.min(messages, now.get(minute) ?? 0) - (before.get(minute) ?? 0)),
    ]),
  );
};

/** What is stored of the losses of a stream, by owner and minute. */
export const knownLosses = (
  stream: string,
  stored: Iterable<Difference>,
): ((loss: Difference) => KnownLoss) => {
  const keyOf = (each: Difference): string => `${ownerText(each)} ${each.minute}`;
  const known = new Map<string, KnownLoss>();
  for (const each of stored) {
    const isUnrecorded = each.kind === 'unrecorded' && !isOfStore(each);
    if (each.stream !== stream || !(isUnrecorded || isLoss(each))) continue;
    const { unrecorded, isLost } = known.get(keyOf(each)) ?? { unrecorded: 0, isLost: false };
    known.set(keyOf(each), {
      unrecorded: unrecorded + (isUnrecorded ? each.items - (each.placedItems ?? 0) : 0),
      isLost: isLost || isLoss(each),
    });
  }
  return (loss) => known.get(keyOf(loss)) ?? { unrecorded: 0, isLost: false };
};
