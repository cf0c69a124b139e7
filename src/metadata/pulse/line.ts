import { ofInstance } from '../../config/instance-streams.ts';
import { applicationPipelines, byPipeline, pipelines, signals } from '../../model/signals.ts';
import type { DiskSpace } from '../../stores/clickhouse/disks.ts';
import type { PipelinePulse } from '../../telemetry/pulse.ts';
import type { Line, LineProcess, LineStore, LineStream } from '../answers/line.ts';
import { shownDifference } from '../api/shown-account.ts';
import type { HourAccount } from './hour-account.ts';
import { ratesOf, type SeenProcess } from './processes.ts';
import type { StreamTrend } from './stream-trends.ts';
import { troublesOf } from './troubles.ts';

/** A stream of the line and its last reading; undefined where it was not read, or is missing. */
export type SeenStream = {
  readonly name: string;
  readonly consumer: string | undefined;
  readonly isMissing: boolean;
  readonly trend: StreamTrend | undefined;
};

/** What the line is drawn from. */
export type LineSources = {
  /** Ms since the epoch. */
  readonly nowMs: number;
  /** What the clock of NATS says; undefined where it is not known. */
  readonly natsMs: number | undefined;
  readonly isConnected: boolean;
  readonly processes: readonly SeenProcess[];
  /** Every process that is there was heard by now. */
  readonly isSettled: boolean;
  /** Pulses of further processes are ignored: the figures lack theirs. */
  readonly isFull: boolean;
  readonly streams: readonly SeenStream[];
  readonly stores: readonly LineStore[];
  /** The space of the disks that metadata knows, by name. */
  readonly disks: ReadonlyMap<string, DiskSpace>;
  /** Names of the QuestDB instances, the first one `default`. */
  readonly instances: readonly string[];
  readonly account: HourAccount | undefined;
  readonly accountWhy: string | undefined;
  /** Since when the looks at the account fail, ms since the epoch. */
  readonly notKnownSince: number | undefined;
  /** Lines of both books wait in LEDGER unread. */
  readonly isLedgerBehind: boolean;
};

const rounded = (value: number): number => Number(value.toPrecision(4));

const checksOf = (reasons: Readonly<Record<string, string>>): LineProcess['failing'] =>
  Object.entries(reasons).map(([check, why]) => ({ check, why }));

const shownPipeline = ([pipeline, each]: [string, PipelinePulse]): LineProcess['pipelines'][number] => ({
  pipeline,
  items_per_second: each.items,
  rows_per_second: each.rows,
  dropped_per_second: each.dropped,
  dead_lettered_per_second: each.deadLettered,
  bytes_per_second: each.bytes,
  acks_per_second: each.acks,
  retries_per_second: each.retries,
  write_p99_ms: each.writeP99Ms,
  held_bytes: each.heldBytes,
  tables_set_aside: each.setAside,
  messages_waiting: each.waiting,
  breaker_open: each.isBreakerOpen,
  held_by_dead_letters: each.isHeld,
});

/** A process as the API shows it. The rates of one that is gone are 0. */
export const shownProcess = ({ role, id, pulse, isGone, silentSeconds }: SeenProcess): LineProcess => {
  const { ingress, transfer } = pulse;
  const rates = ratesOf(pulse);
  const rate = (value: number): number => (isGone ? 0 : rounded(value));
  return {
    id,
    role,
    host: pulse.host,
    pid: pulse.pid,
    version: pulse.version,
    started_at: pulse.startedAt,
    state: isGone ? 'gone' : Object.keys(pulse.failing).length === 0 ? 'ready' : 'not_ready',
    silent_seconds: silentSeconds,
    failing: checksOf(pulse.failing),
    degraded: checksOf(pulse.degraded),
    items_per_second: rate(rates.items),
    bytes_per_second: rate(rates.bytes),
    dropped_per_second: rate(rates.dropped),
    refused_per_second: rate(rates.refused),
    dead_lettered_per_second: rate(rates.deadLettered),
    dropped: isGone ? [] : pulse.dropped.map(({ reason, rate: each }) => ({ reason, per_second: each })),
    bytes_in_flight: ingress?.bytesInFlight ?? null,
    connections: ingress?.connections ?? null,
    cpu: rate(pulse.cpu),
    event_loop_p99_ms: rate(pulse.loopP99Ms),
    rss_bytes: pulse.rssBytes,
    pipelines: isGone ? [] : Object.entries(transfer?.pipelines ?? {}).map(shownPipeline),
  };
};

