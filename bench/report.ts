import { rounded, spreadOf } from './statistics.ts';

/** One line of the report: the measured stage, the rate, and CPU seconds for a million items (points or spans). */
export type Row = {
  readonly stage: string;
  readonly items_per_second: number;
  readonly cpu_seconds_per_million: number;
  readonly [detail: string]: unknown;
};

const spreadKeys = ['items_per_second', 'cpu_seconds_per_million'] as const;

const digits = 4;

/** Repeats of the same rows in the same order as one: medians of all figures; of rate and CPU the least and greatest, too. */
export const combineRows = (repeats: readonly (readonly Row[])[]): Row[] =>
  (repeats[0] ?? []).map((first, index) => {
    const rows = repeats.map((repeat) => repeat[index] ?? first);
    const figures = (key: string): number[] =>
      rows.map((row) => row[key]).filter((value) => typeof value === 'number');
    const combined: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(first))
      combined[key] = typeof value === 'number' ? rounded(spreadOf(figures(key)).median, digits) : value;
    const spreads = spreadKeys.flatMap((key): [string, number][] => {
      const { min, max } = spreadOf(figures(key));
      return [
        [`${key}_min`, min],
        [`${key}_max`, max],
      ];
    });
    return {
      ...combined,
      stage: first.stage,
      items_per_second: spreadOf(figures('items_per_second')).median,
      cpu_seconds_per_million: spreadOf(figures('cpu_seconds_per_million')).median,
      repeats: rows.length,
      ...Object.fromEntries(spreads),
    };
  });

/** Prints rows for people, then each as a JSON line for programs. */
export const printRows = (
  title: string,
  item: 'points' | 'spans' | 'data points' | 'items',
  rows: readonly Row[],
): void => {
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
