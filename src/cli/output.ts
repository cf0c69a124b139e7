import { InvalidArgumentError } from 'commander';
import { type CsvCell, csvText } from '../model/csv.ts';
import { visible, visibleJson, visibleLines } from '../model/visible-text.ts';
import { columnsFor, cutTo, padTo, wrapped } from './width.ts';

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

/** A column is not made narrower than this for the sake of a terminal. */
const columnMin = 12;
const gap = 2;

const widthOf = (widths: readonly number[]): number => widths.reduce((sum, width) => sum + width + gap, -gap);

/** Takes columns off the widest ones until the table fits, as far as that goes. */
const fitted = (wanted: readonly number[], columns: number): number[] => {
  const widths = [...wanted];
  let excess = widthOf(widths) - columns;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= columnMin) break;
    const second = Math.max(columnMin, ...widths.filter((width) => width < widest));
    const taken = Math.min(excess, Math.max(1, widest - second));
    widths[widths.indexOf(widest)] = widest - taken;
    excess -= taken;
  }
  return widths;
};

/** A name and its value, which continues below itself where it is longer than the rest of `columns`. */
const fieldLines = (name: string, nameWidth: number, value: string, columns: number): string[] =>
  wrapped(value, Math.max(columnMin, columns - nameWidth - gap)).map((line, index) =>
    `${padTo(index === 0 ? name : '', nameWidth + gap)}${line}`.trimEnd(),
  );

/** The rows below each other, each with a line for each of its cells: a table with too many columns for a terminal. */
const rowsAsFields = (
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
): string[] => {
  if (rows.length === 0) return wrapped(head.join(' '.repeat(gap)), columns);
  const nameWidth = Math.max(...head.map(columnsFor));
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : ['']),
    ...head.flatMap((name, column) => fieldLines(name, nameWidth, row[column] ?? '', columns)),
  ]);
};

/** Printed instead of an empty value. */
export const nothing = '–';

/** A value of a table or a field; a dash is printed where there is none. */
export type Cell = string | number | null | undefined;

/** What is shown of a value: a number whole, as a rounded one would be a wrong one. */
export const cellText = (cell: Cell): string => visible(String(cell ?? nothing));

/**
 * Lines of a table for people. Columns are as wide as their widest cell; where the table is wider than `columns`, the
 * widest cells continue below, so that nothing is lost. A table that does not fit even so has a line for each cell.
 */
export const tableLines = (
  names: readonly string[],
  given: readonly (readonly Cell[])[],
  columns = Number.POSITIVE_INFINITY,
): string[] => {
  // Dimension values, which senders chose, are names of columns, too.
  const head = names.map(visible);
  const rows = [head, ...given.map((cells) => cells.map(cellText))];
  // Not as arguments of one call: an answer may have more rows than a call takes.
  const wanted = head.map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, columnsFor(row[column] ?? '')), 0),
  );
  const widths = fitted(wanted, columns);
  if (widthOf(widths) > columns) return rowsAsFields(head, rows.slice(1), columns);
  return rows.flatMap((row) => {
    const cells = row.map((cell, column) => wrapped(cell, widths[column] ?? columnMin));
    const height = Math.max(...cells.map((lines) => lines.length));
    return Array.from({ length: height }, (_, line) =>
      cells
        .map((lines, column) => padTo(lines[line] ?? '', widths[column] ?? 0))
        .join(' '.repeat(gap))
        .trimEnd(),
    );
  });
};

/** The columns of the terminal on stdout; without a terminal a program reads, which wants whole lines. */
export const terminalColumns = (): number =>
  process.stdout.isTTY ? Math.max(40, process.stdout.columns || 80) : Number.POSITIVE_INFINITY;

/** The columns of a help: those of the terminal; without one the variable COLUMNS, else 80. */
export const helpColumns = (): number =>
  process.stdout.isTTY ? terminalColumns() : Math.max(40, Number(process.env['COLUMNS']) || 80);

/** Paragraphs below a help, as wide as the help. */
export const helpText = (paragraphs: readonly string[]): string =>
  `\n${paragraphs.flatMap((text) => wrapped(text, helpColumns())).join('\n')}`;

/** A sentence for people on stdout, broken at spaces where the terminal ends. Nothing that is pasted: it would be cut. */
export const printSentence = (text: string): void => {
  process.stdout.write(`${wrapped(visible(text), terminalColumns()).join('\n')}\n`);
};

/** A table for people on stdout, as wide as the terminal. */
export const printTable = (head: readonly string[], rows: readonly (readonly Cell[])[]): void => {
  process.stdout.write(`${tableLines(head, rows, terminalColumns()).join('\n')}\n`);
};

/** A table for programs on stdout: CSV that is safe in spreadsheets and on terminals. */
export const printCsv = (head: readonly string[], rows: readonly (readonly CsvCell[])[]): void => {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? visible(cell) : cell)));
  process.stdout.write(csvText(head, cells));
};

/** Fields of one thing for people on stdout, one per line; long values continue below on a terminal. */
export const printFields = (fields: readonly (readonly [name: string, value: Cell])[]): void => {
  const shown = fields.map((field) => field.map(cellText));
  const width = Math.max(...shown.map(([name = '']) => columnsFor(name)));
  const lines = shown.flatMap(([name = '', value = '']) => fieldLines(name, width, value, terminalColumns()));
  process.stdout.write(`${lines.join('\n')}\n`);
};

const toAlternateScreen = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const toNormalScreen = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearToEnd = '\u001b[J';
const clearLine = '\u001b[K';

/** At most this wide, in columns of the terminal, without anything that a terminal obeys. */
export const cut = (text: string, columns: number): string => cutTo(visible(text), columns);

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

/** Unix seconds as `2026-11-20 13:30:35Z`; null, and what no calendar has, as a dash. */
export const timeText = (seconds: number | null): string => {
  const time = new Date((seconds ?? Number.NaN) * 1_000);
  if (Number.isNaN(time.getTime())) return nothing;
  return time.toISOString().replace(/^(.*)T(.*)\.000Z$/, '$1 $2Z');
};

/** The text, or its beginning with an ellipsis, in at most this many characters. */
export const shortened = (text: string, lengthMax: number): string =>
  text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;

/** Prints on stderr how to get the next page, where there is one. */
export const printMore = (cursor: string | null): void => {
  if (cursor !== null) sayLines(`more: --cursor ${cursor}`);
};

/** An integer argument, below 0 too; commander names a wrong argument. */
export const integerArgument = (text: string): number => {
  if (!/^-?\d{1,15}$/.test(text))
    throw new InvalidArgumentError('It must be an integer of at most 15 digits.');
  return Number(text);
};

/** `true` or `false`. */
export const booleanArgument = (text: string): boolean => {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('It must be true or false.');
  return text === 'true';
};
