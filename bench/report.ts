/** One line of the report: what was measured, the rate, and CPU seconds for a million items (points or spans). */
export type Row = {
  readonly stage: string;
  readonly items_per_second: number;
  readonly cpu_seconds_per_million: number;
  readonly [detail: string]: unknown;
};

/** Prints rows for people, then each as a JSON line for programs. */
export const printRows = (title: string, item: 'points' | 'spans', rows: readonly Row[]): void => {
  const out = (text: string): void => {
    process.stdout.write(`${text}\n`);
  };
  out(`\n${title}`);
  for (const row of rows) {
    const { stage, items_per_second, cpu_seconds_per_million, ...details } = row;
    const rest = Object.entries(details)
      .map(([key, value]) => `${key} ${String(value)}`)
      .join(', ');
    out(
      `  ${stage.padEnd(38)} ${items_per_second.toLocaleString('en-US').padStart(12)} ${item}/s ` +
        `${cpu_seconds_per_million.toFixed(2).padStart(7)} CPU s/M${rest === '' ? '' : `   ${rest}`}`,
    );
  }
  for (const row of rows) out(JSON.stringify({ item, ...row }));
};
