/** Lines of a table: the first column to the left, figures to the right, a rule below the head. */
export const tableLines = (head: readonly string[], rows: readonly (readonly string[])[]): string[] => {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    widths
      .map((width, column) => {
        const cell = cells[column] ?? '';
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd();
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)];
};

/** 123,456 */
export const grouped = (value: number): string => Math.round(value).toLocaleString('en-US');
