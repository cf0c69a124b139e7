import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { errorText, Fault } from '../../model/fault.ts';
import { type Clickhouse, database } from '../../stores/clickhouse/client.ts';
import type { QuestdbSql } from '../../stores/questdb/sql.ts';
import { requireReadable } from './readable.ts';
import { checkStopped } from './stopping.ts';

const run = promisify(execFile);

/** QuestDB flushes every table before it answers. */
const checkpointTimeoutMs = 600_000;
const lookMs = 1_000;

/** The root of a volume has it, and it belongs to root. */
const ofTheVolume = 'lost+found';
/** The files of its web console, which QuestDB makes again at its start. */
const notOfQuestdb = [ofTheVolume, 'public', 'unpacked'];

/** Of the lines that cp writes, one for each file that it did not copy. */
const copyErrorsMax = 5;

const noRoom = /No space left on device|ENOSPC/;

/** What cp wrote to stderr, which names the file; else the text of the error. */
const copyError = (error: unknown, to: string): string => {
  const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  // cp names every file that did not fit.
  if (noRoom.test(said === '' ? errorText(error) : said)) return `no room in ${to}`;
  return said === '' ? errorText(error) : said.split('\n').slice(0, copyErrorsMax).join('; ');
};

/**
 * Copies a folder into one that does not exist, with holes where a file has holes: QuestDB reserves pages of its files ahead. The
 * copy has what links lead to, wherever that is. Transient Fault when it fails, which names the file or the link.
 */
