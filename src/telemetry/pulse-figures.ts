import type { Counter, Gauge, Histogram } from 'prom-client';
import { byPipeline } from '../model/signals.ts';
import type { IngressMetrics } from './ingress-metrics.ts';
import type { MetadataMetrics } from './metadata-metrics.ts';
import { type ActPulse, actsMax, type PipelinePulse, type RolePulse, reasonsMax } from './pulse.ts';
import type { TransferMetrics } from './transfer-metrics.ts';

// The figures of a pulse are differences of what the metrics count anyway: no request and no item does more for them.

/** The figures of one role since the call before, per second. */
export type PulseFigures = (seconds: number) => Promise<RolePulse>;

type Metric = Counter<string> | Gauge<string>;
type Value = Awaited<ReturnType<Metric['get']>>['values'][number];
type Labels = Readonly<Record<string, string | number | undefined>>;

const keyOf = ({ labels }: Value): string => Object.values(labels).join(' ');

/** Growth of a counter since the call before, by its labels; a series that is new has grown from 0. */
const createGrowth = (counter: Counter<string>) => {
  let before = new Map<string, number>();
  return async (): Promise<{ labels: Labels; grown: number }[]> => {
    const { values } = await counter.get();
    const last = before;
    before = new Map(values.map((each) => [keyOf(each), each.value]));
    return values.map((each) => ({
      labels: each.labels,
      grown: Math.max(0, each.value - (last.get(keyOf(each)) ?? 0)),
    }));
  };
};

type Grown = Awaited<ReturnType<ReturnType<typeof createGrowth>>>;

const matches = (labels: Labels, wanted: Labels): boolean =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value);

const sumOf = (all: Grown, wanted: Labels = {}): number =>
  all.reduce((sum, { labels, grown }) => sum + (matches(labels, wanted) ? grown : 0), 0);

/** Three digits are enough for people. */
const rounded = (value: number): number => (Number.isFinite(value) ? Number(value.toPrecision(4)) : 0);

const topReasons = (all: Grown, seconds: number): RolePulse['dropped'] => {
  const byReason = new Map<string, number>();
  for (const { labels, grown } of all)
    if (grown > 0)
      byReason.set(String(labels['reason']), (byReason.get(String(labels['reason'])) ?? 0) + grown);
  return [...byReason]
    .toSorted(([, left], [, right]) => right - left)
    .slice(0, reasonsMax)
    .map(([reason, grown]) => ({ reason, rate: rounded(grown / seconds) }));
};

const gaugeOf = async (gauge: Gauge<string>, wanted: Labels = {}): Promise<number> =>
  (await gauge.get()).values.reduce(
    (sum, { labels, value }) => sum + (matches(labels, wanted) ? value : 0),
    0,
  );

/** The figures of a receiver. */
export const createIngressFigures = (metrics: IngressMetrics): PulseFigures => {
  const accepted = createGrowth(metrics.accepted);
  const bodyBytes = createGrowth(metrics.bodyBytes);
  const refused = createGrowth(metrics.refused);
  const dropped = createGrowth(metrics.dropped);
  return async (seconds) => {
    const rate = (all: Grown, wanted?: Labels): number => rounded(sumOf(all, wanted) / seconds);
    const items = await accepted();
    const bytes = await bodyBytes();
    const lost = await dropped();
    return {
      dropped: topReasons(lost, seconds),
      ingress: {
        items: byPipeline((pipeline) => rate(items, { pipeline })),
        bytes: {
          push: rate(bytes, { receiver: 'push' }),
          otlp: rate(bytes, { receiver: 'otlp' }) + rate(bytes, { receiver: 'grpc' }),
        },
        refused: rate(await refused()),
        dropped: rate(lost),
        bytesInFlight: await gaugeOf(metrics.bytesInFlight),
        connections: await gaugeOf(metrics.connections),
      },
    };
  };
};

