import { isDeepStrictEqual } from 'node:util';
import { type KvBucket, unlessConflict } from '../bus/kv.ts';
import type { RegisteredName } from '../model/records.ts';
import { startRounds } from '../runtime/rounds.ts';
import type { Directory } from './directory.ts';
import { columnsKey } from './keys.ts';
import { columnRegistrySchema } from './records.ts';
import type { LastSeen } from './sources.ts';

/** `last_seen` of a name in use is at most this old, plus the time between two rounds. */
export const lastSeenSeconds = 3_600;

const everyMs = 60_000;

const seen = (
  names: readonly RegisteredName[],
  sighted: readonly string[],
  nowSeconds: number,
): RegisteredName[] => {
  const set = new Set(sighted);
  return names.map((entry) =>
    set.has(entry.name) && entry.last_seen < nowSeconds ? { ...entry, last_seen: nowSeconds } : entry,
  );
};

const write = async (
  columns: KvBucket,
  { dataId, metrics, dimensions }: LastSeen,
  nowSeconds: number,
): Promise<void> => {
  const key = columnsKey(dataId);
  const stored = await columns.get(key);
  if (stored === undefined) return;
  const registry = columnRegistrySchema.safeParse(stored.value).data;
  // One that cannot be read holds up no other.
  if (registry === undefined) return;
  const next = {
    ...registry,
    metrics: seen(registry.metrics, metrics, nowSeconds),
    dimensions: seen(registry.dimensions, dimensions, nowSeconds),
  };
  if (isDeepStrictEqual(next, registry)) return;
  // Where another process registered a name or wrote the same time, the next round writes the rest.
  await unlessConflict(columns.update(key, next, stored.revision));
};

/** Stores which names this process has seen since the last call, where the registry's time is older than an hour. */
export const writeLastSeen = async (
  directory: Pick<Directory, 'takeLastSeen'>,
  columns: KvBucket,
  nowMs: number,
): Promise<void> => {
  const nowSeconds = Math.floor(nowMs / 1000);
  for (const seen of directory.takeLastSeen(nowSeconds - lastSeenSeconds)) {
    await write(columns, seen, nowSeconds);
  }
};

/**
 * Does so every minute until `stop`. `onFault` receives failures; names of a failed round are stored after the next
 * time they occur.
 */
export const startLastSeen = (
  directory: Pick<Directory, 'takeLastSeen'>,
  columns: KvBucket,
  onFault: (error: unknown) => void,
): { stop(): void } => {
  const rounds = startRounds(async () => {
    await writeLastSeen(directory, columns, Date.now()).catch(onFault);
    return everyMs;
  }, everyMs);
  return { stop: () => void rounds.stop() };
};