const shownStream = ({ name, consumer, isMissing, trend }: SeenStream): LineStream => ({
  stream: name,
  consumer: consumer ?? null,
  state: isMissing ? 'missing' : trend === undefined ? 'unread' : 'read',
  messages: trend?.messages ?? 0,
  bytes: trend?.bytes ?? 0,
  bytes_max: Math.max(0, trend?.bytesMax ?? 0),
  fill: trend === undefined || trend.bytesMax <= 0 ? 0 : rounded(trend.bytes / trend.bytesMax),
  oldest_age_seconds: Math.round(trend?.oldestAgeSeconds ?? 0),
  pending: trend?.pending ?? 0,
  ack_pending: trend?.ackPending ?? 0,
  redelivered: trend?.redelivered ?? 0,
  waiting_pulls: trend?.waitingPulls ?? 0,
  messages_in_per_second:
    trend?.messagesInPerSecond === undefined ? null : rounded(trend.messagesInPerSecond),
  growth_bytes_per_second: trend?.growthPerSecond === undefined ? null : rounded(trend.growthPerSecond),
  seconds_to_full: trend?.secondsToFull ?? null,
  read_seconds_ago: trend?.readSecondsAgo ?? 0,
});

type Edge = Line['edges'][number];
type Node = Line['nodes'][number];

const edge = (from: string, to: string, items: number | null, bytes: number | null): Edge => ({
  from,
  to,
  items_per_second: items === null ? null : rounded(items),
  bytes_per_second: bytes === null ? null : rounded(bytes),
});

/** A consumer: its label in the figures, its stream, and the node of its store. */
type Leg = { readonly label: string; readonly stream: string; readonly store: string };

const legsOf = (instances: readonly string[]): Leg[] => [
  ...instances.map((instance) => ({
    label: ofInstance('metrics', instance),
    stream: ofInstance('METRICS', instance),
    store: `store:questdb:${instance}`,
  })),
  ...applicationPipelines.map((label) => ({
    label,
    stream: signals[label].stream,
    store: 'store:clickhouse',
  })),
  { label: 'ledger', stream: 'LEDGER', store: 'store:clickhouse' },
];

/** Whether a consumer takes points: of the stream of one QuestDB instance. */
const isOfPoints = ({ label }: Pick<Leg, 'label'>): boolean =>
  label !== 'ledger' && !applicationPipelines.some((pipeline) => pipeline === label);

const nodesOf = (legs: readonly Leg[], instances: readonly string[]): Node[] => [
  { id: 'producers:metrics', kind: 'producers', name: 'reporters' },
  { id: 'producers:traces', kind: 'producers', name: 'exporters' },
  { id: 'receiver:push', kind: 'receiver', name: 'push' },
  { id: 'receiver:otlp', kind: 'receiver', name: 'OTLP' },
  ...legs.map(({ stream }): Node => ({ id: `stream:${stream}`, kind: 'stream', name: stream })),
  ...legs.map(({ label }): Node => ({ id: `transfer:${label}`, kind: 'transfer', name: label })),
  ...instances.map(
    (name): Node => ({
      id: `store:questdb:${name}`,
      kind: 'store',
      name: instances.length === 1 ? 'QuestDB' : `QuestDB ${name}`,
    }),
  ),
  { id: 'store:clickhouse', kind: 'store', name: 'ClickHouse' },
  { id: 'dead_letters', kind: 'dead_letters', name: 'DEADLETTER' },
];

/** The figures of all processes that are there. */
const sumsOf = (processes: readonly SeenProcess[]) => {
  const pulses = processes.flatMap(({ pulse, isGone }) => (isGone ? [] : [pulse]));
  const ingress = { items: byPipeline(() => 0), push: 0, otlp: 0, refused: 0, dropped: 0 };
  const legs = new Map<string, { stored: number; dropped: number; deadLettered: number; bytes: number }>();
  for (const { ingress: own, transfer } of pulses) {
    for (const pipeline of pipelines) ingress.items[pipeline] += own?.items[pipeline] ?? 0;
    ingress.push += own?.bytes.push ?? 0;
    ingress.otlp += own?.bytes.otlp ?? 0;
    ingress.refused += own?.refused ?? 0;
    ingress.dropped += own?.dropped ?? 0;
    for (const [label, each] of Object.entries(transfer?.pipelines ?? {})) {
      const known = legs.get(label) ?? { stored: 0, dropped: 0, deadLettered: 0, bytes: 0 };
      legs.set(label, {
        stored: known.stored + each.items,
        dropped: known.dropped + each.dropped,
        deadLettered: known.deadLettered + each.deadLettered,
        bytes: known.bytes + each.bytes,
      });
    }
  }
  return { ingress, legs };
};