/** The 99th percentile of the observations since the call before, ms by pipeline: the upper bound of its bucket. */
const createP99 = (histogram: Histogram<string>) => {
  let before = new Map<string, number>();
  return async (): Promise<ReadonlyMap<string, number>> => {
    const { values } = await histogram.get();
    const last = before;
    before = new Map();
    const buckets = new Map<string, { bound: number; grown: number }[]>();
    for (const { labels, value, metricName } of values) {
      if (metricName?.endsWith('_bucket') !== true) continue;
      const pipeline = String(labels['pipeline']);
      const key = `${pipeline} ${labels['le']}`;
      before.set(key, value);
      const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
      const all = buckets.get(pipeline) ?? [];
      all.push({ bound, grown: value - (last.get(key) ?? 0) });
      buckets.set(pipeline, all);
    }
    const found = new Map<string, number>();
    for (const [pipeline, all] of buckets) {
      const total = all.at(-1)?.grown ?? 0;
      const finite = all.filter(({ bound }) => Number.isFinite(bound));
      const hit = finite.find(({ grown }) => grown >= 0.99 * total) ?? finite.at(-1);
      if (total > 0 && hit !== undefined) found.set(pipeline, hit.bound * 1000);
    }
    return found;
  };
};

const noTables = { suspended: 0, broken: 0, noUpsertKeys: 0 };
const tableStates = { suspended: 'suspended', broken: 'broken', no_upsert_keys: 'noUpsertKeys' } as const;

const tablesOf = async (gauge: Gauge<string>) => {
  const tables: Record<string, { suspended: number; broken: number; noUpsertKeys: number }> = {};
  for (const { labels, value } of (await gauge.get()).values) {
    const state = Object.entries(tableStates).find(([name]) => name === labels['state'])?.[1];
    const instance = String(labels['questdb']);
    tables[instance] = {
      ...(tables[instance] ?? noTables),
      ...(state === undefined ? {} : { [state]: value }),
    };
  }
  return tables;
};

/** The label of the tables of an instance: those of the first one have the name of the pipeline alone. */
const instanceOf = (pipeline: string): string =>
  pipeline === 'metrics' ? 'default' : pipeline.replace(/^metrics-/, '');

/** The figures of a transfer process. */
export const createTransferFigures = (metrics: TransferMetrics): PulseFigures => {
  const messages = createGrowth(metrics.messages);
  const stored = createGrowth(metrics.stored);
  const rows = createGrowth(metrics.rows);
  const dropped = createGrowth(metrics.dropped);
  const deadLettered = createGrowth(metrics.deadLettered);
  const bytes = createGrowth(metrics.messageBytes);
  const writeP99 = createP99(metrics.writeSeconds);
  return async (seconds) => {
    const rate = (all: Grown, wanted?: Labels): number => rounded(sumOf(all, wanted) / seconds);
    const grown = {
      messages: await messages(),
      stored: await stored(),
      rows: await rows(),
      dropped: await dropped(),
      deadLettered: await deadLettered(),
      bytes: await bytes(),
    };
    const p99 = await writeP99();
    const pipelines: Record<string, PipelinePulse> = {};
    for (const { labels } of (await metrics.breakerOpen.get()).values) {
      const of = { pipeline: String(labels['pipeline']) };
      pipelines[of.pipeline] = {
        items: rate(grown.stored, of),
        rows: rate(grown.rows, of),
        dropped: rate(grown.dropped, of),
        deadLettered: rate(grown.deadLettered, of),
        bytes: rate(grown.bytes, of),
        acks: rate(grown.messages, { ...of, settlement: 'ack' }),
        retries: rate(grown.messages, { ...of, settlement: 'retry' }),
        writeP99Ms: p99.get(of.pipeline) ?? null,
        heldBytes: await gaugeOf(metrics.heldBytes, of),
        setAside: await gaugeOf(metrics.tablesSetAside, of),
        waiting: await gaugeOf(metrics.tableMessagesWaiting, { questdb: instanceOf(of.pipeline) }),
        isBreakerOpen: (await gaugeOf(metrics.breakerOpen, of)) > 0,
        isHeld: (await gaugeOf(metrics.deadLettersHeld, of)) > 0,
      };
    }
    return {
      dropped: topReasons(grown.dropped, seconds),
      transfer: { pipelines, tables: await tablesOf(metrics.questdbTables) },
    };
  };
};

/** The figures of a metadata process, and the acts on dead letters that it runs. */
export const createMetadataFigures = (
  metrics: Pick<MetadataMetrics, 'requests'>,
  acts: () => readonly ActPulse[],
): PulseFigures => {
  const requests = createGrowth(metrics.requests);
  return async (seconds) => ({
    dropped: [],
    metadata: { requests: rounded(sumOf(await requests()) / seconds), acts: acts().slice(0, actsMax) },
  });
};
