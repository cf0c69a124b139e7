import { setTimeout as delay } from 'node:timers/promises';
import { sumRuns } from '../../account/accounts.ts';
import { createCaughtUp } from '../../account/caught-up.ts';
import { isWrong } from '../../account/difference.ts';
import { readDifferences } from '../../account/difference-table.ts';
import { ownerText } from '../../account/explain-losses.ts';
import { createLook, type LookResult } from '../../account/look.ts';
import type { StoreTargets } from '../../account/owner-stores.ts';
import type { PointsTable } from '../../account/point-rows.ts';
import type { DayFilter } from '../../account/settled-days.ts';
import { compareStores, type StoreComparison } from '../../account/store-compare.ts';
import { createStoreLook } from '../../account/store-look.ts';
import type { NatsIdentity } from '../../account/stream-ends.ts';
import type { Bus } from '../../bus/connection.ts';
import { unlessMissing } from '../../bus/nats-fault.ts';
import { restoredKey } from '../../bus/stream-snapshot.ts';
import { readStream } from '../../bus/stream-state.ts';
import { ofInstance } from '../../config/instance-streams.ts';
import type { Pipelines } from '../../config/pipelines.ts';
import type { Orphan, Orphans } from '../../dead-letters/orphans.ts';
import { epochParts } from '../../directory/epoch.ts';
import { buckets, systemKeys } from '../../directory/keys.ts';
import { keptFromDay } from '../../directory/policies.ts';
import { Fault } from '../../model/fault.ts';
import type { Pipeline } from '../../model/signals.ts';
import type { Clickhouse } from '../../stores/clickhouse/client.ts';
import type { AccountMetrics } from '../../telemetry/account-metrics.ts';
import type { Log } from '../../telemetry/log.ts';
import type { FurtherStreams } from '../further-streams.ts';
import type { Records } from '../records/store.ts';
import { knownInstanceOf, type PlacedInstance, unknownInstanceText } from '../tables/placement.ts';
import { type AccountState, startAccountWatch } from './account-watch.ts';
import { whyLeftOut } from './left-out.ts';
import { createNotKnownMetric } from './not-known.ts';
import { createUnreadStreams, type UnreadStreams } from './unread-streams.ts';

/** The account of this deployment, as this process looks at it. */
export type Account = {
  readonly state: AccountState;
  readonly orphans: Orphans;
  readonly unreadStreams: UnreadStreams;
  /** Compares the stores with the records now. Throws the Faults of ClickHouse. */
  compareStores(filter: DayFilter): Promise<StoreComparison>;
  stop(): Promise<void>;
};

export type AccountDependencies = {
  readonly bus: Bus;
  readonly clickhouse: Clickhouse;
  readonly pipelines: Pipelines;
  readonly instances: readonly PlacedInstance[];
  readonly furtherStreams: FurtherStreams;
  readonly records: Records;
  readonly orphans: Orphans;
  readonly metrics: AccountMetrics;
  readonly log: Log;
};

/** Open differences that the metrics name one by one. */
const namedMax = 50;
/** Where looks find nothing, another process may have. */
const readEveryMs = 300_000;

const timeText = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 16);

/** The streams whose messages are accounted for, and the one that carries the lines of both books. */
const streamsOf = ({ streams }: Pipelines) => {
  const consumed = streams.flatMap(({ name, consumer }) =>
    consumer === undefined ? [] : [{ name, consumer: consumer.name }],
  );
  const ledger = consumed.find(({ name }) => name === 'LEDGER');
  if (ledger === undefined) throw new Fault('internal', 'no_ledger', 'the pipelines have no stream LEDGER');
  return { accounted: consumed.filter((stream) => stream !== ledger), ledger };
};

/** The name of the stream that brings the items of an owner. */
const streamOf = (
  { records, pipelines }: Pick<AccountDependencies, 'records' | 'pipelines'>,
  pipeline: Pipeline,
  owner: number,
): string => {
  const { stream } = pipelines[pipeline].consumer;
  return pipeline === 'metrics' ? ofInstance(stream, knownInstanceOf(records, owner)) : stream;
};

const createTargets = (
  deps: AccountDependencies,
  clickhouse: Clickhouse,
  streams: ReturnType<typeof streamsOf>,
  signal: AbortSignal,
): (() => StoreTargets) => {
  const { bus, instances, records, pipelines } = deps;
  const sqls = new Map<string, PointsTable['sql']>(instances.map(({ name, sql }) => [name, sql]));
  // One that the setting lacks is as one that is away: what another process found of its tables stands.
  const sqlOf = (name: string): PointsTable['sql'] => {
    const sql = sqls.get(name) ?? {
      exec: () => Promise.reject(new Fault('transient', 'questdb_unavailable', unknownInstanceText(name))),
    };
    sqls.set(name, sql);
    return sql;
  };
  const ofOwner = (pipeline: Pipeline, owner: number): string => streamOf(deps, pipeline, owner);
  const caughtUp = createCaughtUp({ bus, ...streams, streamOf: ofOwner, signal });
  return () => ({
    clickhouse,
    points: records.tables.list().map(({ id, value }) => ({
      dataId: id,
      table: value.table_id,
      sql: sqlOf(knownInstanceOf(records, id)),
    })),
    isLeftOut: (pipeline, owner) => whyLeftOut(records, pipeline, owner) !== undefined,
    caughtUp,
    aheadMsMax: (pipeline, owner) => {
      const policies = pipeline === 'metrics' ? records.sourcePolicies : records.applicationPolicies;
      const seconds = policies.known(owner)?.value.ahead_seconds_max;
      if (seconds === undefined) return pipelines[pipeline].time.aheadMsMax;
      return seconds === null ? undefined : seconds * 1000;
    },
    keptFrom: (pipeline, owner) => {
      const policies = pipeline === 'metrics' ? records.sourcePolicies : records.applicationPolicies;
      return keptFromDay(policies.known(owner)?.value, Date.now());
    },
  });
};

