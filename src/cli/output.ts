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

/** A program's text on stdout, which works as it is printed: its tabs stay, too. */
export const printCode = (text: string): void => {
  process.stdout.write(`${text.split('\t').map(visibleLines).join('\t')}\n`);
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

const toAlternateScreen = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const toNormalScreen = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearToEnd = '\u001b[J';
const clearLine = '\u001b[K';

/** At most this wide, by characters, without anything that a terminal obeys. */
export const cut = (text: string, columns: number): string => {
  const characters = [...visible(text)];
  return characters.length <= columns ? characters.join('') : `${characters.slice(0, columns - 1).join('')}…`;
};

/** What the screen shows: as many lines as fit, and a note in the last one. */
export const frameOf = (lines: readonly string[], note: string, columns: number, rows: number): string => {
  const shown = [...lines.slice(0, rows - 1), ...(note === '' ? [] : [`-- ${note}`])];
  return `${home}${shown.map((line) => `${cut(line, columns)}${clearLine}`).join('\r\n')}${clearToEnd}`;
};

/** Takes the whole terminal until it is closed, or the process has to end; `content` is asked at each drawing. */
export const openTerminal = (
  content: () => { readonly lines: readonly string[]; readonly note: string },
): { draw(): void; close(): void } => {
  const { stdout } = process;
  const draw = (): void => {
    const { lines, note } = content();
    stdout.write(frameOf(lines, note, stdout.columns || 80, stdout.rows || 24));
  };
  const close = (): void => {
    stdout.write(toNormalScreen);
  };
  const leave = (): void => {
    close();
    process.exit(0);
  };
  process.once('SIGINT', leave);
  process.once('SIGTERM', leave);
  stdout.on('resize', draw);
  stdout.write(toAlternateScreen);
  draw();
  return { draw, close };
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
