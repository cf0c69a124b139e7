import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '../../bus/connection.ts';
import { settleMsMax, withPausedConsumers } from '../../bus/consumer-pause.ts';
import { stateOfStream, storedStreams, takeSnapshot } from '../../bus/stream-snapshot.ts';
import { ofInstance } from '../../config/instance-streams.ts';
import type { Pipelines } from '../../config/pipelines.ts';
import { Fault } from '../../model/fault.ts';
import { type BackupEntry, type BackupFolder, createBackupFolder, type Manifest } from './folder.ts';
import { checkStopped } from './stopping.ts';

const bucketPrefix = 'KV_tidemark-';
const deadLetters = 'DEADLETTER';
const afterTheirMessages: readonly string[] = ['LEDGER', deadLetters, 'AUDIT'];

const ledger = 'LEDGER';
type Pausing = { readonly signal: AbortSignal; readonly isLongPauseEnded: boolean };
/** Longer, and the account of the running installation would be reported as not known. */
const ledgerHeldMsDefault = 180_000;

/** The databases of a whole backup, each copied when it is called. */
export type DatabaseCopies = {
  readonly questdb: () => Promise<void>;
  /** `signal` ends it: a BACKUP must not outlive its backup. */
  readonly clickhouse: (signal: AbortSignal) => Promise<void>;
};

export type TakeOptions = {
  /** How long LEDGER may wait for ClickHouse's copy. */
  readonly ledgerHeldMs?: number;
  /** Stops the backup, which then fails. */
  readonly signal?: AbortSignal;
  /** Whether pauses of consumers that are longer than those of a backup end with it. */
  readonly isLongPauseEnded?: boolean;
};

/** A bucket whose values change during the copy is copied again, at most this many times. */
const attemptsMax = 5;

/**
 * A message moves METRICS, TRACES, LOGS or OTEL_METRICS -> LEDGER, DEADLETTER: with this order it is in one of the snapshots, whenever it
 * moves. The records come after the messages, so that the copy has each message's data id, application and column
 * names. The server lists the streams of points, because this command may not know every QuestDB instance.
 */
const inOrder = async (bus: Bus, { streams, metrics }: Pipelines): Promise<string[]> => {
  const names: string[] = streams.map(({ name }) => name);
  const last = names.filter((name) => afterTheirMessages.includes(name));
  const first = names.filter((name) => !last.includes(name));
  const system = `${bucketPrefix}system`;
  return [
    ...new Set([...first, ...(await storedStreams(bus, ofInstance(metrics.consumer.stream, '')))]),
    ...last,
    ...(await storedStreams(bus, bucketPrefix)).filter((name) => name !== system),
    system,
  ];
};

const removedOf = async (bus: Bus): Promise<number> => (await stateOfStream(bus, deadLetters))?.removed ?? 0;

/** A dead letter that was removed may be in redrive to a stream that was copied already. */
const checkDeadLetters = async (bus: Bus, before: number): Promise<void> => {
  if ((await removedOf(bus)) === before) return;
  throw new Fault(
    'transient',
    'dead_letters_moved',
    'dead letters were redriven or purged during the backup, and may be missing in every snapshot: repeat the backup',
  );
};

/**
 * Where the server drops a file of a stream that it copies, another file may be missing in the copy. So a copy counts when
 * nothing was removed meanwhile; of a bucket, of which each change removes a value, also when at least its oldest stayed.
 */
const copyWhole = async (
  bus: Bus,
  folder: BackupFolder,
  stream: string,
  signal: AbortSignal,
): Promise<BackupEntry | undefined> => {
  checkStopped(signal, stream);
  let before = await stateOfStream(bus, stream);
  for (let attempt = 1; before !== undefined; attempt++) {
    const entry = await folder.write(stream, (onPiece) =>
      takeSnapshot(bus, stream, (piece) => {
        checkStopped(signal, stream);
        return onPiece(piece);
      }),
    );
    const after = await stateOfStream(bus, stream);
    if (after?.removed === before.removed) return entry;
    if (attempt === attemptsMax) {
      if (stream.startsWith(bucketPrefix) && after?.firstSequence === before.firstSequence) return entry;
      const why = `messages left ${stream} during each copy: repeat the backup`;
      throw new Fault('transient', 'stream_moved', why);
    }
    before = after;
  }
  return undefined;
};

/** Copies streams, and keeps the entries in the order of their copies. */
class StreamCopies {
  readonly entries: BackupEntry[] = [];
  private readonly bus: Bus;
  private readonly folder: BackupFolder;
  private readonly onStream: (entry: BackupEntry) => void;
  private readonly lettersBefore: number;
  private readonly pausing: Pausing;

