import { isDeepStrictEqual } from 'node:util';
import type { Bus } from '../../bus/connection.ts';
import { openKvBucket } from '../../bus/kv.ts';
import { restoreSnapshot, stateOfStream } from '../../bus/stream-snapshot.ts';
import { type RaisedNumbers, raiseAfterRestore } from '../../directory/after-restore.ts';
import { buckets } from '../../directory/keys.ts';
import { Fault } from '../../model/fault.ts';
import { type BackupEntry, piecesOf, readManifest } from './folder.ts';

/** Streams that are not there yet. What a restore that was cut off made is as it was taken, and stays. */
const missingOf = async (bus: Bus, entries: readonly BackupEntry[]): Promise<BackupEntry[]> => {
  const missing: BackupEntry[] = [];
  const others: string[] = [];
  for (const entry of entries) {
    const state = await stateOfStream(bus, entry.stream);
    if (state === undefined) missing.push(entry);
    else if (!isDeepStrictEqual(state, entry.state)) others.push(entry.stream);
  }
  if (others.length === 0) return missing;
  throw new Fault(
    'permanent',
    'restore_not_empty',
    `${others.join(', ')} ${others.length > 1 ? 'are' : 'is'} there already with other content: ` +
      'stop every role, and restore into a NATS whose store is empty',
  );
};

/**
 * Puts a backup into a NATS that holds none of these streams, and raises the numbers that must not be given out twice. No role may
 * run meanwhile. Cut off, the same call again finishes it. Throws Faults: permanent `backup_unusable` and `restore_not_empty`
 * (nothing was changed then), transient when NATS does not answer.
 */
export const putBack = async (
  bus: Bus,
  path: string,
  onStream: (entry: BackupEntry) => void,
): Promise<RaisedNumbers | undefined> => {
  const { streams } = await readManifest(path);
  for (const entry of await missingOf(bus, streams)) {
    const state = await restoreSnapshot(bus, entry, piecesOf(path, entry));
    if (state.messages !== entry.state.messages || state.lastSequence !== entry.state.lastSequence) {
      const found = `${state.messages} messages up to ${state.lastSequence}`;
      throw new Fault('internal', 'restore_differs', `${entry.stream} came back with ${found}`);
    }
    onStream(entry);
  }
  if (!streams.some(({ stream }) => stream === `KV_${buckets.system}`)) return undefined;
  return raiseAfterRestore(await openKvBucket(bus, buckets.system), Date.now());
};
