import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, connectBusWhenUp } from '../bus/connection.ts';
import { ensureTopology, type RefusedStreams, retryStreams } from '../bus/topology.ts';
import { withInstances } from '../config/instance-streams.ts';
import { loadPipelines, type MetricsPipeline } from '../config/pipelines.ts';
import { engineUrls, natsTarget, questdbInstances, type Settings } from '../config/settings.ts';
import { createDeadLetterAdmin } from '../dead-letters/admin.ts';
import { createReceivedItemEncoder } from '../dead-letters/received-item.ts';
import { buckets, dataIdRange, systemKeys } from '../directory/keys.ts';
import { createOwners } from '../directory/owners.ts';
import { ruleDefaults } from '../directory/rules.ts';
import { errorText, Fault } from '../model/fault.ts';
import { createOutcomeReads } from '../outcomes/reads.ts';
import { createRecordReader } from '../outcomes/record-reader.ts';
import { listenFault } from '../runtime/listen-fault.ts';
import { startOpsServer } from '../runtime/ops-server.ts';
import { stopSignal, whenStopped } from '../runtime/stop-signal.ts';
import { untilDone } from '../runtime/until-done.ts';
import { type Clickhouse, createClickhouse } from '../stores/clickhouse/client.ts';
import type { QuestdbSql } from '../stores/questdb/sql.ts';
import { createLog, type Log } from '../telemetry/log.ts';
import { createMetadataMetrics, type Registry } from '../telemetry/metrics.ts';
import { createWatchMetrics } from '../telemetry/watch-metrics.ts';
import { createApiServer } from './api/listening.ts';
import { createApi } from './api/server.ts';
import { openAudit } from './audit/audit.ts';
import { openRecords, type Records } from './records/store.ts';
import { dataIdOfTableId } from './records/values.ts';
import type { CollectorDefaults } from './refresh/document.ts';
import type { AuthorizeNode } from './refresh/polling-endpoint.ts';
import { createRefresh } from './refresh/refresh.ts';
import { startKeeper } from './reports/keeper.ts';
import { policyDefaultsOf } from './reports/policies.ts';
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
import { startWatch, type Watch } from './watch.ts';

const probeEveryMs = 2_000;
const finishMsMax = 10_000;

/** An instance and why it does not answer, undefined while it does. */
type FollowedInstance = PlacedInstance & { why(): string | undefined };

/** Asks QuestDB every other second; `why` is undefined while it answers. */
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

/** Repeats what a dependency that is just starting refuses, until it works or `signal` fires. */
const untilItWorks = <T>(work: () => Promise<T>, signal: AbortSignal, log: Log): Promise<T> => {
  let isTold = false;
  return untilDone(work, signal, (error) => {
    // In a cluster the server that is asked may not have heard yet of a stream that another one has just made.
    const passes =
      error instanceof Fault && (error.kind === 'transient' || error.code === 'stream_not_found');
    if (!passes) throw error;
    if (!isTold) log.warn({ code: error.code }, `waiting: ${error.message}`);
    isTold = true;
  });
};

const serve = async (api: ReturnType<typeof createApi>, settings: Settings): Promise<Server> => {
  const server = createApiServer(api);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(listenFault(error, settings.metadata.apiPort, 'TIDEMARK_METADATA_API_PORT'));
    });
    server.listen(settings.metadata.apiPort, settings.host, resolve);
  });
  return server;
};

/** Takes no new connection and waits for the requests that are there, for ten seconds at most. */
const finish = async (server: Server): Promise<void> => {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), finishMsMax);
  await closed;
  clearTimeout(timer);
};

/** Where KV knows of no data id but QuestDB has tables (NATS lost its data), their ids are not given out again. */
const firstDataId = async (instances: readonly PlacedInstance[]): Promise<number> => {
  const used = (await tableNames(instances)).map((name) => dataIdOfTableId(name) ?? 0);
  // A foreign table with a number out of range is not a table of Tidemark.
  const own = used.filter((id) => id <= dataIdRange.last);
  return own.reduce((next, id) => Math.max(next, id + 1), dataIdRange.first);
};

