export const sumOf = (numbers: Iterable<number>): number => {
  let sum = 0;
  for (const each of numbers) sum += each;
  return sum;
};
