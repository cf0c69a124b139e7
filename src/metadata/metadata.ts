import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '../bus/connection.ts';
import { type KeptBucket, keepBucket } from '../bus/kept-bucket.ts';
import type { KvBucket } from '../bus/kv.ts';
import { openRoleBus } from '../bus/role-bus.ts';
import { mendingWith, type StreamWatch, streamProblemKinds, watchStreams } from '../bus/stream-watch.ts';
import { ensureTopology, mendStream, type RefusedStreams, retryStreams } from '../bus/topology.ts';
import { withInstances } from '../config/instance-streams.ts';
import {
  loadPipelines,
  type MetricsPipeline,
  retentionIn,
  type StreamDefinition,
} from '../config/pipelines.ts';
import { readerUrls } from '../config/reader-urls.ts';
import { engineUrls, questdbInstances, type Settings } from '../config/settings.ts';
import { createOrphans } from '../dead-letters/orphans.ts';
import { raiseAfterRestore } from '../directory/after-restore.ts';
import { buckets, dataIdRange } from '../directory/keys.ts';
import { errorText, Fault } from '../model/fault.ts';
import { createOutcomeReads } from '../outcomes/reads.ts';
import { createMessageAccountReader } from '../outcomes/record-reader.ts';
import { type Checks, createChecks, type Readiness } from '../runtime/checks.ts';
import { listenFault } from '../runtime/listen-fault.ts';
import { startOpsServer } from '../runtime/ops-server.ts';
import { type Parts, runRole } from '../runtime/run-role.ts';
import { whenStopped } from '../runtime/stop-signal.ts';
import type { TlsFiles } from '../runtime/tls-files.ts';
import { untilDone } from '../runtime/until-done.ts';
import { type Clickhouse, createClickhouse } from '../stores/clickhouse/client.ts';
import type { QuestdbSql } from '../stores/questdb/sql.ts';
import { createAccountMetrics } from '../telemetry/account-metrics.ts';
import { createRoleLog, type Log } from '../telemetry/log.ts';
import { createMetadataMetrics, type MetadataMetrics } from '../telemetry/metadata-metrics.ts';
import { openTracing } from '../telemetry/open-tracing.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import { createUpkeepMetrics } from '../telemetry/upkeep-metrics.ts';
import { createWatchMetrics } from '../telemetry/watch-metrics.ts';
import { type Account, openAccount } from './account/account.ts';
import { createApiServer, openApiTls } from './api/listening.ts';
import { openAudit } from './audit/audit.ts';
import { openConsole } from './console/open-console.ts';
import { createDiskReads, type DiskReads } from './disk/disk-use.ts';
import { startDiskWatch } from './disk/disk-watch.ts';
import { openReaders, type Readers } from './explore/explore.ts';
import { createFirstSequences, type FirstSequences } from './first-sequences.ts';
import { createInspected, type Inspected } from './inspect/inspected.ts';
import { openPulse } from './pulse/open-pulse.ts';
import { giveIdentityKey } from './records/identity-key.ts';
import { openRecords, type Records } from './records/store.ts';
import { dataIdOfTableId } from './records/values.ts';
import type { CollectorDefaults } from './refresh/document.ts';
import type { AuthorizeNode } from './refresh/polling-endpoint.ts';
import { createRefresh } from './refresh/refresh.ts';
import { startKeeper } from './reports/keeper.ts';
import { readDefaultRetention } from './retention/default-retention.ts';
import { startItemRetention } from './retention/item-retention.ts';
import { createRoleApi, type Services } from './role-api.ts';
import { boundDimensions } from './tables/full-dimensions.ts';
import {
  createPlacedTables,
  openInstances,
  type PlacedInstance,
  type Placing,
  tableNames,
  unknownPlacements,
} from './tables/placement.ts';
import { createTableRepair } from './tables/repair.ts';
import { keepMetricViews } from './tables/views.ts';
import { type AdminTokens, openAdminTokens, roleAllows } from './tokens/admin-tokens.ts';
import { startUpkeep } from './upkeep.ts';
import { startWatch, type Watch } from './watch.ts';
import { startMetadataAtZero } from './zero-counters.ts';

const probeEveryMs = 2_000;
const finishMsMax = 10_000;

/** An instance and why it does not answer; undefined while it does. */
type FollowedInstance = PlacedInstance & { why(): string | undefined };