/** What holds of the pipeline files where no policy says otherwise, as collectors are told. */
const collectorDefaultsOf = ({ maxRateDefault }: Settings, { time }: MetricsPipeline): CollectorDefaults => ({
  maxRate: maxRateDefault,
  aheadSecondsMax: time.aheadMsMax === undefined ? undefined : time.aheadMsMax / 1000,
});

/** Node tokens are for the businesses they name; admin tokens for all. */
const authorizeNodeWith =
  (adminTokens: AdminTokens): AuthorizeNode =>
  async (token) => {
    const identity = await adminTokens.authorize(token);
    if (identity === undefined || !roleAllows(identity.role, 'node')) return undefined;
    return { bizId: identity.role === 'node' ? identity.mon_biz_id : null };
  };

/** The streams that are not there, but for those that `questdb_streams` names with the reason. */
const missingText = (watch: Watch | undefined, refused: RefusedStreams | undefined): string | undefined => {
  const names = [...(watch?.missing ?? [])].filter((name) => refused?.has(name) !== true);
  return names.length === 0 ? undefined : `missing: ${names.join(', ')}`;
};

type Parts = {
  readonly settings: Settings;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly questdb: readonly FollowedInstance[];
  readonly clickhouse: Clickhouse;
  readonly registry: Registry;
  readonly checks: Readonly<Record<string, () => string | undefined>>;
  readonly onAnswer: (status: number) => void;
  readonly onListening: () => void;
  readonly onRecords: (records: Records) => void;
  readonly onStreams: (refused: RefusedStreams) => void;
  readonly onWatch: (watch: Watch) => void;
};

/** From the first connection to the last answer. */
const runOnBus = async (bus: Bus, parts: Parts): Promise<void> => {
  const { settings, log, signal, questdb } = parts;
  const names = questdb.map(({ name }) => name);
  const pipelines = withInstances(loadPipelines(settings.pipelinesFolder, settings.nats.replicas), names);
  const refused = await untilItWorks(() => ensureTopology(bus, pipelines.streams), signal, log);
  const refusedStreams = retryStreams(bus, pipelines.streams, refused, log);
  parts.onStreams(refusedStreams);
  const records = await untilItWorks(
    () =>
      openRecords(
        bus,
        () => firstDataId(questdb),
        (fault) => log.error({}, errorText(fault)),
      ),
    signal,
    log,
  );
  parts.onRecords(records);
  const tables = createPlacedTables(questdb, records);
  const placing: Placing = {
    names,
    isAway: (name) => questdb.some((instance) => instance.name === name && instance.why() !== undefined),
  };
  const adminTokens = await untilItWorks(
    () => openAdminTokens(bus, records.system, settings.dataFolder, log),
    signal,
    log,
  );
  const audit = openAudit(bus, records.system, log);
  const refresh = createRefresh({
    records,
    bucket: records.bucket,
    system: records.system,
    settings,
    defaults: collectorDefaultsOf(settings, pipelines.metrics),
    authorizeNode: authorizeNodeWith(adminTokens),
    registry: parts.registry,
    log,
  });
  const views = keepMetricViews({ columns: records.columns, records, tables, log });
  const watch = startWatch({
    bus,
    clickhouse: parts.clickhouse,
    streams: pipelines.streams,
    metrics: createWatchMetrics(parts.registry),
    now: Date.now,
    log,
  });
  parts.onWatch(watch);
  const running: { stop(): Promise<void> }[] = [views, audit, refresh, watch];
  try {
    // A watch that is closed while it starts keeps the process alive: the API answers once all have begun.
    await Promise.race([Promise.all([records.ready, views.ready, refresh.ready]), whenStopped(signal)]);
    if (signal.aborted) return;
    audit.start();
    refresh.start();
    const { consumer, storeTimeoutMs } = pipelines.metrics;
    const sqls = new Map(questdb.map(({ name, sql }) => [name, sql]));
    const { isAway } = placing;
    const repair = createTableRepair({ records, tables, sqls, isAway, now: Date.now, log });
    const purgeWaitMs = consumer.ackWaitMs + storeTimeoutMs;
    running.push(startKeeper({ records, tables, repair, isAway, purgeWaitMs, now: Date.now, log }));
    const rules = ruleDefaults(pipelines);
    const outcomes = createOutcomeReads(bus, parts.clickhouse, pipelines.streams);
    const api = createApi({
      outcomes,
      records,
      tables,
      placing,
      tablePrefix: settings.tablePrefix,
      adminTokens,
      audit,
      refresh,
      deadLetters: createDeadLetterAdmin({
        bus,
        claims: records.system,
        claimsBucket: buckets.system,
        encodeItem: createReceivedItemEncoder(
          createOwners({ records: records.bucket, columns: records.columns }, rules.source, Date.now),
          rules.application.time.ttlSeconds,
        ),
        readRecord: createRecordReader(parts.clickhouse),
        now: Date.now,
      }),
      resumeConsumer: async (pipeline) => {
        await records.system.put(systemKeys.resume(pipeline), { at: Date.now() });
      },
      policyDefaults: policyDefaultsOf(pipelines),
      checks: parts.checks,
      isConnected: () => bus.connected,
      onAnswer: parts.onAnswer,
      log,
    });
    const server = await serve(api, settings);
    parts.onListening();
    log.info({ port: settings.metadata.apiPort }, 'the admin API is ready');
    await whenStopped(signal);
    outcomes.live.stop();
    await finish(server);
  } finally {
    await Promise.all(running.map((each) => each.stop()));
    adminTokens.stop();
    records.stop();
  }
};

