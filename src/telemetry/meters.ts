import {
  Counter,
  type CounterConfiguration,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  type HistogramConfiguration,
  type Registry,
} from 'prom-client';

/** What an operator does about a metric; and the name of the same metric in the OpenTelemetry Collector, if it has one. */
export type MetricRemedy = { readonly remedy: string; readonly collector?: string | undefined };

type Declared<Configuration> = Omit<Configuration, 'registers'> & MetricRemedy;

const declared = new WeakMap<object, MetricRemedy>();

/** What a metric was declared with; undefined for a metric of prom-client's own. */
export const remedyOf = (metric: object): MetricRemedy | undefined => declared.get(metric);

/** Declares the metrics of a registry, each with its remedy: docs/metrics.md has both. */
export const metersIn = (registry: Registry) => {
  const registers = [registry];
  const remedied = <Metric extends object>(metric: Metric, remedy: MetricRemedy): Metric => {
    declared.set(metric, remedy);
    return metric;
  };
  return {
    counter: <Label extends string>({ remedy, collector, ...rest }: Declared<CounterConfiguration<Label>>) =>
      remedied(new Counter({ ...rest, registers }), { remedy, collector }),
    gauge: <Label extends string>({ remedy, collector, ...rest }: Declared<GaugeConfiguration<Label>>) =>
      remedied(new Gauge({ ...rest, registers }), { remedy, collector }),
    histogram: <Label extends string>({
      remedy,
      collector,
      ...rest
    }: Declared<HistogramConfiguration<Label>>) =>
      remedied(new Histogram({ ...rest, registers }), { remedy, collector }),
  };
};

export type Meters = ReturnType<typeof metersIn>;

/** Of the metrics that prom-client makes itself, those that operators use. */
export const processRemedies: Readonly<Record<string, MetricRemedy>> = {
  process_resident_memory_bytes: {
    remedy:
      'near `tidemark_memory_limit_bytes`: raise the limit; lower `TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX` for ingress',
  },
  process_cpu_seconds_total: {
    remedy: 'a rate near 1 for minutes: the process uses a whole core; add replicas',
  },
  process_open_fds: {
    remedy: 'near `process_max_fds`: raise the limit of open files, or lower the limits of connections',
  },
  process_start_time_seconds: {
    remedy: 'an unexpected recent start: read the last log lines before it',
  },
  nodejs_eventloop_lag_p99_seconds: {
    remedy: 'over 0.2 s for minutes: the process needs more than one core; add replicas',
  },
};
