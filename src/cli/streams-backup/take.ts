import type { Bus } from '../../bus/connection.ts';
import { type SnapshotState, stateOfStream, storedStreams, takeSnapshot } from '../../bus/stream-snapshot.ts';
import type { Pipelines } from '../../config/pipelines.ts';
import { Fault } from '../../model/fault.ts';
import { type BackupEntry, createBackupFolder, type Manifest } from './folder.ts';

const bucketPrefix = 'KV_tidemark-';
const deadLetters = 'DEADLETTER';

/**
 * A message moves METRICS or TRACES -> LEDGER, DEADLETTER: in this order it is in one of the snapshots, whenever it moves. The records
 * come after the messages, so that each message's data id, application and column names are among them.
 */
const inOrder = async (bus: Bus, { streams }: Pipelines): Promise<string[]> => {
  const last = streams.filter(({ name }) => name === 'LEDGER' || name === deadLetters || name === 'AUDIT');
  const first = streams.filter((stream) => !last.includes(stream));
  return [
    ...[...first, ...last].map(({ name }) => name),
    ...(await storedStreams(bus, bucketPrefix)).filter((name) => name !== `${bucketPrefix}system`),
    `${bucketPrefix}system`,
  ];
};

const removedOf = async (bus: Bus): Promise<number> => (await stateOfStream(bus, deadLetters))?.removed ?? 0;

const checkDeadLetters = (before: number, state: SnapshotState | undefined): void => {
  if (state === undefined || state.removed === before) return;
  throw new Fault(
    'transient',
    'dead_letters_moved',
    'dead letters were redriven or purged meanwhile, and could be in none of the snapshots: take the backup again afterwards',
  );
};

/**
 * Takes every stream and every bucket of records into a new folder while everything runs. Throws Faults: permanent for a folder that cannot be used
 * and for a NATS without anything of ours (`nothing_to_back_up`), transient when NATS does not answer or when dead letters
 * were redriven meanwhile (`dead_letters_moved`). The folder is no backup then.
 */
export const takeBackup = async (
  bus: Bus,
  pipelines: Pipelines,
  path: string,
  onStream: (entry: BackupEntry) => void,
): Promise<Manifest['streams']> => {
  const folder = await createBackupFolder(path);
  const startedAt = new Date().toISOString();
  const before = await removedOf(bus);
  const entries: BackupEntry[] = [];
  for (const stream of await inOrder(bus, pipelines)) {
    if ((await stateOfStream(bus, stream)) === undefined) continue;
    const entry = await folder.write(stream, (onPiece) => takeSnapshot(bus, stream, onPiece));
    if (stream === deadLetters) checkDeadLetters(before, entry.state);
    entries.push(entry);
    onStream(entry);
  }
  if (entries.length === 0)
    throw new Fault('permanent', 'nothing_to_back_up', 'this NATS holds no stream of Tidemark');
  await folder.finish({ started_at: startedAt, finished_at: new Date().toISOString(), streams: entries });
  return entries;
};