type Sums = ReturnType<typeof sumsOf>;

/** Which part of the points each of these streams receives, by their messages of the last minute; undefined where it is not known. */
const sharesOf = (streams: readonly SeenStream[], legs: readonly Leg[]) => {
  const own = legs.filter(isOfPoints);
  const rates = new Map(
    own.map(({ stream }) => [
      stream,
      streams.find(({ name }) => name === stream)?.trend?.messagesInPerSecond,
    ]),
  );
  let total = 0;
  for (const messages of rates.values()) total += messages ?? 0;
  return (stream: string): number | undefined => {
    if (own.length === 1) return 1;
    const messages = rates.get(stream);
    return messages === undefined ? undefined : total === 0 ? 0 : messages / total;
  };
};

const edgesOf = (
  { ingress, legs: figures }: Sums,
  legs: readonly Leg[],
  streams: readonly SeenStream[],
): Edge[] => {
  const shareOf = sharesOf(streams, legs);
  const exported = applicationPipelines.reduce((sum, pipeline) => sum + ingress.items[pipeline], 0);
  const edges = [
    edge('producers:metrics', 'receiver:push', ingress.items.metrics, ingress.push),
    edge('producers:traces', 'receiver:otlp', exported, ingress.otlp),
    ...applicationPipelines.map((pipeline) =>
      edge('receiver:otlp', `stream:${signals[pipeline].stream}`, ingress.items[pipeline], null),
    ),
    edge('receiver:push', 'stream:LEDGER', null, null),
    edge('receiver:otlp', 'stream:LEDGER', null, null),
  ];
  for (const { label, stream, store } of legs) {
    const own = figures.get(label) ?? { stored: 0, dropped: 0, deadLettered: 0, bytes: 0 };
    const share = shareOf(stream);
    if (isOfPoints({ label }))
      edges.push(
        edge(
          'receiver:push',
          `stream:${stream}`,
          share === undefined ? null : share * ingress.items.metrics,
          null,
        ),
      );
    edges.push(
      edge(`stream:${stream}`, `transfer:${label}`, own.stored + own.dropped + own.deadLettered, own.bytes),
      edge(`transfer:${label}`, store, own.stored, null),
      edge(`transfer:${label}`, 'dead_letters', own.deadLettered, null),
    );
    if (label !== 'ledger') edges.push(edge(`transfer:${label}`, 'stream:LEDGER', null, null));
  }
  return edges;
};

const totalsOf = ({ ingress, legs }: Sums): Line['totals'] => {
  let stored = 0;
  let dropped = ingress.dropped;
  let deadLettered = 0;
  for (const [label, each] of legs) {
    deadLettered += each.deadLettered;
    if (label === 'ledger') continue;
    stored += each.stored;
    dropped += each.dropped;
  }
  return {
    accepted_items_per_second: rounded(pipelines.reduce((sum, pipeline) => sum + ingress.items[pipeline], 0)),
    accepted_bytes_per_second: rounded(ingress.push + ingress.otlp),
    refused_requests_per_second: rounded(ingress.refused),
    stored_items_per_second: rounded(stored),
    dropped_items_per_second: rounded(dropped),
    dead_lettered_items_per_second: rounded(deadLettered),
  };
};

/** An account that adds up is known to only while the lines of both books are read. */
const shownAccount = (account: HourAccount, isBehind: boolean): Line['account'] => ({
  since: account.since,
  until: account.until,
  ...account.terms,
  adds_up: isBehind && account.addsUp === true ? null : account.addsUp,
  wrong_owners: account.wrongOwners,
  differences: account.differences.map(shownDifference),
});

/** The line with its rates, and what is wrong with it. */
export const drawLine = (sources: LineSources): Line => {
  const { nowMs, isConnected, instances, account, accountWhy, isLedgerBehind } = sources;
  // Without the connection nobody is heard, which says nothing about the processes.
  const processes = sources.processes.map((each) => ({ ...each, isGone: each.isGone && isConnected }));
  const legs = legsOf(instances);
  const sums = sumsOf(processes);
  const streams = sources.streams.map(shownStream);
  const totals = totalsOf(sums);
  return {
    at: nowMs / 1_000,
    nats_connected: isConnected,
    troubles: troublesOf({ ...sources, processes, streams, totals }),
    totals,
    nodes: nodesOf(legs, instances),
    edges: edgesOf(sums, legs, sources.streams),
    streams,
    stores: [...sources.stores],
    processes: processes.map(shownProcess),
    account: account === undefined ? null : shownAccount(account, isLedgerBehind),
    account_why: accountWhy ?? null,
  };
};
