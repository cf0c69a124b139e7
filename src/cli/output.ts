import { InvalidArgumentError } from 'commander';

/** One JSON object on stdout, for programs. */
export const printJson = (value: object): void => {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
};

/** Lines of a table for people: columns as wide as their widest cell. */
export const tableLines = (head: readonly string[], rows: readonly (readonly string[])[]): string[] => {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(head), ...rows.map(line)];
};

/** A table for people on stdout. */
export const printTable = (head: readonly string[], rows: readonly (readonly string[])[]): void => {
  process.stdout.write(`${tableLines(head, rows).join('\n')}\n`);
};

/** Fields of one thing for people on stdout, one a line. */
export const printFields = (fields: readonly (readonly [string, string])[]): void => {
  const width = Math.max(...fields.map(([name]) => name.length));
  for (const [name, value] of fields) process.stdout.write(`${name.padEnd(width)}  ${value}\n`);
};

/** An integer argument, below 0 too; commander says which argument was wrong. */
export const integerArgument = (text: string): number => {
  if (!/^-?\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be an integer.');
  return Number(text);
};

/** `true` or `false`. */
export const booleanArgument = (text: string): boolean => {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('It must be true or false.');
  return text === 'true';
};
