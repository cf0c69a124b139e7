import { changePercent, intervalOf, median, rounded, spreadOf } from './statistics.ts';
import { tableLines } from './table.ts';

/** The JSON lines of one run: figures by the name of their stage or latency. */
export type RunFigures = ReadonlyMap<string, Readonly<Record<string, number>>>;

/** One figure of both revisions: medians, and their difference, over pairs of consecutive runs. */
export type Difference = {
  readonly stage: string;
  readonly figure: string;
  readonly base: number;
  readonly head: number;
  readonly change_percent: number;
  readonly change_percent_min: number;
  readonly change_percent_max: number;
  readonly change_percent_mean: number;
  /** Half of the 95 % interval around the mean, by Student's t; NaN for one pair. */
  readonly change_percent_interval: number;
  readonly pairs: number;
};

const comparedFigures = [
  'items_per_second',
  'cpu_seconds_per_million',
  'cpu_line',
  'requests_per_second',
  'cpu_ingress',
  'cpu_transfer',
  'cpu_nats',
  'cpu_questdb',
  'cpu_clickhouse',
  'cpu_metadata',
  'answered_p99_ms',
  'visible_p99_ms',
];

const nameOf = (line: object): string | undefined => {
  const stage: unknown = Reflect.get(line, 'stage');
  if (typeof stage === 'string') return stage;
  const latency: unknown = Reflect.get(line, 'latency');
  return typeof latency === 'string' ? `latency, ${latency}` : undefined;
};

/** The figures of the lines that name a stage or a latency; all other output of a run is for people. */
export const readFigures = (output: string): RunFigures => {
  const figures = new Map<string, Record<string, number>>();
  for (const text of output.split('\n')) {
    if (!text.startsWith('{')) continue;
    const line: unknown = JSON.parse(text);
    if (typeof line !== 'object' || line === null) continue;
    const name = nameOf(line);
    if (name === undefined) continue;
    const own: Record<string, number> = {};
    for (const [key, value] of Object.entries(line)) if (typeof value === 'number') own[key] = value;
    figures.set(name, own);
  }
  return figures;
};

/** Compares the figures that every run of both has. `base` and `head` have as many runs, in pairs. */
export const differencesOf = (base: readonly RunFigures[], head: readonly RunFigures[]): Difference[] =>
  [...(base[0]?.keys() ?? [])].flatMap((stage) =>
    comparedFigures.flatMap((figure): Difference[] => {
      const before = base.map((run) => run.get(stage)?.[figure]).filter((value) => value !== undefined);
      const after = head.map((run) => run.get(stage)?.[figure]).filter((value) => value !== undefined);
      if (before.length === 0 || before.length !== base.length || after.length !== head.length) return [];
      const percents = before.map((value, index) => changePercent(value, after[index] ?? Number.NaN));
      const changes = spreadOf(percents);
      const { mean, half } = intervalOf(percents);
      return [
        {
          stage,
          figure,
          base: rounded(median(before), 4),
          head: rounded(median(after), 4),
          change_percent: rounded(changes.median),
          change_percent_min: rounded(changes.min),
          change_percent_max: rounded(changes.max),
          change_percent_mean: rounded(mean),
          change_percent_interval: rounded(half),
          pairs: before.length,
        },
      ];
    }),
  );

/** A table of differences for people, then each as a JSON line. `base` and `head` name the two columns. */
export const differenceLines = (
  base: string,
  head: string,
  differences: readonly Difference[],
): readonly string[] => {
  const titles = ['', 'figure', base, head, 'change %', 'least', 'greatest', 'mean', '±95 %'];
  const cells = differences.map((row) => [
    row.stage,
    row.figure,
    ...[row.base, row.head, row.change_percent, row.change_percent_min, row.change_percent_max].map(String),
    ...[row.change_percent_mean, row.change_percent_interval].map(String),
  ]);
  return [...tableLines(titles, cells), ...differences.map((row) => JSON.stringify(row))];
};
