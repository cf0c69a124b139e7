/** A number with its noun: "1 point", "2 points". The plural adds an s by default. */
export const counted = (count: number | bigint, one: string, many = `${one}s`): string =>
  `${count} ${Number(count) === 1 ? one : many}`;

/** Counts with their names: `a 1, b 2`. */
export const listedCounts = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([name, count]) => `${name} ${count}`).join(', ');
