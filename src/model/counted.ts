/** A number with its noun: "1 point", "2 points". The plural adds an s by default. */
export const counted = (count: number | bigint, one: string, many = `${one}s`): string =>
  `${count} ${Number(count) === 1 ? one : many}`;