/**
 * The metadata role: records, admin API, tables and views, until SIGTERM or SIGINT. It waits for NATS and answers 503 for
 * what needs QuestDB while QuestDB is away. Reports that a crash left in state `creating` stay so until the same call comes
 * again: only its caller knows whether it is still wanted. Throws a Fault for settings or ports that cannot be used.
 */
export const runMetadata = async (settings: Settings): Promise<void> => {
  const log = createLog('metadata', settings.logLevel);
  const signal = stopSignal();
  const metrics = createMetadataMetrics();
  const instances = openInstances(questdbInstances(settings), settings.schemasFolder);
  const clickhouse = createClickhouse({ url: engineUrls(settings).clickhouse, connectionsMax: 4 });
  const ending = new AbortController();
  const probing = AbortSignal.any([signal, ending.signal]);
  const questdb = instances.map((instance) => follow(instance, probing));
  const isOneThere = (): boolean => questdb.some(({ why }) => why() === undefined);
  let records: Records | undefined;
  let refused: RefusedStreams | undefined;
  let watch: Watch | undefined;
  let bus: Bus | undefined;
  let isServing = false;
  const checks = {
    nats: () => (bus?.connected ? undefined : 'not connected'),
    // With one of several away, the others' tables are worked on all the same.
    questdb: () => (isOneThere() ? undefined : awayText(questdb)),
    api: () => (isServing ? undefined : 'not listening yet'),
  };
  let ops: Awaited<ReturnType<typeof startOpsServer>> | undefined;
  try {
    ops = await startOpsServer({
      host: settings.host,
      port: settings.metadata.opsPort,
      variable: 'TIDEMARK_METADATA_OPS_PORT',
      registry: metrics.registry,
      checks,
      warnings: {
        questdb: () => (isOneThere() ? awayText(questdb) : undefined),
        questdb_streams: () => refused?.problem,
        streams: () => missingText(watch, refused),
        placements: () =>
          records &&
          unknownPlacements(
            records,
            questdb.map(({ name }) => name),
          ),
      },
    });
    bus = await connectBusWhenUp(natsTarget(settings), 'tidemark-metadata', signal, (fault) =>
      log.warn({}, `waiting: ${errorText(fault)}`),
    );
    await runOnBus(bus, {
      settings,
      log,
      signal,
      questdb,
      clickhouse,
      checks,
      registry: metrics.registry,
      onAnswer: (status) => metrics.requests.inc({ status: String(status) }),
      onRecords: (opened) => {
        records = opened;
      },
      onStreams: (streams) => {
        refused = streams;
      },
      onWatch: (started) => {
        watch = started;
      },
      onListening: () => {
        isServing = true;
      },
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    ending.abort();
    refused?.stop();
    await bus?.close();
    await ops?.stop();
    await Promise.all([...instances.map(({ sql }) => sql.close()), clickhouse.close()]);
  }
};
