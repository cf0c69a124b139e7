import type { Bus } from '../bus/connection.ts';
import { keepFleetingBucket } from '../bus/fleeting-bucket.ts';
import { type KeptBucket, keepBucket } from '../bus/kept-bucket.ts';
import type { KvBucket } from '../bus/kv.ts';
import { openRoleBus } from '../bus/role-bus.ts';
import { mendingWith, type StreamWatch, streamProblemKinds, watchStreams } from '../bus/stream-watch.ts';
import {
  ensureTopology,
  type FirstMarks,
  mendStream,
  type RefusedStreams,
  retryStreams,
} from '../bus/topology.ts';
import { withInstances } from '../config/instance-streams.ts';
import { loadPipelines, type StreamDefinition } from '../config/pipelines.ts';
import type { Settings } from '../config/settings.ts';
import { claimPrefix } from '../dead-letters/claims.ts';
import { raiseAfterRestore } from '../directory/after-restore.ts';
import { buckets, dataIdRange } from '../directory/keys.ts';
import { ratesLimits } from '../directory/rates-bucket.ts';
import { errorText, Fault } from '../model/fault.ts';
import type { Checks, Readiness } from '../runtime/checks.ts';
import type { Parts } from '../runtime/run-role.ts';
import { untilDone } from '../runtime/until-done.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import type { Log } from '../telemetry/log.ts';
import type { MetadataMetrics } from '../telemetry/metadata-metrics.ts';
import { intentPrefix } from './audit/intents.ts';
import type { Readers } from './explore/explore.ts';
import { createFirstSequences, type FirstSequences } from './first-sequences.ts';
import { mergedValue } from './records/merged-values.ts';
import { openRecords, type Records } from './records/store.ts';
import { dataIdOfTableId } from './records/values.ts';
import { readDefaultRetention } from './retention/default-retention.ts';
import { type PlacedInstance, tableNames, unknownPlacements } from './tables/placement.ts';
import { openAdminTokens } from './tokens/admin-tokens.ts';

export type Given = {
  readonly settings: Settings;
  readonly log: Log;
  readonly metrics: MetadataMetrics;
  readonly instances: readonly PlacedInstance[];
  readonly clickhouse: Clickhouse;
  readonly readers: Readers;
};

/** What it works without as far as it can: records, tokens and the job need no store. */
export const startingDegraded = {
  nats: undefined,
  nats_rights: undefined,
  streams: undefined,
  questdb: undefined,
  questdb_streams: undefined,
  clickhouse: undefined,
  placements: undefined,
  records: undefined,
  watches: undefined,
};

export type Ready = {
  readonly checks: Checks<'nats' | 'api'>;
  readonly degraded: Checks<keyof typeof startingDegraded>;
  readonly readiness: Readiness;
};

/** Retries calls that a starting dependency refuses, until they succeed or `signal` fires. */
export const untilItWorks = <T>(work: () => Promise<T>, signal: AbortSignal, log: Log): Promise<T> => {
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

/** Where KV knows no data id but QuestDB has tables (NATS lost its data), their ids are not assigned again. */
const firstDataId = async (instances: readonly PlacedInstance[]): Promise<number> => {
  const used = (await tableNames(instances)).map((name) => dataIdOfTableId(name) ?? 0);
  // A foreign table with a number out of range is not a table of Tidemark.
  const own = used.filter((id) => id <= dataIdRange.last);
  return own.reduce((next, id) => Math.max(next, id + 1), dataIdRange.first);
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
    mend: mendingWith(async (stream, { kind, mark }) => {
      const { name } = stream;
      const first = kind === 'stream_missing' ? await firstSequences.next(name) : 'is there';
      await mendStream(bus, stream, first, mark);
      metrics.streamsMended.inc({ stream: name, kind });
      log.warn({ stream: name, kind, first }, 'a stream was created again or changed back');
    }),
  });
  parts.add('watch of streams', () => watch.stop());
  return watch;
};

/** Makes the buckets again that hold what nobody sends a second time. That of sessions is made where one is written. */
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
      isLeftOut: (key: string) => key.startsWith(intentPrefix) || key.startsWith(claimPrefix),
    },
  ].map((each) => {
    const onMade = (stream: string): void => metrics.streamsMended.inc({ stream, kind: 'stream_missing' });
    metrics.streamsMended.inc({ stream: `KV_${each.name}`, kind: 'stream_missing' }, 0);
    const kept = keepBucket({ ...each, bus, log, onMade, merge: mergedValue });
    parts.add(`watch of bucket ${each.name}`, () => kept.stop());
    return kept;
  });

/** The connection with its streams, the records and the admin tokens. */
export const openState = async (
  given: Given,
  { checks, degraded }: Ready,
  parts: Parts,
  stop: AbortSignal,
) => {
  const { settings, log, instances, clickhouse } = given;
  const names = instances.map(({ name }) => name);
  const bus = await openRoleBus('metadata', given, parts, stop, (why) => checks.set({ nats: () => why }));
  degraded.set({
    nats: () => (bus.connected ? undefined : 'the connection to NATS is lost'),
    // Its API answers questions about stored items without NATS.
    nats_rights: () => bus.notAccepted ?? bus.refused,
    watches: () => bus.watchTroubles.problem,
  });
  const pipelines = withInstances(loadPipelines(settings.pipelinesFolder, settings.nats.replicas), names);
  const firstSequences = createFirstSequences(clickhouse, Date.now);
  const { streams } = pipelines;
  const firstMarks: FirstMarks = new Map();
  // Before the streams, which may have to wait for room: receivers that run already share their rates by it.
  const rates = keepFleetingBucket({ bus, name: buckets.rates, limits: ratesLimits, log });
  parts.add('watch of the bucket of rates', () => rates.stop());
  const ensure = () => ensureTopology(bus, streams, firstSequences.atStart, firstMarks);
  const refused = await untilItWorks(ensure, stop, log);
  checks.set({ nats: () => undefined });
  const refusedStreams = retryStreams(bus, streams, refused, log, {
    ensure: (again, missing) => ensureTopology(again, missing, firstSequences.atStart, firstMarks),
  });
  parts.add('refused streams', () => refusedStreams.stop());
  const streamWatch = keepStreams(given, { bus, streams, refused: refusedStreams }, firstSequences, parts);
  degraded.set({ streams: () => streamWatch.problem, questdb_streams: () => refusedStreams.problem });
  const records = await untilItWorks(
    () =>
      openRecords(
        bus,
        () => firstDataId(instances),
        (key, fault) => log.error({ key }, errorText(fault)),
      ),
    stop,
    log,
  );
  parts.add('records', () => records.stop());
  const kept = keepBuckets(given, bus, records, parts);
  const streamProblem = (): string | undefined =>
    [streamWatch, ...kept].flatMap(({ problem }) => problem ?? []).join('; ') || undefined;
  degraded.set({
    streams: streamProblem,
    placements: () => unknownPlacements(records, names),
    records: () => records.unreadable.problem,
  });
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
