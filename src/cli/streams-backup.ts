import { basename, join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Settings } from '../config/settings.ts';
import { buckets } from '../directory/keys.ts';
import { counted } from '../model/counted.ts';
import { errorText } from '../model/fault.ts';
import { defaultInstance } from '../model/instances.ts';
import { nowSeconds } from '../model/time.ts';
import type { JsonOption } from './options.ts';
import { printFields, printJson, printLine, sayLines } from './output.ts';
import { loadCommandSettings } from './running-stack.ts';
import type { BackedUp } from './streams-backup/back-up.ts';
import type { BackupEntry } from './streams-backup/folder.ts';
import type { Restored } from './streams-backup/restore-all.ts';
import { withBus } from './with-engines.ts';

type BackupOptions = JsonOption & {
  to?: string;
  into?: string;
  streamsOnly?: true;
  keep?: number;
  questdbRoot?: [name: string, root: string][];
  clickhouseTo?: string;
  clickhouseFiles?: string;
  releaseCheckpoint?: true;
};
type RestoreOptions = JsonOption & { streamsOnly?: true; check?: true };

const ownerOnly = 0o077;

const plain = ({ stream, state: { messages, bytes }, file_bytes }: BackupEntry) => ({
  stream,
  messages,
  bytes,
  file_bytes,
});

const line = ({ stream, state }: BackupEntry): string =>
  `${stream.padEnd(22)}  ${counted(state.messages, 'message')}`;

/** Prints each part as it is done, where the answer is not JSON. */
const progress = (isQuiet: boolean) => {
  const say = (text: string): void => {
    if (!isQuiet) printLine(text);
  };
  return { onStream: (entry: BackupEntry): void => say(line(entry)), onDatabase: say };
};

/** Leaves the time of each copied part for the metrics of metadata. The backup is whole without. */
const noteBackup = async (settings: Settings, copied: readonly string[]): Promise<void> => {
  try {
    const { openKvBucket } = await import('../bus/kv.ts');
    const { noteBackedUp } = await import('../directory/backup-record.ts');
    await withBus(settings, async (bus) => {
      const system = await openKvBucket(bus, buckets.system);
      await noteBackedUp(system, copied, nowSeconds());
    });
  } catch (error) {
    sayLines(`tidemark: the time of the backup was not noted, and its alarm will fire: ${errorText(error)}`);
  }
};

/** NATS alone, or everything, into this folder, which is empty. */
const fill = async (
  settings: Settings,
  target: { name: string; path: string },
  options: BackupOptions,
  signal: AbortSignal,
): Promise<BackedUp> => {
  const { backUpAll, backUpStreams, locateDatabases } = await import('./streams-backup/back-up.ts');
  const watch = { ...progress(options.json === true), signal };
  if (options.streamsOnly) {
    const entries = await backUpStreams(settings, target.path, watch.onStream, undefined, { signal });
    return { entries, copied: ['nats'] };
  }
  const files = locateDatabases(settings, {
    questdbRoots: options.questdbRoot ?? [],
    clickhouseFiles: options.clickhouseFiles,
    clickhouseTo: options.clickhouseTo,
  });
  return backUpAll(settings, target, files, options.releaseCheckpoint === true, watch);
};

/** Fills the folder, or removes what it has got where that fails or is stopped: the same command can be repeated. */
const fillOrDiscard = async (
  settings: Settings,
  folder: { name: string; path: string; discard(): Promise<void> },
  options: BackupOptions,
): Promise<BackedUp> => {
  const { untilStopped } = await import('./streams-backup/stopping.ts');
  return untilStopped(async (signal) => {
    try {
      return await fill(settings, folder, options, signal);
    } catch (error) {
      await folder
        .discard()
        .catch((left: unknown) =>
          sayLines(`tidemark: the incomplete backup could not be removed: ${errorText(left)}`),
        );
      throw error;
    }
  });
};

/** What is in the backup and what is not, for its answer as JSON and in words. */
const contentsOf = async (settings: Settings, { entries, copied }: BackedUp) => {
  const { notCopied } = await import('./streams-backup/back-up.ts');
  const missing = notCopied(settings, { entries, copied });
  const fields: [string, string][] = [['copied', copied.join(', ')]];
  if (missing.length > 0) fields.push(['not copied', missing.join(', ')]);
  return { json: { streams: entries.map(plain), copied, not_copied: missing }, fields };
};

