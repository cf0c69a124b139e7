import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ofInstance, pipelinesOf } from '../../config/instance-streams.ts';
import { questdbInstances, type Settings } from '../../config/settings.ts';
import { Fault } from '../../model/fault.ts';
import { defaultInstance, questdbPart } from '../../model/instances.ts';
import { readTime } from '../../stores/clickhouse/time.ts';
import { programVersion } from '../../telemetry/program-version.ts';
import { withBus, withClickhouse } from '../with-engines.ts';
import type { BackupEntry } from './folder.ts';
import { requireReadableSources } from './readable.ts';
import { type DatabaseCopies, type TakeOptions, takeBackup } from './take.ts';
import { copyAdminToken, finishWithList, writeTimes } from './whole-folder.ts';

/** Where the files of the databases are, as this process sees them. */
export type DatabaseFiles = {
  /** The root folder of each QuestDB instance. */
  readonly questdbRoots: readonly (readonly [name: string, root: string])[];
  /** The folder of backups of ClickHouse, from which its copy is moved. */
  readonly clickhouseFiles: string | undefined;
  /** What follows TO in `BACKUP DATABASE`, with {name} for the name of the backup: it stays there. */
  readonly clickhouseTo: string | undefined;
};

/** The folder of backups of ClickHouse in a data folder. */
export const clickhouseBackups = (dataFolder: string): string => join(dataFolder, 'clickhouse', 'backups');

const missing = (what: string, option: string): Fault =>
  new Fault(
    'permanent',
    'config_invalid',
    `the folder with the files of ${what} is not known: set it with ${option}, or copy NATS alone with --streams-only`,
  );

/**
 * The given files; ClickHouse goes where the setting says, if nothing of it is given. Where none is given, those of the engines of
 * `tidemark up` on this data folder. Permanent Fault `config_invalid` where it has none: a backup without a database would seem whole.
 */
export const locateDatabases = (settings: Settings, given: DatabaseFiles): DatabaseFiles => {
  const { dataFolder, questdb, clickhouse } = settings;
  const isGiven =
    given.questdbRoots.length > 0 || (given.clickhouseFiles ?? given.clickhouseTo) !== undefined;
  const { backupTo } = clickhouse;
  if (isGiven)
    return given.clickhouseFiles === undefined
      ? { ...given, clickhouseTo: given.clickhouseTo ?? backupTo }
      : given;
  const root = join(dataFolder, 'questdb');
  if (questdb.url !== undefined || !existsSync(join(root, 'db')))
    throw missing('QuestDB', '--questdb-root <folder>');
  const further = questdb.further[0];
  if (further !== undefined)
    throw missing(`QuestDB ${further.name}`, `--questdb-root for each instance (${further.name}=<folder>)`);
  const questdbRoots = [[defaultInstance, root]] as const;
  if (backupTo !== undefined) return { questdbRoots, clickhouseFiles: undefined, clickhouseTo: backupTo };
  if (clickhouse.url !== undefined || !existsSync(join(dataFolder, 'clickhouse')))
    throw missing('ClickHouse', '--clickhouse-files <folder> or TIDEMARK_CLICKHOUSE_BACKUP_TO');
  return {
    questdbRoots,
    clickhouseFiles: clickhouseBackups(dataFolder),
    clickhouseTo: undefined,
  };
};

/** A backup in the making: its name, and the folder that it is written to. */
export type BackupTarget = { readonly name: string; readonly path: string };

const copyQuestdbTo = async (
  settings: Settings,
  folder: string,
  [name, root]: readonly [string, string],
  isLeftoverReleased: boolean,
  signal: AbortSignal | undefined,
): Promise<string> => {
  const instance = questdbInstances(settings).find((each) => each.name === name);
  if (instance === undefined)
    throw new Fault('permanent', 'config_invalid', `no setting has a QuestDB instance ${name}`);
  const { createQuestdbSql } = await import('../../stores/questdb/sql.ts');
  const { copyQuestdb } = await import('./stores.ts');
  const sql = createQuestdbSql({ url: instance.url });
  const part = questdbPart(name);
  try {
    await copyQuestdb({ sql, name, root, to: join(folder, part), isLeftoverReleased, signal });
  } finally {
    await sql.close();
  }
  return part;
};