/** Its bucket of counters is as old as its folder. One that was restored, or is made again, counts as another NATS. */
const natsOf = ({ bus, records: { system } }: AccountDependencies): NatsIdentity => ({
  id: async () => {
    const state = await unlessMissing(readStream(bus, `KV_${buckets.system}`));
    if (state === undefined) return undefined;
    const { created, config } = state.stream;
    return `${created} ${config.metadata?.[restoredKey] ?? ''}`.trim();
  },
  lastLife: async () => {
    await system.askLeader();
    const last = (await system.get(systemKeys.boot))?.value;
    return typeof last === 'number' ? last * epochParts + epochParts - 1 : undefined;
  },
});

const orphansMax = 10_000;

/** The orphans among the dead letters, up to a limit. */
const findOrphans = async (orphans: Orphans): Promise<Orphan[]> => {
  const found: Orphan[] = [];
  for (let from: number | undefined = 1; from !== undefined && found.length < orphansMax; ) {
    const page = await orphans.findOrphans(orphansMax - found.length, from);
    found.push(...page.orphans);
    from = page.next;
  }
  return found;
};

const lookTimeoutMs = 60_000;

/**
 * The same ClickHouse for the looks: each query has one thread, so that their share of the time is one of a core, and a
 * minute, because there may be many lines. Most of them read few lines, which machine code would not make up for its compilation.
 */
const forLooks = (clickhouse: Clickhouse): Clickhouse => ({
  ...clickhouse,
  rows: (schema, query, options = {}) =>
    clickhouse.rows(schema, query, {
      timeoutMs: lookTimeoutMs,
      ...options,
      settings: {
        ...options.settings,
        max_threads: 1,
        compile_expressions: 0,
        compile_aggregate_expressions: 0,
      },
    }),
});

const unreadStreamsOf = (deps: AccountDependencies): UnreadStreams =>
  createUnreadStreams({
    ...{ furtherStreams: deps.furtherStreams, purges: deps.records.purges },
    streamOf: (dataId) => streamOf(deps, 'metrics', dataId),
  });

/** Logs each unread stream once, until it is read again. */
const createUnreadLog = (unreadStreams: UnreadStreams, log: Log): (() => void) => {
  let told = new Set<string>();
  return () => {
    const names = unreadStreams.all().map(({ stream }) => stream);
    for (const stream of names)
      if (!told.has(stream))
        log.warn(
          { stream },
          'the account of a stream is not known: it cannot be read, and the setting lacks its instance',
        );
    told = new Set(names);
  };
};

/** Looks at the account from now on, and shows in the metrics what it finds. */
export const openAccount = (deps: AccountDependencies): Account => {
  const { bus, clickhouse, pipelines, metrics, log } = deps;
  const streams = streamsOf(pipelines);
  const unreadStreams = unreadStreamsOf(deps);
  const logUnread = createUnreadLog(unreadStreams, log);
  const stop = new AbortController();
  const targets = createTargets(deps, clickhouse, streams, stop.signal);
  const ofLooks = forLooks(clickhouse);
  let arePlacesKnown = false;
  void deps.records.ready.then(() => {
    arePlacesKnown = true;
  });
  const look = createLook({
    ...{ bus, clickhouse: ofLooks, log, stop: stop.signal },
    streams: streams.accounted,
    furtherStreams: async () =>
      (await deps.furtherStreams.look()).flatMap(({ definition: { name, consumer }, isUnread, isGone }) =>
        consumer === undefined ? [] : [{ name, consumer: consumer.name, isUnread, isGone }],
      ),
    streamOf: (pipeline, owner) => (arePlacesKnown ? streamOf(deps, pipeline, owner) : undefined),
    ledger: streams.ledger,
    stores: createStoreLook(createTargets(deps, ofLooks, streams, stop.signal)),
    findOrphans: () => findOrphans(deps.orphans),
    nats: natsOf(deps),
  });
  let hasShown = true;
  let readAt = 0;
  const notKnown = createNotKnownMetric({
    set: (seconds) => metrics.notKnown.set(seconds),
    ...{ streams: () => deps.furtherStreams.placedUnread(), now: Date.now },
  });
  const report = async ({ notKnownSince }: AccountState, result: LookResult | undefined): Promise<void> => {
    notKnown.show(notKnownSince);
    logUnread();
    // Without a difference the statement would say so, look after look.
    const isDue = performance.now() - readAt >= readEveryMs;
    if (result?.hasFound === false && !hasShown && !isDue) return;
    readAt = performance.now();
    const found = await readDifferences(clickhouse, {});
    const open = found.filter(isWrong);
    const unsure = notKnown.take(found);
    notKnown.show(notKnownSince);
    const owners = new Set(open.map(ownerText));
    metrics.unbalanced.set(owners.size);
    metrics.openItems.reset();
    hasShown = open.length + unsure > 0;
    // Each run by itself: a later loss of the same owner is another series, and so another page.
    for (const { kind, stream, dataId, appId, from, until, items } of sumRuns(open).slice(0, namedMax))
      metrics.openItems.set(
        { kind, stream, owner: String(dataId || appId), from: timeText(from), until: timeText(until) },
        items,
      );
  };
  const watch = startAccountWatch({
    ...{ look, log, now: Date.now, elapsed: performance.now.bind(performance) },
    onLook: report,
    rest: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
  });
  return {
    get state() {
      return watch.state;
    },
    orphans: deps.orphans,
    unreadStreams,
    compareStores: (filter) => compareStores(targets(), filter),
    stop: async () => {
      stop.abort();
      await watch.stop();
    },
  };
};
