import { statfs } from 'node:fs/promises';
import { errorText } from '../../model/fault.ts';
import { sumOf } from '../../model/sums.ts';
import { dayMs } from '../../model/time.ts';
import type { Clickhouse } from '../../stores/clickhouse/client.ts';
import { type DiskSpace, readFullestDisk } from '../../stores/clickhouse/disks.ts';
import type { RetentionDays } from '../../stores/clickhouse/migrate-ttl.ts';
import type { Records } from '../records/store.ts';
import type { PlacedInstance } from '../tables/placement.ts';
import { bytesPerDay, daysUntilFull } from './forecast.ts';
import { growingOf, readStoredInClickhouse, readStoredPoints, type Stored } from './stored.ts';

/** What a store has; `why` it did not answer, empty where it did. */
export type StoreUse = {
  /** `clickhouse`, `questdb`, or `questdb-<name>` where there are several. */
  readonly store: string;
  readonly stored: readonly Stored[];
  readonly why: string;
};

/** A disk with what the stores on it have, and when it is full. */
export type Volume = {
  /** `data`: the disk of the data folder, which the stores share; else that of the store. */
  readonly disk: string;
  readonly stores: readonly string[];
  readonly bytes: number;
  readonly bytesPerDay: number;
  /** Undefined where it is not known. */
  readonly space: DiskSpace | undefined;
  /** At most `daysLeftMax`, 0 where less than 2 % is free; undefined where the space or what a store has is not known. */
  readonly daysLeft: number | undefined;
  /** Why there is no forecast; empty where there is one. */
  readonly why: string;
};

export type DiskUse = {
  /** When the read began, ms since the epoch. */
  readonly at: number;
  readonly stores: readonly StoreUse[];
  readonly volumes: readonly Volume[];
};

/** Reads what the stores have on their disks. */
export type DiskReads = {
  /** A read of the last minute, or a new one. A store that does not answer has a `why`. */
  read(): Promise<DiskUse>;
};

/** The space of the disks by name, or why it is not known. */
export type Spaces = ReadonlyMap<string, DiskSpace | string>;

const dataDisk = 'data';

/** Below this share of free space a disk is full for its stores: merges and commits of their next rows do not fit any more. */
const freeShareMin = 0.02;

const volumeOf = (disk: string, stores: readonly StoreUse[], spaces: Spaces, today: number): Volume => {
  const stored = stores.flatMap((each) => each.stored);
  const growing = stored.map(growingOf);
  const found = spaces.get(disk) ?? 'QuestDB does not report the space of its disk';
  const [space, whySpace] = typeof found === 'string' ? [undefined, found] : [found, ''];
  const isFull = space !== undefined && space.freeBytes < freeShareMin * space.totalBytes;
  // Stores on a full disk often do not answer: their growth is not needed then.
  const why = isFull ? '' : stores.find((each) => each.why !== '')?.why || whySpace;
  const daysOf = ({ freeBytes }: DiskSpace): number => daysUntilFull(freeBytes, growing, today);
  return {
    disk,
    stores: stores.map(({ store }) => store),
    bytes: sumOf(stored.flatMap(({ days }) => days.map(({ bytes }) => bytes))),
    bytesPerDay: sumOf(growing.map((each) => bytesPerDay(each, today))),
    space,
    daysLeft: space === undefined || why !== '' ? undefined : isFull ? 0 : daysOf(space),
    why,
  };
};

/** One volume for all stores where they share the disk of the data folder, else one for each. */
export const volumesOf = (
  stores: readonly StoreUse[],
  spaces: Spaces,
  today: number,
  sharesDataDisk: boolean,
): Volume[] =>
  sharesDataDisk
    ? [volumeOf(dataDisk, stores, spaces, today)]
    : stores.map((each) => volumeOf(each.store, [each], spaces, today));

export type DiskReadsDeps = {
  readonly instances: readonly Pick<PlacedInstance, 'name' | 'sql'>[];
  readonly clickhouse: Clickhouse;
  readonly records: Pick<Records, 'applicationPolicies'>;
  /** Of the pipeline files. */
  readonly retentionDays: RetentionDays;
  readonly dataFolder: string;
  /** Whether QuestDB and ClickHouse keep their files on the disk of the data folder. */
  readonly sharesDataDisk: boolean;
  readonly now: () => number;
};

const readSpaces = async ({ clickhouse, dataFolder, sharesDataDisk }: DiskReadsDeps): Promise<Spaces> => {
  const found = sharesDataDisk
    ? await statfs(dataFolder)
        .then(({ bavail, blocks, bsize }) => ({ freeBytes: bavail * bsize, totalBytes: blocks * bsize }))
        .catch(errorText)
    : await readFullestDisk(clickhouse).catch(errorText);
  return new Map(found === undefined ? [] : [[sharesDataDisk ? dataDisk : 'clickhouse', found]]);
};

const readDisks = async (deps: DiskReadsDeps): Promise<DiskUse> => {
  const { instances, clickhouse, records, retentionDays, sharesDataDisk } = deps;
  const at = deps.now();
  const today = Math.floor(at / dayMs);
  const use = (store: string, stored: Promise<readonly Stored[]>): Promise<StoreUse> =>
    stored.then(
      (found) => ({ store, stored: found, why: '' }),
      (error: unknown) => ({ store, stored: [], why: errorText(error) }),
    );
  const [spaces, ...stores] = await Promise.all([
    readSpaces(deps),
    ...instances.map(({ name, sql }) =>
      use(instances.length === 1 ? 'questdb' : `questdb-${name}`, readStoredPoints(sql)),
    ),
    use('clickhouse', readStoredInClickhouse(clickhouse, records, retentionDays, today)),
  ]);
  return { at, stores, volumes: volumesOf(stores, spaces, today, sharesDataDisk) };
};

const keptMs = 60_000;

export const createDiskReads = (deps: DiskReadsDeps): DiskReads => {
  let kept: { readonly at: number; readonly use: Promise<DiskUse> } | undefined;
  let isReading = false;
  return {
    read: () => {
      if (kept !== undefined && (isReading || deps.now() - kept.at < keptMs)) return kept.use;
      isReading = true;
      const use = readDisks(deps).finally(() => {
        isReading = false;
      });
      kept = { at: deps.now(), use };
      return use;
    },
  };
};