const backUpTo = async (settings: Settings, path: string, options: BackupOptions): Promise<void> => {
  const { createWholeFolder } = await import('./streams-backup/whole-folder.ts');
  const discard = await createWholeFolder(path);
  // What ClickHouse calls its copy must be new in its folder.
  const name = `${basename(path)}-${Date.now()}`;
  const made = await fillOrDiscard(settings, { name, path, discard }, options);
  await noteBackup(settings, made.copied);
  const { json, fields } = await contentsOf(settings, made);
  if (options.json) return printJson({ folder: path, ...json });
  printFields([['written to', path], ...fields]);
};

const backUpInto = async (settings: Settings, into: string, options: BackupOptions): Promise<void> => {
  const { createNamedFolder, keepNewest, removeAbandoned } = await import('./streams-backup/named-folder.ts');
  const { keep } = options;
  // Before the copy, which may need the room.
  const abandoned = keep === undefined ? [] : await removeAbandoned(into, new Date());
  const folder = await createNamedFolder(into, new Date());
  const made = await fillOrDiscard(settings, folder, options);
  const path = await folder.finish();
  await noteBackup(settings, made.copied);
  const kept = keep === undefined ? { removed: [], later: [] } : await keepNewest(into, keep, folder.name);
  for (const name of kept.later)
    sayLines(
      `tidemark: the time of ${join(into, name)} is after this backup, so --keep ignores it; remove it if the clock was ahead`,
    );
  const removed = [...abandoned, ...kept.removed];
  const { json, fields } = await contentsOf(settings, made);
  if (options.json) return printJson({ folder: path, ...json, removed });
  const ofRemoved = removed.map((name): [string, string] => ['removed', name]);
  printFields([['written to', path], ...fields, ...ofRemoved]);
};

const runBackup = async (options: BackupOptions, command: Command): Promise<void> => {
  const { to, into, keep, streamsOnly, questdbRoot, clickhouseTo, clickhouseFiles } = options;
  const databases = [questdbRoot, clickhouseTo, clickhouseFiles, options.releaseCheckpoint];
  if (streamsOnly && databases.some((option) => option !== undefined))
    command.error('error: --streams-only copies no database');
  if (to !== undefined && keep !== undefined) command.error('error: --keep goes with --into <folder>');
  const settings = loadCommandSettings();
  process.umask(ownerOnly);
  if (into !== undefined && to === undefined) return backUpInto(settings, into, options);
  if (to !== undefined && into === undefined) return backUpTo(settings, to, options);
  command.error('error: give one of --to <folder> and --into <folder>');
};

const printRestored = (
  folder: string,
  entries: readonly BackupEntry[],
  { raised, names, undoneSince }: Restored,
  isJson: boolean,
): void => {
  if (isJson)
    return printJson({
      folder,
      streams: entries.map(plain),
      raised: raised ?? {},
      column_names_recovered: names ?? null,
      undone_since: undoneSince,
    });
  printFields([
    ['restored from', folder],
    ...Object.entries(raised ?? {}).map(([name, last]): [string, string] => [`${name} after`, String(last)]),
    ['column names', names === undefined ? 'not checked' : `${names} recovered from QuestDB`],
  ]);
  printLine(
    `What was changed after ${undoneSince} is undone: a token that was revoked or rotated is valid again, and what was disabled, purged or closed is as before. Compare with tidemark audit of the first installation, and with tidemark admin-token list.`,
  );
};

const withoutSums =
  'tidemark: the files of the databases were not compared: this backup, of an earlier version, has no sums of them';

const runCheck = async (folder: string, { json, streamsOnly }: RestoreOptions): Promise<void> => {
  const { checkBackup, checkStreams } = await import('./streams-backup/check.ts');
  const checked = await (streamsOnly ? checkStreams(folder) : checkBackup(folder));
  const { nats_files: nats, database_files: databases } = checked;
  if (databases === null && !streamsOnly) sayLines(withoutSums);
  if (json) return printJson({ folder, ...checked });
  const compared = databases === null ? '' : ` and ${counted(databases, 'file')} of the databases`;
  printFields([['agree with their sums', `${counted(nats, 'file')} of NATS${compared}`]]);
};

