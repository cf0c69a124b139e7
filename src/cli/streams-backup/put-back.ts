import type { Bus } from '../../bus/connection.ts';
import { openKvBucket } from '../../bus/kv.ts';
import { markStream, restoreSnapshot, type SnapshotState, stateOfStream } from '../../bus/stream-snapshot.ts';
import { type RaisedNumbers, raiseAfterRestore } from '../../directory/after-restore.ts';
import { buckets } from '../../directory/keys.ts';
import { noteRestore } from '../../metadata/note-restore.ts';
import { counted } from '../../model/counted.ts';
import { Fault } from '../../model/fault.ts';
import { type BackupEntry, piecesOf, readManifest } from './folder.ts';

const systemStream = `KV_${buckets.system}`;

/** The mark on the last stream that the restore is complete. */
const doneMark = ({ sha256 }: BackupEntry): string => `done ${sha256}`;

/** Messages that arrived during the copy may be stored in addition to the first ones. */
const checkWhole = ({ stream, state }: BackupEntry, found: SnapshotState): void => {
  if (found.lastSequence >= state.lastSequence) return;
  const held = `${counted(found.messages, 'message')} up to sequence ${found.lastSequence}`;
  throw new Fault(
    'internal',
    'restore_differs',
    `${stream} has ${held} after the restore, expected up to ${state.lastSequence}`,
  );
};

/** How a NATS stands to a backup. Streams of an interrupted run of its restore have its mark, and are kept. */
const compareStreams = async (
  bus: Bus,
  entries: readonly BackupEntry[],
): Promise<{ missing: BackupEntry[]; others: string[] }> => {
  const missing: BackupEntry[] = [];
  const others: string[] = [];
  for (const entry of entries) {
    const found = await stateOfStream(bus, entry.stream);
    if (found === undefined) missing.push(entry);
    else if (found.mark === entry.sha256) checkWhole(entry, found);
    else others.push(entry.stream);
  }
  return { missing, others };
};

/** The streams of this NATS that refuse the restore of the backup in this folder. Faults of `putBack`. */
export const streamsInTheWay = async (bus: Bus, path: string): Promise<string[]> =>
  (await compareStreams(bus, (await readManifest(path)).streams)).others;

/** The streams that do not exist yet. */
const missingOf = async (bus: Bus, entries: readonly BackupEntry[]): Promise<BackupEntry[]> => {
  const { missing, others } = await compareStreams(bus, entries);
  if (others.length === 0) return missing;
  throw new Fault(
    'permanent',
    'restore_not_empty',
    `${others.join(', ')} ${others.length > 1 ? 'exist' : 'exists'} already, and not from an interrupted run of this restore: ` +
      'stop every role, and restore into a NATS whose store is empty',
  );
};

/** What a restore raised, and from when on nothing that was changed is in the backup (ISO 8601). */
export type PutBack = { readonly raised: RaisedNumbers | undefined; readonly undoneSince: string };

/**
 * Restores a backup into a NATS without any of these streams, and raises the numbers that must not be used twice. No
 * role may run meanwhile. It leaves an audit entry. `afterRaise` runs last, before the restore is complete. After an interruption the same call
 * completes it. Throws Faults: permanent `backup_unusable` and `restore_not_empty` (nothing was changed then; also for
 * a complete restore), transient when NATS does not answer, internal `restore_differs` for a copy with fewer messages
 * than its manifest.
 */
export const putBack = async (
  bus: Bus,
  path: string,
  onStream: (entry: BackupEntry) => void,
  afterRaise: () => Promise<void> = async () => {},
): Promise<PutBack> => {
  const { streams, started_at, finished_at } = await readManifest(path);
  for (const entry of await missingOf(bus, streams)) {
    checkWhole(entry, await restoreSnapshot(bus, entry, piecesOf(path, entry), entry.sha256));
    onStream(entry);
  }
  const system = streams.find(({ stream }) => stream === systemStream);
  if (system === undefined) return { raised: undefined, undoneSince: started_at };
  const bucket = await openKvBucket(bus, buckets.system);
  const raised = await raiseAfterRestore(bucket, Date.now());
  await noteRestore(bus, bucket, { started_at, finished_at });
  await afterRaise();
  await markStream(bus, systemStream, doneMark(system));
  return { raised, undoneSince: started_at };
};
