import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Bus } from '../bus/connection.ts';
import { withInstances } from '../config/instance-streams.ts';
import { loadPipelines } from '../config/pipelines.ts';
import { engineUrls, loadSettings, natsTarget, questdbInstances, type Settings } from '../config/settings.ts';
import { buckets, systemKeys } from '../directory/keys.ts';
import { counted } from '../model/counted.ts';
import { errorText, Fault } from '../model/fault.ts';
import { defaultInstance } from '../model/instances.ts';
import { nowSeconds } from '../model/time.ts';
import type { JsonOption } from './options.ts';
import { printFields, printJson, printLine, sayLines } from './output.ts';
import type { BackupEntry } from './streams-backup/folder.ts';
import type { NamedFolder } from './streams-backup/named-folder.ts';

type BackupOptions = JsonOption & {
  to?: string;
  into?: string;
  keep?: number;
  questdbRoot?: [name: string, root: string][];
  clickhouseTo?: string;
  clickhouseFiles?: string;
  releaseCheckpoint?: true;
};
type RestoreOptions = JsonOption & { from: string };

const withBus = async <T>(settings: Settings, work: (bus: Bus) => Promise<T>): Promise<T> => {
  // Loaded here: most commands go through the admin API and need no NATS.
  const { connectBus } = await import('../bus/connection.ts');
  const bus = await connectBus(natsTarget(settings), 'tidemark-backup');
  try {
    return await work(bus);
  } finally {
    await bus.close();
  }
};

const plain = ({ stream, state: { messages, bytes }, file_bytes }: BackupEntry) => ({
  stream,
  messages,
  bytes,
  file_bytes,
});

const line = ({ stream, state }: BackupEntry): string =>
  `${stream.padEnd(22)}  ${counted(state.messages, 'message')}`;

/** Leaves the time of the backup for the metrics of metadata. The backup is whole without. */
const noteBackup = async (settings: Settings): Promise<void> => {
  try {
    const { openKvBucket } = await import('../bus/kv.ts');
    await withBus(settings, async (bus) => {
      const system = await openKvBucket(bus, buckets.system);
      await system.put(systemKeys.backup, { finished_at: nowSeconds() });
    });
  } catch (error) {
    sayLines(`tidemark: the time of the backup was not noted, and its alarm will fire: ${errorText(error)}`);
  }
};

/** The streams and the records, into a new or empty folder. */
const backUpStreams = async (
  settings: Settings,
  folder: string,
  isQuiet: boolean,
): Promise<BackupEntry[]> => {
  const pipelines = withInstances(
    loadPipelines(settings.pipelinesFolder),
    questdbInstances(settings).map(({ name }) => name),
  );
  const { takeBackup } = await import('./streams-backup/take.ts');
  return withBus(settings, (bus) =>
    takeBackup(bus, pipelines, folder, (entry) => {
      if (!isQuiet) printLine(line(entry));
    }),
  );
};

const backUpQuestdb = async (
  settings: Settings,
  folder: string,
  [name, root]: [string, string],
  isLeftoverReleased: boolean,
): Promise<void> => {
  const instance = questdbInstances(settings).find((each) => each.name === name);
  if (instance === undefined)
    throw new Fault('permanent', 'config_invalid', `no setting has a QuestDB instance ${name}`);
  const { createQuestdbSql } = await import('../stores/questdb/sql.ts');
  const { copyQuestdb } = await import('./streams-backup/stores.ts');
  const sql = createQuestdbSql({ url: instance.url });
  const to = join(folder, name === defaultInstance ? 'questdb' : `questdb-${name}`);
  try {
    await copyQuestdb({ sql, name, root, to, isLeftoverReleased });
  } finally {
    await sql.close();
  }
};

const backUpSpans = async (
  settings: Settings,
  folder: NamedFolder,
  { clickhouseTo, clickhouseFiles }: BackupOptions,
): Promise<void> => {
  const { createClickhouse } = await import('../stores/clickhouse/client.ts');
  const { backUpClickhouse, moveClickhouse } = await import('./streams-backup/stores.ts');
  const clickhouse = createClickhouse({ url: engineUrls(settings).clickhouse });
  const copy = { clickhouse, cluster: settings.clickhouse.cluster, name: folder.name };
  try {
    if (clickhouseTo !== undefined)
      await backUpClickhouse({ ...copy, destination: clickhouseTo.replaceAll('{name}', folder.name) });
    if (clickhouseFiles !== undefined)
      await moveClickhouse(copy, { files: clickhouseFiles, to: join(folder.path, 'clickhouse') });
  } finally {
    await clickhouse.close();
  }
};

