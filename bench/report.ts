/** One line of the report: what was measured, the rate, and CPU seconds for a million points. */
export type Row = {
  readonly stage: string;
  readonly points_per_second: number;
  readonly cpu_seconds_per_million: number;
  readonly [detail: string]: unknown;
};

/** Prints rows for people, then each as a JSON line for programs. */
export const printRows = (title: string, rows: readonly Row[]): void => {
  const out = (text: string): void => {
    process.stdout.write(`${text}\n`);
  };
  out(`\n${title}`);
  for (const row of rows) {
    const { stage, points_per_second, cpu_seconds_per_million, ...details } = row;
    const rest = Object.entries(details)
      .map(([key, value]) => `${key} ${String(value)}`)
      .join(', ');
    out(
      `  ${stage.padEnd(38)} ${points_per_second.toLocaleString('en-US').padStart(12)} points/s ` +
        `${cpu_seconds_per_million.toFixed(2).padStart(7)} CPU s/M${rest === '' ? '' : `   ${rest}`}`,
    );
  }
  for (const row of rows) out(JSON.stringify(row));
};
