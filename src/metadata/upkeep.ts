import { statfs } from 'node:fs/promises';
import type { Bus } from '../bus/connection.ts';
import type { KvBucket } from '../bus/kv.ts';
import { readServerTimeMs } from '../bus/stream-state.ts';
import { readBackupTimes } from '../directory/backup-record.ts';
import { clockOffsetMs, readClickhouseTimeMs, readQuestdbTimeMs } from '../doctor/clocks.ts';
import { errorText } from '../model/fault.ts';
import { questdbPart } from '../model/instances.ts';
import { nowSeconds } from '../model/time.ts';
import { type Rounds, startRounds } from '../runtime/rounds.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { type DiskSpace, readFullestDisk } from '../stores/clickhouse/disks.ts';
import type { Log } from '../telemetry/log.ts';
import type { UpkeepMetrics } from '../telemetry/upkeep-metrics.ts';
import type { PlacedInstance } from './tables/placement.ts';
import type { AdminTokens } from './tokens/admin-tokens.ts';

export type UpkeepDeps = {
  readonly bus: Bus;
  readonly system: KvBucket;
  /** A stream that every deployment has: its answer carries the clock of the server. */
  readonly stream: string;
  readonly instances: readonly PlacedInstance[];
  readonly clickhouse: Clickhouse;
  readonly adminTokens: Pick<AdminTokens, 'list'>;
  readonly dataFolder: string;
  readonly metrics: UpkeepMetrics;
  readonly log: Pick<Log, 'debug'>;
};

const everyMs = 15_000;

type Disks = Map<string, DiskSpace>;

/** The looks, and what the last one saw. */
export type Upkeep = Pick<Rounds, 'stop'> & {
  /** The space of the disk of the data folder (`data`) and of the fullest one of ClickHouse (`clickhouse`), where it is known. */
  readonly disks: ReadonlyMap<string, DiskSpace>;
};

/** A figure that cannot be read is absent, so that no panel shows an old one as of now. */
const lookAtClocks = async ({ bus, stream, instances, clickhouse, metrics }: UpkeepDeps): Promise<void> => {
  const clocks: [engine: string, read: () => Promise<number>][] = [
    ['nats', () => readServerTimeMs(bus, stream)],
    ['clickhouse', () => readClickhouseTimeMs(clickhouse)],
    ...instances.map(({ name, sql }): [string, () => Promise<number>] => [
      instances.length === 1 ? 'questdb' : `questdb-${name}`,
      () => readQuestdbTimeMs(sql),
    ]),
  ];
  for (const [engine, read] of clocks) {
    await clockOffsetMs(read).then(
      (ms) => metrics.clockOffset.set({ engine }, ms / 1000),
      () => metrics.clockOffset.remove({ engine }),
    );
  }
};

const lookAtDisks = async ({ clickhouse, dataFolder, metrics }: UpkeepDeps, disks: Disks): Promise<void> => {
  const show = (disk: string, freeBytes: number, totalBytes: number): void => {
    metrics.diskFreeBytes.set({ disk }, freeBytes);
    metrics.diskBytes.set({ disk }, totalBytes);
    disks.set(disk, { freeBytes, totalBytes });
  };
  const hide = (disk: string): void => {
    metrics.diskFreeBytes.remove({ disk });
    metrics.diskBytes.remove({ disk });
    disks.delete(disk);
  };
  await statfs(dataFolder).then(
    ({ bavail, blocks, bsize }) => show('data', bavail * bsize, blocks * bsize),
    () => hide('data'),
  );
  await readFullestDisk(clickhouse).then(
    (disk) => (disk === undefined ? hide('clickhouse') : show('clickhouse', disk.freeBytes, disk.totalBytes)),
    () => hide('clickhouse'),
  );
};

/** Of the valid tokens. One that has expired is of no use to anybody: it needs no alarm any more. */
const lookAtTokens = async ({ adminTokens, metrics }: UpkeepDeps): Promise<void> => {
  const now = nowSeconds();
  const ends = (await adminTokens.list()).flatMap(({ is_revoked, expires_at }) =>
    is_revoked || expires_at === null || expires_at <= now ? [] : [expires_at],
  );
  metrics.adminTokenExpiry.set(ends.length === 0 ? 0 : Math.min(...ends));
};

/** Of the parts that a backup has copied and that this installation has; of the streams always. */
export const lookAtBackup = async ({
  system,
  instances,
  metrics,
}: Pick<UpkeepDeps, 'metrics'> & {
  readonly system: Pick<KvBucket, 'get'>;
  readonly instances: readonly { readonly name: string }[];
}): Promise<void> => {
  const times = await readBackupTimes(system);
  metrics.backupLast.set({ part: 'nats' }, times['nats'] ?? 0);
  for (const part of [...instances.map(({ name }) => questdbPart(name)), 'clickhouse']) {
    const time = times[part];
    if (time !== undefined) metrics.backupLast.set({ part }, time);
  }
};

/** Looks at clocks, disks, tokens and the last backup until it is stopped; one that fails hides none of the others. */
export const startUpkeep = (deps: UpkeepDeps): Upkeep => {
  const disks: Disks = new Map();
  const rounds = startRounds(async () => {
    for (const look of [lookAtBackup, lookAtTokens, lookAtDisks, lookAtClocks])
      await look(deps, disks).catch((error: unknown) =>
        deps.log.debug({ error: errorText(error) }, 'a figure of the upkeep was not read'),
      );
    return everyMs;
  });
  return { disks, stop: () => rounds.stop() };
};
