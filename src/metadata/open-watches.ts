import { retentionIn } from '../config/pipelines.ts';
import { isActBegun } from '../dead-letters/claims.ts';
import { createOrphans } from '../dead-letters/orphans.ts';
import { createOutcomeReads } from '../outcomes/reads.ts';
import { createMessageAccountReader } from '../outcomes/record-reader.ts';
import type { Parts } from '../runtime/run-role.ts';
import { createAccountMetrics } from '../telemetry/account-metrics.ts';
import type { MetadataMetrics } from '../telemetry/metadata-metrics.ts';
import { createUpkeepMetrics } from '../telemetry/upkeep-metrics.ts';
import { createWatchMetrics } from '../telemetry/watch-metrics.ts';
import { type Account, openAccount } from './account/account.ts';
import { openConsole } from './console/open-console.ts';
import { createDiskReads, type DiskReads } from './disk/disk-use.ts';
import { startDiskWatch } from './disk/disk-watch.ts';
import { createFurtherStreams, type FurtherStreams } from './further-streams.ts';
import { createInspected, type Inspected } from './inspect/inspected.ts';
import type { Given, openState, Ready } from './open-state.ts';
import type { Services } from './role-api.ts';
import { startUpkeep, type Upkeep } from './upkeep.ts';
import { startWatch, type Watch } from './watch.ts';

/** What the watch and the account look at. */
type Looked = Pick<Awaited<ReturnType<typeof openState>>, 'bus' | 'pipelines' | 'records' | 'adminTokens'>;

/** The looks at the streams, the stores and the account. */
export const openWatches = (
  given: Given,
  { bus, pipelines, records, adminTokens }: Looked,
  metrics: MetadataMetrics,
  ready: Ready,
  work: Parts,
): { account: Account; watch: Watch; upkeep: Upkeep; disk: DiskReads; furtherStreams: FurtherStreams } => {
  const { registry } = metrics;
  let isRead = false;
  void records.ready.then(() => {
    isRead = true;
  });
  const { placements, purges } = records;
  const furtherStreams = createFurtherStreams({
    ...{ bus, pipelines, now: Date.now, elapsed: performance.now.bind(performance) },
    placedOn: () =>
      placements.list().flatMap(({ id, value }) => (purges.known(id) === undefined ? [value.questdb] : [])),
  });
  const watch = startWatch({
    bus,
    clickhouse: given.clickhouse,
    records: () => (isRead ? records : undefined),
    streams: pipelines.streams,
    furtherStreams: async () => {
      await furtherStreams.look();
      return furtherStreams.there;
    },
    metrics: createWatchMetrics(registry),
    now: Date.now,
    log: given.log,
  });
  work.add('watch of streams and stores', () => watch.stop());
  ready.degraded.set({ clickhouse: () => watch.clickhouseProblem() || undefined });
  const { clickhouse } = given;
  const readAccounts = createMessageAccountReader(clickhouse);
  const isBegun = (sequence: number): Promise<boolean> => isActBegun(records.system, sequence);
  const orphans = createOrphans({ bus, readAccounts, isBegun, now: Date.now });
  const account = openAccount({
    ...given,
    ...{ bus, pipelines, records, orphans, furtherStreams },
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
  return { account, watch, upkeep, disk, furtherStreams };
};

/** What the API shows beside the records, and the sessions of those who look at it. */
export const openReads = (
  given: Given,
  { bus, pipelines, adminTokens }: Pick<Services, 'bus' | 'pipelines' | 'adminTokens'>,
  {
    account,
    audit,
    disk,
    furtherStreams,
  }: Pick<Services, 'account' | 'audit'> & Pick<Inspected, 'disk'> & { furtherStreams: FurtherStreams },
  parts: Parts,
): Pick<Services, 'outcomes' | 'console' | 'inspected'> => {
  const { streams } = pipelines;
  const inspected = createInspected({
    ...given,
    ...{ bus, streams, account, disk, env: process.env, now: Date.now },
  });
  parts.add('looks at arrivals', () => inspected.arrivals.stop());
  return {
    outcomes: createOutcomeReads(bus, given.clickhouse, streams, async () => {
      await furtherStreams.look().catch(() => undefined);
      return furtherStreams.there;
    }),
    console: openConsole(given.settings, { bus, adminTokens, audit, log: given.log }),
    inspected,
  };
};