export const copyFolder = async (
  from: string,
  to: string,
  signal?: AbortSignal,
  leftOut: readonly string[] = [ofTheVolume],
): Promise<void> => {
  try {
    await mkdir(to, { mode: 0o700 });
    const entries = (await readdir(from))
      .filter((name) => !leftOut.includes(name))
      .map((name) => join(from, name));
    await run('cp', ['-rL', '--preserve=mode,timestamps', '--sparse=auto', '--', ...entries, to], {
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    const why = signal?.aborted ? 'the backup was stopped' : copyError(error, to);
    throw new Fault('transient', 'copy_failed', `${from} was not copied (${why})`, error);
  }
};

const requireFolder = async (folder: string, what: string): Promise<void> => {
  const isThere = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isThere) return;
  throw new Fault('permanent', 'file_unreadable', `${folder} is not a readable folder: ${what}`);
};

/** When the checkpoint that QuestDB has was made; undefined where it has none. */
const checkpointStart = async (sql: QuestdbSql): Promise<string | undefined> => {
  const { columns, dataset } = await sql.exec('SELECT * FROM checkpoint_status()');
  const field = (column: string): unknown => dataset[0]?.[columns.indexOf(column)];
  return field('in_progress') === true ? String(field('started_at')) : undefined;
};

/** Releases the checkpoint of this start, and none of another backup. Transient Fault `checkpoint_lost` where it is gone. */
const releaseOwn = async (sql: QuestdbSql, name: string, start: string | undefined): Promise<void> => {
  if (start !== undefined && (await checkpointStart(sql)) !== start)
    throw new Fault(
      'transient',
      'checkpoint_lost',
      `another backup released the checkpoint of QuestDB ${name} during the copy, which is not whole: repeat the backup while no other one runs`,
    );
  await sql.exec('CHECKPOINT RELEASE', checkpointTimeoutMs);
};

export type QuestdbCopy = {
  readonly sql: QuestdbSql;
  readonly name: string;
  /** Its root folder as this process sees it, with `db` in it. */
  readonly root: string;
  /** A folder that does not exist. */
  readonly to: string;
  /** Whether a checkpoint that is there is one of an earlier, killed backup. */
  readonly isLeftoverReleased: boolean;
  /** Stops the copy. */
  readonly signal?: AbortSignal | undefined;
};

const inProgress = (why: string, cause?: unknown): Fault =>
  new Fault('permanent', 'checkpoint_in_progress', why, cause);

/** Refused, it leaves the checkpoint of another backup, which is not released; without an answer, it may have made its own. */
const createCheckpoint = async (sql: QuestdbSql, name: string): Promise<void> => {
  try {
    await sql.exec('CHECKPOINT CREATE', checkpointTimeoutMs);
  } catch (error) {
    const isRefused = error instanceof Fault && error.code === 'questdb_rejected';
    if (isRefused && /checkpoint/i.test(error.message))
      throw inProgress(
        `another backup of QuestDB ${name} has begun in this moment (${error.message}): wait for it, then repeat`,
        error,
      );
    if (!isRefused) await sql.exec('CHECKPOINT RELEASE', checkpointTimeoutMs).catch(() => undefined);
    throw error;
  }
};

/**
 * Copies a QuestDB while it runs, under a checkpoint, which only a kill -9 does not release. Faults: permanent
 * `checkpoint_in_progress` and `file_unreadable`, transient `copy_failed`, `checkpoint_lost` and those of QuestDB.
 */
export const copyQuestdb = async ({
  sql,
  name,
  root,
  to,
  isLeftoverReleased,
  signal,
}: QuestdbCopy): Promise<void> => {
  await requireFolder(join(root, 'db'), `give the root folder of QuestDB ${name}`);
  if ((await checkpointStart(sql)) !== undefined) {
    if (!isLeftoverReleased)
      throw inProgress(
        `QuestDB ${name} has a checkpoint: another backup may be running; wait for it. If none runs, one was killed: repeat with --release-checkpoint`,
      );
    await sql.exec('CHECKPOINT RELEASE', checkpointTimeoutMs);
  }
  checkStopped(signal, `QuestDB ${name}`);
  await createCheckpoint(sql, name);
  let start: string | undefined;
  try {
    // '' where it is gone already: no checkpoint has that start.
    start = (await checkpointStart(sql)) ?? '';
    await copyFolder(root, to, signal, notOfQuestdb);
  } finally {
    await releaseOwn(sql, name, start);
  }
};

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
const literal = (text: string): string => `'${escaped(text)}'`;

/** The destination with the name of the backup for {name}, which stands in a string of SQL. */
export const destinationOf = (destination: string, name: string): string =>
  destination.replaceAll('{name}', () => escaped(name));

/** Shorter texts are in both by chance, and are no key. */
const sharedMin = 6;

/** Puts … in the place of what a message has of a text, also of a part: the server quotes a wrong statement from its fault on. */
export const withoutPartsOf = (secret: string, message: string): string => {
  let hidden = '';
  for (let at = 0; at < message.length; ) {
    let length = 0;
    while (at + length < message.length && secret.includes(message.slice(at, at + length + 1))) length++;
    hidden += length < sharedMin ? message[at] : '…';
    at += length < sharedMin ? 1 : length;
  }
  return hidden;
};

/** The server adds the stack of its C++ to its reason. */
const withoutStack = (error: string): string => error.replace(/,? *Stack trace[\s\S]*/, '');

const stateSchema = z.object({ status: z.string(), error: z.string() });

export type ClickhouseCopy = {
  readonly clickhouse: Clickhouse;
  /** Of the cluster whose replicas may have taken the statement. */
  readonly cluster: string | undefined;
  readonly name: string;
  /** What follows TO: `S3(…)`, `Disk(…)`, `File(…)`. */
  readonly destination: string;
};

/** The server ends a cancelled copy within seconds. */
const cancelMsMax = 60_000;

/** Starts it in the server, so that no connection has to last as long, and resolves once it is whole; `signal` cancels it there. */
const runToEnd = async (
  clickhouse: Clickhouse,
  statement: string,
  { id, done }: { id: string; done: 'BACKUP_CREATED' | 'RESTORED' },
  table: string,
  signal?: AbortSignal,
): Promise<void> => {
  await clickhouse.run(`${statement} SETTINGS id=${literal(id)} ASYNC`);
  let cancelledAt: number | undefined;
  for (;;) {
    if (signal?.aborted && cancelledAt === undefined) {
      await clickhouse.run(
        `KILL QUERY WHERE query_id IN (SELECT query_id FROM system.backups WHERE id = ${literal(id)})`,
      );
      cancelledAt = performance.now();
    }
    const query = `SELECT status, error FROM ${table} WHERE id = ${literal(id)} ORDER BY start_time DESC LIMIT 1`;
    const [state] = await clickhouse.rows(stateSchema, query);
    if (state?.status === done) return;
    if (state !== undefined && state.status !== 'CREATING_BACKUP' && state.status !== 'RESTORING')
      throw new Fault(
        'permanent',
        'clickhouse_backup_failed',
        `ClickHouse: ${state.status} ${withoutStack(state.error)}`,
      );
    // A replica that runs it may not be the one that was asked.
    if (cancelledAt !== undefined && performance.now() - cancelledAt > cancelMsMax)
      throw new Fault('permanent', 'clickhouse_backup_failed', 'ClickHouse does not end the cancelled copy');
    await sleep(lookMs);
  }
};

/** Its Faults have the text of the server as it is. */
const runBackup = async (copy: ClickhouseCopy, signal?: AbortSignal): Promise<void> => {
  const { clickhouse, cluster, name, destination } = copy;
  const table =
    cluster === undefined ? 'system.backups' : `clusterAllReplicas(${literal(cluster)}, system.backups)`;
  const statement = `BACKUP DATABASE ${database} TO ${destination}`;
  checkStopped(signal, 'ClickHouse');
  await runToEnd(clickhouse, statement, { id: name, done: 'BACKUP_CREATED' }, table, signal);
};

/**
 * `BACKUP DATABASE` to this destination; resolves once it is whole. Permanent Fault `clickhouse_backup_failed` with the server's
 * reason. No Fault has a key of the destination in its message.
 */
export const backUpClickhouse = async (copy: ClickhouseCopy, signal?: AbortSignal): Promise<void> => {
  try {
    await runBackup(copy, signal);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // Without its cause, which has the text of the server, too.
    throw new Fault(error.kind, error.code, withoutPartsOf(copy.destination, error.message));
  }
};

/** What is ours in a folder that operators may write to as well. */
const ours = 'tidemark-';
const oursPattern = /^tidemark-.+-[0-9a-f]{8}$/;
/** The process of an older one was killed. */
const leftoverMs = 24 * 3_600_000;

/** Removes the copies that killed backups left. */
const removeLeftovers = async (files: string): Promise<void> => {
  for (const name of await readdir(files)) {
    if (!oursPattern.test(name)) continue;
    // Another process may have removed it meanwhile.
    const found = await stat(join(files, name)).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > leftoverMs)
      await rm(join(files, name), { recursive: true, force: true });
  }
};

