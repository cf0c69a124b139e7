/** A value of a cell; null is an empty one. */
export type CsvCell = string | number | null;

/** Spreadsheets take a cell that begins so for a formula, even in quotes, and some of them after spaces. */
const formulaStarts = new Set('=+-@|%\uff1d\uff0b\uff0d\uff20');
const controls = new Set('\t\r\n');
const separators = ['"', ',', '\r', '\n'];

const isFormula = (text: string): boolean =>
  controls.has(text.charAt(0)) || formulaStarts.has(text.trimStart().charAt(0));

const cellText = (cell: CsvCell): string => {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell);
  const harmless = isFormula(cell) ? `'${cell}` : cell;
  return separators.some((separator) => harmless.includes(separator))
    ? `"${harmless.replaceAll('"', '""')}"`
    : harmless;
};

/** The name of a file, with the times (Unix seconds) that it is of: `outcomes-20260101T100000Z-20260101T110000Z.csv`. */
export const csvName = (what: string, ...seconds: readonly number[]): string => {
  const times = seconds.map(
    (each) => `${new Date(each * 1_000).toISOString().slice(0, 19).replaceAll('-', '').replaceAll(':', '')}Z`,
  );
  return `${[what, ...times].join('-')}.csv`;
};

/**
 * A table as CSV (RFC 4180: lines end in CR LF). A text that a spreadsheet would run as a formula begins with an apostrophe: much of it
 * was written by senders.
 */
export const csvText = (head: readonly string[], rows: readonly (readonly CsvCell[])[]): string =>
  [head, ...rows].map((cells) => `${cells.map(cellText).join(',')}\r\n`).join('');

/** Records as CSV: a column for each of these members, under its name. */
export const csvOf = <Name extends string>(
  names: readonly Name[],
  records: readonly Readonly<Record<Name, CsvCell>>[],
): string =>
  csvText(
    names,
    records.map((record) => names.map((name) => record[name])),
  );