const copySpans = async (
  settings: Settings,
  { name, path }: BackupTarget,
  { clickhouseTo, clickhouseFiles }: DatabaseFiles,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const { backUpClickhouse, destinationOf, moveClickhouse } = await import('./stores.ts');
  return withClickhouse(settings, async (clickhouse) => {
    const copy = { clickhouse, cluster: settings.clickhouse.cluster, name };
    if (clickhouseTo !== undefined)
      await backUpClickhouse({ ...copy, destination: destinationOf(clickhouseTo, name) }, signal);
    if (clickhouseFiles === undefined) return [];
    await moveClickhouse(copy, { files: clickhouseFiles, to: join(path, 'clickhouse') }, signal);
    return ['clickhouse'];
  });
};

export type BackupWatch = {
  readonly onStream: (entry: BackupEntry) => void;
  readonly onDatabase: (name: string) => void;
  /** Stops the backup, which then fails. */
  readonly signal?: AbortSignal;
};

/** The streams and the records, into a new or empty folder; the databases between them where they are given. Faults of `takeBackup`. */
export const backUpStreams = async (
  settings: Settings,
  folder: string,
  onStream: (entry: BackupEntry) => void,
  databases?: DatabaseCopies,
  options: TakeOptions = {},
): Promise<BackupEntry[]> => {
  const pipelines = pipelinesOf(settings);
  return withBus(settings, (bus) => takeBackup(bus, pipelines, folder, onStream, databases, options));
};

/**
 * The databases that a backup with these parts lacks. The streams name further instances of QuestDB, too: this command may not know each
 * one that has tables.
 */
export const notCopied = (
  settings: Settings,
  { entries, copied }: { entries: readonly Pick<BackupEntry, 'stream'>[]; copied: readonly string[] },
): string[] => {
  const ofPoints = ofInstance(pipelinesOf(settings).metrics.consumer.stream, '');
  const streamed = entries.flatMap(({ stream }) =>
    stream.startsWith(ofPoints) ? [stream.slice(ofPoints.length)] : [],
  );
  const instances = [...questdbInstances(settings).map(({ name }) => name), ...streamed];
  const databases = new Set([...instances.map(questdbPart), 'clickhouse']);
  return [...databases].filter((part) => !copied.includes(part));
};

/** What a backup copied: the streams and buckets, and the parts that are whole now, wherever they are. */
export type BackedUp = { readonly entries: BackupEntry[]; readonly copied: readonly string[] };

/** Everything into an existing, empty folder. Faults of `requireReadableSources`, `takeBackup`, `copyQuestdb` and `moveClickhouse`. */
export const backUpAll = async (
  settings: Settings,
  target: BackupTarget,
  files: DatabaseFiles,
  isLeftoverReleased: boolean,
  { onStream, onDatabase, signal }: BackupWatch,
): Promise<BackedUp> => {
  await requireReadableSources(
    settings.dataFolder,
    files.questdbRoots.map(([, root]) => root),
    files.clickhouseFiles,
  );
  const startedAt = new Date().toISOString();
  const hasClickhouse = (files.clickhouseTo ?? files.clickhouseFiles) !== undefined;
  const clickhouseStartedAt = hasClickhouse ? await withClickhouse(settings, readTime) : undefined;
  const parts = ['nats'];
  const copied = ['nats'];
  const nats = join(target.path, 'nats');
  await mkdir(nats, { mode: 0o700 });
  const databases: DatabaseCopies = {
    questdb: async () => {
      for (const root of files.questdbRoots) {
        const part = await copyQuestdbTo(settings, target.path, root, isLeftoverReleased, signal);
        parts.push(part);
        copied.push(part);
        onDatabase(`QuestDB ${root[0]}`);
      }
    },
    clickhouse: async (stopping) => {
      if (!hasClickhouse) return;
      parts.push(...(await copySpans(settings, target, files, stopping)));
      copied.push('clickhouse');
      onDatabase('ClickHouse');
    },
  };
  const options = { isLongPauseEnded: isLeftoverReleased, ...(signal === undefined ? {} : { signal }) };
  const entries = await backUpStreams(settings, nats, onStream, databases, options);
  await copyAdminToken(settings.dataFolder, target.path);
  if (clickhouseStartedAt !== undefined)
    await writeTimes(target.path, { clickhouse_started_at: clickhouseStartedAt.toISOString() });
  await finishWithList(target.path, { program: programVersion(), started_at: startedAt, parts }, signal);
  return { entries, copied };
};