/** Probes QuestDB every other second; `why` is undefined while it answers. */
const probe = (sql: QuestdbSql, signal: AbortSignal): { readonly why: string | undefined } => {
  const state: { why: string | undefined } = { why: 'not checked yet' };
  const ask = async (): Promise<void> => {
    while (!signal.aborted) {
      state.why = await sql.exec('SELECT 1').then(() => undefined, errorText);
      await delay(probeEveryMs, undefined, { signal }).catch(() => undefined);
    }
  };
  void ask();
  return state;
};

const follow = (instance: PlacedInstance, signal: AbortSignal): FollowedInstance => {
  const state = probe(instance.sql, signal);
  return { ...instance, why: () => state.why };
};

/** The instances that do not answer, by name where there are several. */
const awayText = (questdb: readonly FollowedInstance[]): string | undefined => {
  const away = questdb.flatMap(({ name, why }) => {
    const text = why();
    return text === undefined ? [] : [questdb.length === 1 ? text : `${name}: ${text}`];
  });
  return away.length === 0 ? undefined : away.join('; ');
};

/** Retries calls that a starting dependency refuses, until they succeed or `signal` fires. */
const untilItWorks = <T>(work: () => Promise<T>, signal: AbortSignal, log: Log): Promise<T> => {
  let isTold = false;
  return untilDone(work, signal, (error) => {
    // In a cluster the server of this connection may not yet know a stream that another one has just made.
    const passes =
      error instanceof Fault && (error.kind === 'transient' || error.code === 'stream_not_found');
    if (!passes) throw error;
    if (!isTold) log.warn({ code: error.code }, `waiting: ${error.message}`);
    isTold = true;
  });
};

const serve = async (
  api: ReturnType<typeof createRoleApi>,
  settings: Settings,
  tls: TlsFiles | undefined,
): Promise<Server> => {
  const server = createApiServer(api.fetch, tls);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(listenFault(error, settings.metadata.apiPort, 'TIDEMARK_METADATA_API_PORT'));
    });
    server.listen(settings.metadata.apiPort, settings.host, resolve);
  });
  return server;
};

/** Accepts no new connection and waits for the current requests, for ten seconds at most. */
const finish = async (server: Server): Promise<void> => {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), finishMsMax);
  await closed;
  clearTimeout(timer);
};

/** Where KV knows no data id but QuestDB has tables (NATS lost its data), their ids are not assigned again. */
const firstDataId = async (instances: readonly PlacedInstance[]): Promise<number> => {
  const used = (await tableNames(instances)).map((name) => dataIdOfTableId(name) ?? 0);
  // A foreign table with a number out of range is not a table of Tidemark.
  const own = used.filter((id) => id <= dataIdRange.last);
  return own.reduce((next, id) => Math.max(next, id + 1), dataIdRange.first);
};

/** The defaults of the pipeline files, without any policy, in the form for collectors. */
const collectorDefaultsOf = ({ maxRateDefault }: Settings, { time }: MetricsPipeline): CollectorDefaults => ({
  maxRate: maxRateDefault,
  aheadSecondsMax: time.aheadMsMax === undefined ? undefined : time.aheadMsMax / 1000,
});

/** Node tokens are valid for the businesses that they name; admin tokens for all. */
const authorizeNodeWith =
  (adminTokens: AdminTokens): AuthorizeNode =>
  async (token) => {
    const identity = await adminTokens.authorize(token);
    if (identity === undefined || !roleAllows(identity.role, 'node')) return undefined;
    return { bizId: identity.role === 'node' ? identity.mon_biz_id : null };
  };

type Given = {
  readonly settings: Settings;
  readonly log: Log;
  readonly metrics: MetadataMetrics;
  readonly instances: readonly PlacedInstance[];
  readonly clickhouse: Clickhouse;
  readonly readers: Readers;
};

/** What it works without as far as it can: records, tokens and the job need no store. */
const startingDegraded = {
  nats: undefined,
  nats_rights: undefined,
  streams: undefined,
  questdb: undefined,
  questdb_streams: undefined,
  clickhouse: undefined,
  placements: undefined,
};

type Ready = {
  readonly checks: Checks<'nats' | 'api'>;
  readonly degraded: Checks<keyof typeof startingDegraded>;
  readonly readiness: Readiness;
};

