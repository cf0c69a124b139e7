import { InvalidArgumentError } from 'commander';
import { type CsvCell, csvText } from '../model/csv.ts';
import { visible, visibleJson, visibleLines } from '../model/visible-text.ts';

// All output of the commands passes here: much of it was written by other people, and a terminal obeys control
// characters.

/** One line for people on stdout; control characters are escaped. */
export const printLine = (text: string): void => {
  process.stdout.write(`${visible(text)}\n`);
};

/** Text for people on stdout, of one line or several. */
export const printLines = (text: string): void => {
  process.stdout.write(`${visibleLines(text)}\n`);
};

/** Output beside the result, on stderr: progress, warnings, and the reason of a failure. */
export const sayLines = (text: string): void => {
  process.stderr.write(`${visibleLines(text)}\n`);
};

/** One JSON value on stdout, for programs. */
export const printJson = (value: unknown): void => {
  process.stdout.write(`${visibleJson(JSON.stringify(value, null, 2))}\n`);
};

/** One JSON value as a line on stdout, for programs that read a stream of them. */
export const printJsonLine = (value: unknown): void => {
  process.stdout.write(`${visibleJson(JSON.stringify(value))}\n`);
};

/** Prints the answer of the admin API: unchanged for programs, or through `print` for people. */
export const printAnswer = <T>(
  { value, json }: { value: T; json: unknown },
  options: { json?: true },
  print: (value: T) => void,
): void => {
  if (options.json) printJson(json);
  else print(value);
};

/** Lines of a table for people: columns as wide as their widest cell. */
export const tableLines = (head: readonly string[], given: readonly (readonly string[])[]): string[] => {
  const rows = given.map((cells) => cells.map(visible));
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

/** A table for programs on stdout: CSV that is safe in spreadsheets and on terminals. */
export const printCsv = (head: readonly string[], rows: readonly (readonly CsvCell[])[]): void => {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? visible(cell) : cell)));
  process.stdout.write(csvText(head, cells));
};

/** Fields of one thing for people on stdout, one per line. */
export const printFields = (fields: readonly (readonly [string, string])[]): void => {
  const width = Math.max(...fields.map(([name]) => name.length));
  for (const [name, value] of fields) process.stdout.write(`${name.padEnd(width)}  ${visible(value)}\n`);
};

/** Printed instead of an empty value. */
export const nothing = '–';

/** Unix seconds as `2026-11-20 13:30:35Z`; null as a dash. */
export const timeText = (seconds: number | null): string =>
  seconds === null ? nothing : new Date(seconds * 1_000).toISOString().replace(/^(.*)T(.*)\.000Z$/, '$1 $2Z');

/** Prints on stderr how to get the next page, where there is one. */
export const printMore = (cursor: string | null): void => {
  if (cursor !== null) sayLines(`more: --cursor ${cursor}`);
};

/** An integer argument, below 0 too; commander names a wrong argument. */
export const integerArgument = (text: string): number => {
  if (!/^-?\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be an integer.');
  return Number(text);
};

/** `true` or `false`. */
export const booleanArgument = (text: string): boolean => {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('It must be true or false.');
  return text === 'true';
};