  constructor(
    bus: Bus,
    folder: BackupFolder,
    onStream: (entry: BackupEntry) => void,
    lettersBefore: number,
    pausing: Pausing,
  ) {
    this.bus = bus;
    this.folder = folder;
    this.onStream = onStream;
    this.lettersBefore = lettersBefore;
    this.pausing = pausing;
  }

  /** While its consumers are paused. */
  async add(stream: string): Promise<void> {
    const entry = await copyWhole(this.bus, this.folder, stream, this.pausing.signal);
    if (entry === undefined) return;
    if (stream === deadLetters) await checkDeadLetters(this.bus, this.lettersBefore);
    this.entries.push(entry);
    this.onStream(entry);
  }

  async addAll(streams: readonly string[]): Promise<void> {
    for (const stream of streams)
      if ((await stateOfStream(this.bus, stream)) !== undefined)
        await withPausedConsumers(this.bus, stream, () => this.add(stream), this.pausing);
  }

  /**
   * ClickHouse, and LEDGER after it while no line leaves LEDGER: each line is in one of the two copies. Where ClickHouse takes
   * longer than the pause may last, LEDGER is copied at its end: the state of ClickHouse's copy is that of its start.
   */
  async addClickhouse(copy: DatabaseCopies['clickhouse'], heldMs: number): Promise<void> {
    if ((await stateOfStream(this.bus, ledger)) === undefined) return copy(this.pausing.signal);
    const failed = new AbortController();
    let copying = Promise.resolve();
    const both = async (): Promise<void> => {
      const before = await stateOfStream(this.bus, ledger);
      copying = copy(AbortSignal.any([this.pausing.signal, failed.signal]));
      const done = new AbortController();
      const signal = AbortSignal.any([this.pausing.signal, done.signal]);
      const limit = delay(heldMs, undefined, { signal }).catch(() => undefined);
      await Promise.race([copying, limit]).finally(() => done.abort());
      await this.add(ledger);
      const after = await stateOfStream(this.bus, ledger);
      if (before?.removed !== after?.removed)
        throw new Fault(
          'transient',
          'stream_moved',
          'lines left LEDGER during the copy of ClickHouse, and may be in neither copy: repeat the backup',
        );
    };
    try {
      // Transfer gathers its lines for longer than a store that is away would be waited for.
      await withPausedConsumers(this.bus, ledger, both, { ...this.pausing, stillMs: settleMsMax });
    } catch (error) {
      failed.abort();
      await copying.catch(() => undefined);
      throw error;
    }
    await copying;
  }
}

/**
 * Copies every stream and every bucket of records into a new folder while the roles run; workers receive no message of
 * a stream while it is copied. The databases are copied after the items, before their records: what an item left behind is then in
 * a copy, wherever it was. Throws Faults: those of the databases, permanent for an unusable folder and for a NATS without streams
 * of Tidemark (`nothing_to_back_up`), transient when NATS does not answer, when messages left a stream during its copy,
 * or LEDGER during that of ClickHouse (`stream_moved`), when dead letters were redriven meanwhile (`dead_letters_moved`) or when it was stopped (`copy_failed`). The folder
 * is not a backup then.
 */
export const takeBackup = async (
  bus: Bus,
  pipelines: Pipelines,
  path: string,
  onStream: (entry: BackupEntry) => void,
  databases?: DatabaseCopies,
  {
    ledgerHeldMs = ledgerHeldMsDefault,
    signal = new AbortController().signal,
    isLongPauseEnded = false,
  }: TakeOptions = {},
): Promise<Manifest['streams']> => {
  const folder = await createBackupFolder(path);
  const startedAt = new Date().toISOString();
  const copies = new StreamCopies(bus, folder, onStream, await removedOf(bus), {
    signal,
    isLongPauseEnded,
  });
  const streams = await inOrder(bus, pipelines);
  const isOfRecords = (stream: string): boolean =>
    afterTheirMessages.includes(stream) || stream.startsWith(bucketPrefix);
  await copies.addAll(streams.filter((stream) => !isOfRecords(stream)));
  await databases?.questdb();
  if (databases !== undefined) await copies.addClickhouse(databases.clickhouse, ledgerHeldMs);
  const isCopied = (name: string): boolean => copies.entries.some(({ stream }) => stream === name);
  await copies.addAll(streams.filter((stream) => isOfRecords(stream) && !isCopied(stream)));
  const { entries } = copies;
  if (entries.length === 0)
    throw new Fault('permanent', 'nothing_to_back_up', 'this NATS has no stream of Tidemark');
  await folder.finish({ started_at: startedAt, finished_at: new Date().toISOString(), streams: entries });
  return entries;
};