const openStores = (
  settings: Settings,
  parts: Parts,
): Pick<Given, 'instances' | 'clickhouse' | 'readers'> => {
  const stores = parts.together();
  const instances = openInstances(questdbInstances(settings), settings.schemasFolder);
  for (const { sql } of instances) stores.add('QuestDB client', () => sql.close());
  const clickhouse = createClickhouse({ url: engineUrls(settings).clickhouse, connectionsMax: 4 });
  stores.add('ClickHouse client', () => clickhouse.close());
  const readers = openReaders(readerUrls(settings));
  stores.add('clients of readers', () => readers.close());
  return { instances, clickhouse, readers };
};

const openOps = async (
  { settings, metrics }: Given,
  questdb: readonly FollowedInstance[],
  parts: Parts,
): Promise<Ready> => {
  const checks = createChecks({ nats: 'not connected yet', api: 'not listening yet' });
  const degraded = createChecks(startingDegraded);
  const readiness = { checks: checks.all, degraded: degraded.all };
  degraded.set({ questdb: () => awayText(questdb) });
  const ops = await startOpsServer({
    host: settings.host,
    port: settings.metadata.opsPort,
    variable: 'TIDEMARK_METADATA_OPS_PORT',
    registry: metrics.registry,
    readiness,
  });
  parts.add('operations port', () => ops.stop());
  return { checks, degraded, readiness };
};

/** Follows the streams and makes again what is missing or changed: other roles may not. */
const keepStreams = (
  { log, metrics }: Given,
  { bus, streams, refused }: { bus: Bus; streams: readonly StreamDefinition[]; refused: RefusedStreams },
  firstSequences: FirstSequences,
  parts: Parts,
): StreamWatch => {
  for (const { name } of streams)
    for (const kind of streamProblemKinds) metrics.streamsMended.inc({ stream: name, kind }, 0);
  const watch = watchStreams(bus, {
    streams,
    hasConsumers: true,
    isLeftOut: refused.has,
    log,
    onSeen: firstSequences.saw,
    mend: mendingWith(async (stream, { kind }) => {
      const { name } = stream;
      const first = kind === 'stream_missing' ? await firstSequences.next(name) : 'is there';
      await mendStream(bus, stream, first);
      metrics.streamsMended.inc({ stream: name, kind });
      log.warn({ stream: name, kind, first }, 'a stream was made again or changed back');
    }),
  });
  parts.add('watch of streams', () => watch.stop());
  return watch;
};

/** Makes the buckets again that hold what nobody sends a second time. Those of demand and of sessions are made by those who write them. */
const keepBuckets = (
  { log, metrics }: Given,
  bus: Bus,
  records: Records,
  parts: Parts,
): readonly KeptBucket[] =>
  [
    { name: buckets.records, bucket: records.bucket },
    { name: buckets.columns, bucket: records.columns },
    // Numbers that were given out after the last one that was seen must not be given out again.
    {
      name: buckets.system,
      bucket: records.system,
      beforeUse: (bucket: KvBucket) => raiseAfterRestore(bucket, Date.now()),
    },
  ].map((each) => {
    const onMade = (stream: string): void => metrics.streamsMended.inc({ stream, kind: 'stream_missing' });
    metrics.streamsMended.inc({ stream: `KV_${each.name}`, kind: 'stream_missing' }, 0);
    const kept = keepBucket({ ...each, bus, log, onMade });
    parts.add(`watch of bucket ${each.name}`, () => kept.stop());
    return kept;
  });

/** The connection with its streams, the records and the admin tokens. */
const openState = async (given: Given, { checks, degraded }: Ready, parts: Parts, stop: AbortSignal) => {
  const { settings, log, instances, clickhouse } = given;
  const names = instances.map(({ name }) => name);
  const bus = await openRoleBus('metadata', given, parts, stop);
  degraded.set({
    nats: () => (bus.connected ? undefined : 'the connection to NATS is lost'),
    nats_rights: () => bus.refused,
  });
  const pipelines = withInstances(loadPipelines(settings.pipelinesFolder, settings.nats.replicas), names);
  const firstSequences = createFirstSequences(clickhouse, Date.now);
  const { streams } = pipelines;
  const refused = await untilItWorks(() => ensureTopology(bus, streams, firstSequences.atStart), stop, log);
  checks.set({ nats: () => undefined });
  const refusedStreams = retryStreams(bus, streams, refused, log);
  parts.add('refused streams', () => refusedStreams.stop());
  const streamWatch = keepStreams(given, { bus, streams, refused: refusedStreams }, firstSequences, parts);
  degraded.set({ streams: () => streamWatch.problem, questdb_streams: () => refusedStreams.problem });
  const records = await untilItWorks(
    () =>
      openRecords(
        bus,
        () => firstDataId(instances),
        (fault) => log.error({}, errorText(fault)),
      ),
    stop,
    log,
  );
  parts.add('records', () => records.stop());
  const kept = keepBuckets(given, bus, records, parts);
  const streamProblem = (): string | undefined =>
    [streamWatch, ...kept].flatMap(({ problem }) => problem ?? []).join('; ') || undefined;
  degraded.set({ streams: streamProblem, placements: () => unknownPlacements(records, names) });
  const adminTokens = await untilItWorks(
    () => openAdminTokens(bus, records.system, settings.dataFolder, log),
    stop,
    log,
  );
  parts.add('admin tokens', () => adminTokens.stop());
  const retentionDays = await untilItWorks(
    () => readDefaultRetention(records.system, settings.metadata.retentionDays),
    stop,
    log,
  );
  return { bus, pipelines, records, adminTokens, retentionDays };
};