const runRestore = async (folder: string, options: RestoreOptions): Promise<void> => {
  const { json, streamsOnly } = options;
  if (options.check) return runCheck(folder, options);
  const { restoreAll, restoreStreams } = await import('./streams-backup/restore-all.ts');
  const settings = loadCommandSettings();
  process.umask(ownerOnly);
  const { onStream, onDatabase } = progress(json === true);
  const entries: BackupEntry[] = [];
  const watch = {
    onDatabase,
    onChecked: (files: number | undefined): void => {
      if (files !== undefined) return onDatabase(`${counted(files, 'file')} of the databases compared`);
      sayLines(withoutSums);
    },
    onStream: (entry: BackupEntry): void => {
      entries.push(entry);
      onStream(entry);
    },
    onColumnsLost: (why: string): void =>
      sayLines(`tidemark: column names were not recovered from QuestDB: ${why}`),
  };
  const restored = await (streamsOnly
    ? restoreStreams(settings, folder, watch)
    : restoreAll(settings, folder, watch));
  printRestored(folder, entries, restored, json === true);
  if (streamsOnly || json) return;
  printLine('Now stop tidemark up --engines-only with Ctrl-C, and start tidemark up.');
};

const countArgument = (text: string): number => {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number from 1 to 9999.');
};

/** `<folder>` of the first instance, or `<name>=<folder>`; the option may be repeated. */
const rootArgument = (text: string, before: [string, string][] = []): [string, string][] => {
  const [, name = defaultInstance, root = ''] = /^(?:([a-z][a-z0-9_-]{0,31})=)?(.+)$/.exec(text) ?? [];
  if (root === '') throw new InvalidArgumentError('It must be a folder, or <name>=<folder>.');
  return [...before, [name, root]];
};

/** `tidemark backup` and `tidemark restore`. */
export const register = (program: Command): void => {
  program
    .command('backup')
    .description(
      'copy streams and records of NATS, then the databases (those of tidemark up, or those that the options name), while all roles run; the copy contains tokens, so only its owner may read it',
    )
    .option('--to <folder>', 'new or empty folder for this one backup')
    .option('--into <folder>', 'folder of backups: each backup gets a subfolder, named by its time')
    .option('--streams-only', 'copy NATS alone: the messages of the streams, and the records')
    .option(
      '--keep <number>',
      'with --into: afterwards keep only this many backups with the same parts',
      countArgument,
    )
    .option(
      '--questdb-root <folder>',
      'copy this root folder of QuestDB under a checkpoint; <name>=<folder> for a further instance',
      rootArgument,
    )
    .option(
      '--clickhouse-to <destination>',
      "BACKUP to this destination, as File('{name}'); {name} is the name of the backup; set a destination with a key as TIDEMARK_CLICKHOUSE_BACKUP_TO",
    )
    .option(
      '--clickhouse-files <folder>',
      "BACKUP into ClickHouse's folder of backups, which is on this machine, and move it from there",
    )
    .option(
      '--release-checkpoint',
      'release what a killed backup left: the checkpoint of QuestDB, and pauses of consumers that are longer than those of a backup',
    )
    .option('--json', 'print {folder, streams} as JSON; with --into also removed')
    .action(runBackup);
  program
    .command('restore')
    .description(
      'restore a backup into an empty installation, whose engines run with tidemark up --engines-only',
    )
    .argument('<folder>', 'folder of one backup')
    .option(
      '--streams-only',
      'restore NATS alone: from a folder of backup --streams-only, or from the folder nats of a full backup; stop every role first',
    )
    .option(
      '--check',
      'compare the files of the backup with their sums, and restore nothing; needs no engine',
    )
    .option(
      '--json',
      'print {folder, streams, raised, column_names_recovered, undone_since} as JSON; with --check {folder, nats_files, database_files}',
    )
    .action(runRestore);
};
