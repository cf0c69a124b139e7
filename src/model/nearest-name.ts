/** Insertions, deletions, replacements and swaps of neighbours between two texts. */
const editsBetween = (left: string, right: string): number => {
  let before: number[] = [];
  let above = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const isSame = left[i - 1] === right[j - 1];
      const isSwapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      row[j] = Math.min(
        (above[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (above[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = above;
    above = row;
  }
  return above[right.length] ?? 0;
};

const lengthMax = 100;

/**
 * The name that a reader of these names most likely meant: the one with the fewest edits, at most two or a third of the
 * letters, or the one that continues the given text. Undefined where none is that near.
 */
export const nearestName = (given: string, names: readonly string[]): string | undefined => {
  if (given === '' || given.length > lengthMax) return undefined;
  let best: string | undefined;
  let least = Math.max(2, Math.floor(given.length / 3)) + 1;
  for (const name of names) {
    const edits = editsBetween(given, name);
    if (edits < least) {
      least = edits;
      best = name;
    }
  }
  return best ?? (given.length > 2 ? names.find((name) => name.startsWith(given)) : undefined);
};
