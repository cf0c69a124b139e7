/** The figures of a run by name; a figure that the run did not measure is absent. */
export type Figures = Readonly<Record<string, number>>;

export type Target = {
  readonly target: string;
  /** The name of its figure. */
  readonly figure: string;
  readonly unit: string;
} & ({ readonly atLeast: number } | { readonly atMost: number });

/**
 * The targets of this program with all processes on two cores; CPU seconds are per million items, ingress and transfer together.
 */
export const targets: readonly Target[] = [
  { target: 'push, 1000 points a request', figure: 'push_per_second', unit: 'points/s', atLeast: 250_000 },
  { target: 'push, CPU of our roles', figure: 'push_cpu', unit: 'CPU s/M', atMost: 3 },
  { target: 'push, CPU of nats-server', figure: 'push_cpu_nats', unit: 'CPU s/M', atMost: 0.5 },
  { target: 'push, CPU of QuestDB', figure: 'push_cpu_questdb', unit: 'CPU s/M', atMost: 3.5 },
  { target: 'push, 1 point a request', figure: 'single_requests', unit: 'requests/s', atLeast: 10_000 },
  { target: 'spans, protobuf', figure: 'protobuf_per_second', unit: 'spans/s', atLeast: 110_000 },
  { target: 'spans, protobuf, CPU of our roles', figure: 'protobuf_cpu', unit: 'CPU s/M', atMost: 3 },
  { target: 'spans, JSON', figure: 'json_per_second', unit: 'spans/s', atLeast: 85_000 },
  { target: 'spans, JSON, CPU of our roles', figure: 'json_cpu', unit: 'CPU s/M', atMost: 7 },
  ...(['push', 'protobuf', 'json'] as const).flatMap((signal): Target[] => [
    {
      target: `${signal}, half load: 200 after, p50`,
      figure: `${signal}_answered_p50`,
      unit: 'ms',
      atMost: 5,
    },
    {
      target: `${signal}, half load: 200 after, p99`,
      figure: `${signal}_answered_p99`,
      unit: 'ms',
      atMost: 50,
    },
    {
      target: `${signal}, half load: visible, p50`,
      figure: `${signal}_visible_p50`,
      unit: 'ms',
      atMost: 300,
    },
    {
      target: `${signal}, half load: visible, p99`,
      figure: `${signal}_visible_p99`,
      unit: 'ms',
      atMost: 1_500,
    },
  ]),
  { target: 'first row, empty caches', figure: 'first_row_cold', unit: 's', atMost: 180 },
  { target: 'first row, set up before', figure: 'first_row_warm', unit: 's', atMost: 15 },
  { target: 'peak memory of ingress', figure: 'rss_ingress', unit: 'MiB', atMost: 300 },
  { target: 'peak memory of transfer', figure: 'rss_transfer', unit: 'MiB', atMost: 300 },
  { target: 'peak memory of transfer, backlog', figure: 'rss_backlog', unit: 'MiB', atMost: 300 },
  {
    target: 'CPU of the line with the console open',
    figure: 'console_cpu_change',
    unit: '% more',
    atMost: 3,
  },
  { target: 'memory of ingress, growth', figure: 'growth_ingress', unit: 'MiB/min', atMost: 1 },
  { target: 'memory of transfer, growth', figure: 'growth_transfer', unit: 'MiB/min', atMost: 1 },
];

export type Judgement = {
  readonly target: string;
  readonly figure: string;
  readonly unit: string;
  readonly wanted: string;
  readonly reached: number;
  readonly met: boolean;
};

/** Each target that the run has a figure for. A figure that is not a number is missed. */
export const judge = (figures: Figures, wanted: readonly Target[] = targets): Judgement[] =>
  wanted.flatMap((target): Judgement[] => {
    const reached = figures[target.figure];
    if (reached === undefined) return [];
    const isAtLeast = 'atLeast' in target;
    return [
      {
        target: target.target,
        figure: target.figure,
        unit: target.unit,
        wanted: isAtLeast ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`,
        reached,
        met: isAtLeast ? reached >= target.atLeast : reached <= target.atMost,
      },
    ];
  });

/**
 * The run's own explanation of a missed target: the load of the cores on that line, and the processes with the most time per
 * million items, the largest first. `spent`: CPU seconds per million items, by line and process.
 */
export const missedWhy = (
  figure: string,
  figures: Figures,
  spent: Readonly<Record<string, Readonly<Record<string, number>>>>,
): string => {
  if (figure.startsWith('first_row'))
    return 'downloads and builds where caches are empty, else starts of the engines';
  if (figure.startsWith('console')) return 'the rows above name the processes that take more';
  const line = figure.slice(0, figure.indexOf('_'));
  const costs = Object.entries(spent[line] ?? {}).sort(([, a], [, b]) => b - a);
  if (costs.length === 0) return 'the peak or growth that the kernel noted, whatever the line';
  const perMillion = costs.reduce((sum, [, seconds]) => sum + seconds, 0);
  const cores = (perMillion * (figures[`${line}_per_second`] ?? 0)) / 1e6;
  const shares = costs.map(([process, seconds]) => `${process} ${seconds.toFixed(2)}`);
  return `${cores.toFixed(2)} cores busy; CPU s per million: ${shares.join(', ')}`;
};
