import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { MetricsPipeline } from '../config/pipelines.ts';
import { readerUrls } from '../config/reader-urls.ts';
import { engineUrls, questdbInstances, type Settings } from '../config/settings.ts';
import { systemOwners } from '../directory/system-owners.ts';
import { endHandshakes } from '../http/handshakes.ts';
import { errorText } from '../model/fault.ts';
import { createChecks } from '../runtime/checks.ts';
import { listen } from '../runtime/listen.ts';
import { startOpsServer } from '../runtime/ops-server.ts';
import { type Parts, runRole } from '../runtime/run-role.ts';
import { whenStopped } from '../runtime/stop-signal.ts';
import type { TlsFiles } from '../runtime/tls-files.ts';
import { createClickhouse } from '../stores/clickhouse/client.ts';
import type { QuestdbSql } from '../stores/questdb/sql.ts';
import { createRoleLog } from '../telemetry/log.ts';
import { createMetadataMetrics, type MetadataMetrics } from '../telemetry/metadata-metrics.ts';
import { openTracing } from '../telemetry/open-tracing.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import { createApiServer, openApiTls } from './api/listening.ts';
import { openAudit } from './audit/audit.ts';
import { openReaders } from './explore/explore.ts';
import { type Given, openState, type Ready, startingDegraded, untilItWorks } from './open-state.ts';
import { openReads, openWatches } from './open-watches.ts';
import { openPulse } from './pulse/open-pulse.ts';
import { giveIdentityKey } from './records/identity-key.ts';
import type { CollectorDefaults } from './refresh/document.ts';
import type { AuthorizeNode } from './refresh/polling-endpoint.ts';
import { createRefresh } from './refresh/refresh.ts';
import { startKeeper } from './reports/keeper.ts';
import { startItemRetention } from './retention/item-retention.ts';
import { createRoleApi, type Services } from './role-api.ts';
import { boundDimensions } from './tables/full-dimensions.ts';
import { createPlacedTables, openInstances, type PlacedInstance, type Placing } from './tables/placement.ts';
import { createTableRepair } from './tables/repair.ts';
import { keepMetricViews } from './tables/views.ts';
import type { AdminTokens } from './tokens/admin-tokens.ts';
import { roleAllows } from './tokens/roles.ts';
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

const serve = async (
  api: ReturnType<typeof createRoleApi>,
  settings: Settings,
  tls: TlsFiles | undefined,
): Promise<Server> => {
  const server = createApiServer(api.fetch, tls);
  await listen(server, {
    host: settings.host,
    port: settings.metadata.apiPort,
    portVariable: 'TIDEMARK_METADATA_API_PORT',
  });
  return server;
};

/** Accepts no new connection and waits for the current requests, for ten seconds at most. */
const finish = async (server: Server): Promise<void> => {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  endHandshakes(server);
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), finishMsMax);
  await closed;
  clearTimeout(timer);
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
  const isAway = (name: string): boolean =>
    questdb.some((instance) => instance.name === name && instance.why() !== undefined);
  const tables = createPlacedTables(questdb, records, isAway);
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
  const views = keepMetricViews({ columns: records.columns, records, tables, isAway, log });
  work.add('views of metrics', () => views.stop());
  const bound = boundDimensions({
    ...{ columns: records.columns, records, log, isAway, instances: questdb },
    valuesMax: settings.metadata.dimensionValuesMax,
  });
  work.add('bound of dimensions', () => bound.stop());
  const { account, watch, upkeep, disk, furtherStreams } = openWatches(given, state, metrics, ready, work);
  const accountState = () => account.state;
  const ofSystem = () => systemOwners(records);
  const pulse = openPulse(
    {
      ...{ ...given, ...state, readiness, instances: questdb, watch, upkeep, accountState },
      ...{ unreadStreams: account.unreadStreams, furtherStreams },
      systemOwners: ofSystem,
    },
    work,
  );

  // A watch that is closed while it starts keeps the process alive: the API answers once all have begun.
  await Promise.race([Promise.all([records.ready, views.ready, refresh.ready]), whenStopped(stop)]);
  if (stop.aborted) return;
  await untilItWorks(() => giveIdentityKey(records), stop, log);
  audit.start();
  refresh.start();
  const { consumer, storeTimeoutMs } = pipelines.metrics;
  const sqls = new Map(questdb.map(({ name, sql }) => [name, sql]));
  const repair = createTableRepair({ records, tables, sqls, isAway, remakeViews: views.remake, log });
  const purgeWaitMs = consumer.ackWaitMs + storeTimeoutMs;
  const keeper = startKeeper({ records, tables, repair, isAway, purgeWaitMs, now: Date.now, log });
  work.add('keeper', () => keeper.stop());
  const itemRetention = startItemRetention({ clickhouse: given.clickhouse, records, now: Date.now, log });
  work.add('retention of items', () => itemRetention.stop());
  const reads = openReads(given, state, { account, audit, disk, furtherStreams }, parts);
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