/** What the watch and the account look at. */
type Looked = Pick<Awaited<ReturnType<typeof openState>>, 'bus' | 'pipelines' | 'records' | 'adminTokens'>;

/** The looks at the streams, the stores and the account. */
const openWatches = (
  given: Given,
  { bus, pipelines, records, adminTokens }: Looked,
  metrics: MetadataMetrics,
  ready: Ready,
  work: Parts,
): { account: Account; watch: Watch; disk: DiskReads } => {
  const { registry } = metrics;
  let isRead = false;
  void records.ready.then(() => {
    isRead = true;
  });
  const watch = startWatch({
    bus,
    clickhouse: given.clickhouse,
    records: () => (isRead ? records : undefined),
    streams: pipelines.streams,
    metrics: createWatchMetrics(registry),
    now: Date.now,
    log: given.log,
  });
  work.add('watch of streams and stores', () => watch.stop());
  ready.degraded.set({ clickhouse: () => watch.clickhouseProblem() || undefined });
  const { clickhouse } = given;
  const readAccounts = createMessageAccountReader(clickhouse);
  const orphans = createOrphans({ bus, readAccounts, now: Date.now });
  const account = openAccount({
    ...given,
    ...{ bus, pipelines, records, orphans },
    metrics: createAccountMetrics(registry),
  });
  work.add('looks at the account', () => account.stop());
  const { dataFolder, metadata } = given.settings;
  const upkeepMetrics = createUpkeepMetrics(registry);
  const upkeep = startUpkeep({
    ...given,
    ...{ bus, adminTokens, system: records.system, stream: pipelines.ledger.stream.name },
    ...{ dataFolder, metrics: upkeepMetrics },
  });
  work.add('looks at the upkeep', () => upkeep.stop());
  const disk = createDiskReads({
    ...given,
    ...{ records, dataFolder, sharesDataDisk: metadata.storesOnDataDisk, now: Date.now },
    retentionDays: retentionIn(pipelines),
  });
  const diskWatch = startDiskWatch({ disk, ready: records.ready, metrics: upkeepMetrics });
  work.add('forecasts of the disks', () => diskWatch.stop());
  return { account, watch, disk };
};

/** What the API shows beside the records, and the sessions of those who look at it. */
const openReads = (
  given: Given,
  { bus, pipelines, adminTokens }: Pick<Services, 'bus' | 'pipelines' | 'adminTokens'>,
  { account, audit, disk }: Pick<Services, 'account' | 'audit'> & Pick<Inspected, 'disk'>,
  parts: Parts,
): Pick<Services, 'outcomes' | 'console' | 'inspected'> => {
  const { streams } = pipelines;
  const inspected = createInspected({
    ...given,
    ...{ bus, streams, account, disk, env: process.env, now: Date.now },
  });
  parts.add('looks at arrivals', () => inspected.arrivals.stop());
  return {
    outcomes: createOutcomeReads(bus, given.clickhouse, streams),
    console: openConsole(given.settings, { bus, adminTokens, audit }),
    inspected,
  };
};

const openMetrics = (): MetadataMetrics => {
  const metrics = createMetadataMetrics();
  startMetadataAtZero(metrics);
  return metrics;
};

const openCallTracing = async (
  { settings, log }: Pick<Given, 'settings' | 'log'>,
  parts: Parts,
): Promise<Tracing | undefined> => {
  const tracing = await openTracing(settings, 'metadata', log);
  parts.add('tracing', () => tracing?.stop());
  return tracing;
};