/** Permanent Fault `file_unwritable` for a folder that ClickHouse has to write to, with the line that mends it, and the reason. */
const closedToClickhouse = async (files: string, why: string): Promise<Fault> => {
  const above = dirname(files);
  const isOfRoot = await stat(above).then(
    ({ uid }) => uid === 0,
    () => true,
  );
  // A folder of root is not the one that ClickHouse has its data in.
  const [owner, mode] = isOfRoot
    ? ['--reference=<data folder of ClickHouse>', '750']
    : [`--reference=${above}`, `--reference=${above}`];
  return new Fault(
    'permanent',
    'file_unwritable',
    `${files} has to belong to the user of ClickHouse: mkdir -p ${files} && chown ${owner} ${files} && chmod ${mode} ${files} (${why})`,
  );
};

/**
 * Makes ClickHouse's folder of backups where there is none, with the owner and the mode of the folder above: the server, which is
 * another user, writes to it. Answers what removes it again, if it is ours and empty. Permanent Faults `file_unreadable` and
 * `file_unwritable`.
 */
const makeBackupsFolder = async (files: string): Promise<() => Promise<void>> => {
  try {
    await mkdir(files);
  } catch {
    await requireFolder(files, 'give the folder of ClickHouse’s backups');
    return async () => {};
  }
  const undo = (): Promise<void> => rmdir(files).catch(() => undefined);
  try {
    const above = await stat(dirname(files));
    if (above.uid !== (await stat(files)).uid) await chown(files, above.uid, above.gid);
    await chmod(files, above.mode & 0o7777);
  } catch (error) {
    await undo();
    throw await closedToClickhouse(files, errorText(error));
  }
  return undo;
};

/** Whether the server may not write this copy; it says the same of a file of a table that it may not read. */
const isClosedTo = (copy: string, error: unknown): error is Fault =>
  error instanceof Fault &&
  error.code === 'clickhouse_backup_failed' &&
  /permission denied/i.test(error.message) &&
  error.message.includes(copy);

/**
 * The same into ClickHouse's own folder of backups, which this process sees at `files`, from where it is moved to `to`. None stays
 * there where that fails or is stopped: it would be a whole copy on the disk of the database. Faults as above and of `copyQuestdb`.
 */
export const moveClickhouse = async (
  copy: Omit<ClickhouseCopy, 'destination'>,
  { files, to }: { files: string; to: string },
  signal?: AbortSignal,
): Promise<void> => {
  const undo = await makeBackupsFolder(files);
  await requireReadable(files);
  await removeLeftovers(files);
  // So that no other copy, of another backup or of an operator, has the name.
  const name = `${ours}${copy.name}-${randomBytes(4).toString('hex')}`;
  const place = join(files, name);
  try {
    await runBackup({ ...copy, destination: `File(${literal(name)})` }, signal);
    await copyFolder(place, to, signal);
  } catch (error) {
    await rm(place, { recursive: true, force: true });
    await undo();
    throw isClosedTo(name, error) ? await closedToClickhouse(files, error.message) : error;
  }
  await rm(place, { recursive: true, force: true });
};

/**
 * Restores a copy of `moveClickhouse` into a ClickHouse whose folder of backups this process sees at `files`, in the place of what is
 * there. Faults of ClickHouse and of `copyQuestdb`.
 */
export const putBackClickhouse = async ({
  clickhouse,
  files,
  from,
  name,
}: Pick<ClickhouseCopy, 'clickhouse' | 'name'> & { files: string; from: string }): Promise<void> => {
  const place = join(files, name);
  await mkdir(files, { recursive: true });
  await rm(place, { recursive: true, force: true });
  await copyFolder(from, place);
  await clickhouse.run(`DROP DATABASE IF EXISTS ${database} SYNC`);
  await runToEnd(
    clickhouse,
    `RESTORE DATABASE ${database} FROM File(${literal(name)})`,
    { id: name, done: 'RESTORED' },
    'system.backups',
  );
  await rm(place, { recursive: true, force: true });
};
