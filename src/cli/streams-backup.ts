import type { Command } from 'commander';
import type { Bus } from '../bus/connection.ts';
import { withInstances } from '../config/instance-streams.ts';
import { loadPipelines } from '../config/pipelines.ts';
import { loadSettings, natsTarget, questdbInstances, type Settings } from '../config/settings.ts';
import { buckets, systemKeys } from '../directory/keys.ts';
import { errorText } from '../model/fault.ts';
import { nowSeconds } from '../model/time.ts';
import type { JsonOption } from './options.ts';
import { printFields, printJson, printLine, sayLines } from './output.ts';
import type { BackupEntry } from './streams-backup/folder.ts';

type Options = JsonOption & { to: string; from: string };

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

const line = ({ stream, state }: BackupEntry): string => `${stream.padEnd(22)}  ${state.messages} messages`;

/** Leaves the time of the backup for the metrics of metadata. The backup is whole without. */
const noteBackup = async (bus: Bus): Promise<void> => {
  try {
    const { openKvBucket } = await import('../bus/kv.ts');
    const system = await openKvBucket(bus, buckets.system);
    await system.put(systemKeys.backup, { finished_at: nowSeconds() });
  } catch (error) {
    sayLines(`tidemark: the time of the backup was not noted, and its alarm will fire: ${errorText(error)}`);
  }
};

const runBackup = async ({ to, json }: Options): Promise<void> => {
  const settings = loadSettings();
  const pipelines = withInstances(
    loadPipelines(settings.pipelinesFolder),
    questdbInstances(settings).map(({ name }) => name),
  );
  const { takeBackup } = await import('./streams-backup/take.ts');
  const entries = await withBus(settings, async (bus) => {
    const taken = await takeBackup(bus, pipelines, to, (entry) => {
      if (json === undefined) printLine(line(entry));
    });
    await noteBackup(bus);
    return taken;
  });
  if (json) return printJson({ folder: to, streams: entries.map(plain) });
  printFields([['written to', to]]);
};

const runRestore = async ({ from, json }: Options): Promise<void> => {
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

/** `tidemark backup` and `tidemark restore`. */
export const registerStreamsBackup = (program: Command): void => {
  program
    .command('backup')
    .description(
      'copy all streams and all records from NATS while all roles run; the copy has tokens: only its owner may read it',
    )
    .requiredOption('--to <folder>', 'new or empty folder for this backup')
    .option('--json', 'print {folder, streams} as JSON')
    .action(runBackup);
  program
    .command('restore')
    .description('restore a backup into a NATS with an empty store; stop every role first')
    .requiredOption('--from <folder>', 'folder of tidemark backup')
    .option('--json', 'print {folder, streams, raised, column_names_recovered} as JSON')
    .action(runRestore);
};