/** From the clients of the stores to the API: each part needs those before it, and stops before them. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: wiring: each part stands on those before it.
const startMetadata = async (
  { settings, log }: Pick<Given, 'settings' | 'log'>,
  parts: Parts,
  stop: AbortSignal,
): Promise<void> => {
  const metrics = openMetrics();
  const given: Given = { settings, log, metrics, ...openStores(settings, parts) };
  const tls = openApiTls(given);
  parts.add('TLS files', () => tls?.stop());
  const ending = new AbortController();
  parts.add('probes of QuestDB', () => ending.abort());
  const probing = AbortSignal.any([stop, ending.signal]);
  const questdb = given.instances.map((instance) => follow(instance, probing));
  const ready = await openOps(given, questdb, parts);
  const { readiness } = ready;
  const tracing = await openCallTracing(given, parts);
  const state = await openState({ ...given, instances: questdb }, ready, parts, stop);
  const { bus, pipelines, records, adminTokens, retentionDays } = state;
  const tables = createPlacedTables(questdb, records);
  const isAway = (name: string): boolean =>
    questdb.some((instance) => instance.name === name && instance.why() !== undefined);
  const placing: Placing = { names: questdb.map(({ name }) => name), isAway };

  const work = parts.together();
  const audit = openAudit(bus, records.system, log);
  work.add('audit', () => audit.stop());
  const refresh = createRefresh({
    records,
    bucket: records.bucket,
    system: records.system,
    settings,
    defaults: collectorDefaultsOf(settings, pipelines.metrics),
    authorizeNode: authorizeNodeWith(adminTokens),
    registry: metrics.registry,
    log,
  });
  work.add('refresh job', () => refresh.stop());
  const views = keepMetricViews({ columns: records.columns, records, tables, log });
  work.add('views of metrics', () => views.stop());
  const bound = boundDimensions({
    ...{ columns: records.columns, records, log, instances: questdb },
    valuesMax: settings.metadata.dimensionValuesMax,
  });
  work.add('bound of dimensions', () => bound.stop());
  const { account, watch, disk } = openWatches(given, state, metrics, ready, work);
  const accountState = () => account.state;
  const pulse = openPulse({ ...given, ...state, readiness, instances: questdb, watch, accountState }, work);

  // A watch that is closed while it starts keeps the process alive: the API answers once all have begun.
  await Promise.race([Promise.all([records.ready, views.ready, refresh.ready]), whenStopped(stop)]);
  if (stop.aborted) return;
  await untilItWorks(() => giveIdentityKey(records), stop, log);
  audit.start();
  refresh.start();
  const { consumer, storeTimeoutMs } = pipelines.metrics;
  const sqls = new Map(questdb.map(({ name, sql }) => [name, sql]));
  const repair = createTableRepair({ records, tables, sqls, isAway, now: Date.now, log });
  const purgeWaitMs = consumer.ackWaitMs + storeTimeoutMs;
  const keeper = startKeeper({ records, tables, repair, isAway, purgeWaitMs, now: Date.now, log });
  work.add('keeper', () => keeper.stop());
  const itemRetention = startItemRetention({ clickhouse: given.clickhouse, records, now: Date.now, log });
  work.add('retention of items', () => itemRetention.stop());
  const reads = openReads(given, state, { account, audit, disk }, parts);
  const services: Services = {
    ...{ bus, pipelines, records, adminTokens, audit, refresh, account, pulse },
    ...reads,
  };
  const server = await serve(
    createRoleApi(services, { ...given, tables, placing, retentionDays, tracing, readiness }),
    settings,
    tls,
  );
  parts.add('admin API', () => finish(server));
  // Streams of dropped items have no end of their own.
  parts.add('readers of live drops', () => reads.outcomes.live.stop());
  parts.add('readers of the live view', () => pulse.live.stop());
  ready.checks.set({ api: () => (stop.aborted ? 'the API is stopping' : undefined) });
  log.info({ port: settings.metadata.apiPort }, 'the admin API is ready');
};

/**
 * The metadata role: records, admin API, tables and views, until SIGTERM or SIGINT. It waits for NATS, and answers 503 for calls
 * that need QuestDB while QuestDB is away. Reports that a crash left in state `creating` stay so until a repeat of the same call:
 * only its caller knows whether it still wants the report. Throws a Fault for unusable settings or ports.
 */
export const runMetadata = async (settings: Settings): Promise<void> => {
  const log = createRoleLog('metadata', settings.logLevel);
  await runRole({ name: 'metadata', log }, (parts, stop) => startMetadata({ settings, log }, parts, stop));
};