/** NATS first: what leaves its streams during the copy is then in a later copy of the databases. */
const backUpAll = async (settings: Settings, into: string, options: BackupOptions): Promise<void> => {
  const { createNamedFolder, keepNewest } = await import('./streams-backup/named-folder.ts');
  const isQuiet = options.json === true;
  const say = (text: string): void => {
    if (!isQuiet) printLine(text);
  };
  const folder = await createNamedFolder(into, new Date());
  const entries = await backUpStreams(settings, join(folder.path, 'nats'), isQuiet);
  for (const root of options.questdbRoot ?? []) {
    await backUpQuestdb(settings, folder.path, root, options.releaseCheckpoint === true);
    say(`QuestDB ${root[0]}`);
  }
  if ((options.clickhouseTo ?? options.clickhouseFiles) !== undefined) {
    await backUpSpans(settings, folder, options);
    say('ClickHouse');
  }
  const path = await folder.finish();
  await noteBackup(settings);
  const removed = options.keep === undefined ? [] : await keepNewest(into, options.keep, new Date());
  if (isQuiet) return printJson({ folder: path, streams: entries.map(plain), removed });
  printFields([['written to', path], ...removed.map((name): [string, string] => ['removed', name])]);
};

const runBackup = async (options: BackupOptions, command: Command): Promise<void> => {
  const { to, into, json, keep, questdbRoot, clickhouseTo, clickhouseFiles } = options;
  const settings = loadSettings();
  if ((to === undefined) === (into === undefined))
    command.error('error: give one of --to <folder> and --into <folder>');
  if (into !== undefined) return backUpAll(settings, into, options);
  if ([keep, questdbRoot, clickhouseTo, clickhouseFiles].some((option) => option !== undefined))
    command.error('error: the databases and --keep go with --into <folder>');
  const folder = to ?? '';
  const entries = await backUpStreams(settings, folder, json === true);
  await noteBackup(settings);
  if (json) return printJson({ folder, streams: entries.map(plain) });
  printFields([['written to', folder]]);
};

const runRestore = async ({ from, json }: RestoreOptions): Promise<void> => {
  const { putBack } = await import('./streams-backup/put-back.ts');
  const entries: BackupEntry[] = [];
  const { recoverColumns } = await import('./streams-backup/recover-columns.ts');
  const settings = loadSettings();
  let names: number | undefined;
  const onStream = (entry: BackupEntry): void => {
    entries.push(entry);
    if (json === undefined) printLine(line(entry));
  };
  const raised = await withBus(settings, (bus) =>
    putBack(bus, from, onStream, async () => {
      try {
        names = await recoverColumns(bus, questdbInstances(settings));
      } catch (error) {
        // The restore is whole without: names are registered again with their next point.
        sayLines(`tidemark: column names were not recovered from QuestDB: ${errorText(error)}`);
      }
    }),
  );
  const column_names_recovered = names ?? null;
  if (json)
    return printJson({
      folder: from,
      streams: entries.map(plain),
      raised: raised ?? {},
      column_names_recovered,
    });
  printFields([
    ['restored from', from],
    ...Object.entries(raised ?? {}).map(([name, last]): [string, string] => [`${name} after`, String(last)]),
    ['column names', names === undefined ? 'not checked' : `${names} recovered from QuestDB`],
  ]);
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
export const registerStreamsBackup = (program: Command): void => {
  program
    .command('backup')
    .description(
      'copy all streams and all records from NATS while all roles run, and with --into the databases after them; the copy has tokens: only its owner may read it',
    )
    .option('--to <folder>', 'new or empty folder for the copy of NATS alone')
    .option('--into <folder>', 'folder of backups: each gets a folder of its own in it, named by its time')
    .option('--keep <number>', 'with --into: remove all but this many backups afterwards', countArgument)
    .option(
      '--questdb-root <folder>',
      'with --into: copy this root folder of QuestDB under a checkpoint; <name>=<folder> for a further instance',
      rootArgument,
    )
    .option(
      '--clickhouse-to <destination>',
      "with --into: BACKUP to this destination, as S3('https://…/{name}', …); {name} is the name of the backup",
    )
    .option(
      '--clickhouse-files <folder>',
      'with --into: BACKUP into the folder of backups of ClickHouse, which is here, and move it from there',
    )
    .option('--release-checkpoint', 'release the checkpoint of QuestDB that a killed backup left')
    .option('--json', 'print {folder, streams} as JSON; with --into also removed')
    .action(runBackup);
  program
    .command('restore')
    .description('restore a backup into a NATS with an empty store; stop every role first')
    .requiredOption('--from <folder>', 'folder of tidemark backup --to, or nats in one of --into')
    .option('--json', 'print {folder, streams, raised, column_names_recovered} as JSON')
    .action(runRestore);
};
