import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Bus } from '../../bus/connection.ts';
import { engineUrls, questdbInstances, type Settings } from '../../config/settings.ts';
import { isLocked } from '../../embedded/lock.ts';
import {
  arrivingQuestdb,
  endRestoring,
  forgetRestoreFailure,
  isEnginesOnly,
  isStarting,
  noteRestoring,
  readRestoreFailure,
  readRestoring,
  restoredQuestdb,
} from '../../embedded/restoring.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { exists } from '../../runtime/files.ts';
import { type Clickhouse, createClickhouse, database } from '../../stores/clickhouse/client.ts';
import { createQuestdbSql, type QuestdbSql } from '../../stores/questdb/sql.ts';
import { withBus } from '../with-engines.ts';
import { clickhouseBackups } from './back-up.ts';
import type { BackupEntry } from './folder.ts';
import { type PutBack, putBack, streamsInTheWay } from './put-back.ts';
import { recoverColumns } from './recover-columns.ts';
import { copyFolder, putBackClickhouse } from './stores.ts';
import { checkDatabaseFiles, copyAdminToken, readWholeFolder, requireNoLinks } from './whole-folder.ts';

const questdbTimeoutMs = 600_000;
const pollMs = 250;

export type RestoreWatch = {
  readonly onStream: (entry: BackupEntry) => void;
  readonly onDatabase: (name: string) => void;
  /** How many files of the databases were compared with their sums; undefined where the backup has none. */
  readonly onChecked: (files: number | undefined) => void;
  /** The restore is whole without: names are registered again with their next point. */
  readonly onColumnsLost: (why: string) => void;
};

/** What a restore raised and undid, and how many column names it recovered from QuestDB; undefined where QuestDB did not answer. */
export type Restored = PutBack & { readonly names: number | undefined };

/** The streams and the records into a NATS without them; column names come from the tables of QuestDB. Faults of `putBack`. */
export const restoreStreams = async (
  settings: Settings,
  folder: string,
  { onStream, onColumnsLost }: Pick<RestoreWatch, 'onStream' | 'onColumnsLost'>,
): Promise<Restored> => {
  let names: number | undefined;
  const recover = async (bus: Bus): Promise<void> => {
    try {
      names = await recoverColumns(bus, questdbInstances(settings), onColumnsLost);
    } catch (error) {
      onColumnsLost(errorText(error));
    }
  };
  const done = await withBus(settings, (bus) => putBack(bus, folder, onStream, () => recover(bus)));
  return { ...done, names };
};

const requireEnginesAlone = (
  { dataFolder, nats, questdb, clickhouse }: Settings,
  parts: readonly string[],
) => {
  const refuse = (code: string, message: string): Fault => new Fault('permanent', code, message);
  const byHand = 'see docs/operations.md, Restore engines of your own';
  const external = Object.entries({ NATS: nats.url, QuestDB: questdb.url, ClickHouse: clickhouse.url })
    .filter(([, url]) => url !== undefined)
    .map(([name]) => name);
  if (external.length > 0)
    throw refuse(
      'engines_not_own',
      `a setting names an address of ${external.join(', ')}, but restore fills the engines of tidemark up: ${byHand}`,
    );
  const further = parts.find((part) => part.startsWith('questdb-'));
  if (further !== undefined)
    throw refuse('engines_not_own', `the backup has ${further}, and tidemark up runs one QuestDB: ${byHand}`);
  const absent = ['questdb', 'clickhouse'].filter((part) => !parts.includes(part));
  if (absent.length > 0)
    throw refuse('engines_not_own', `the backup has no folder ${absent.join(' and ')}: ${byHand}`);
  if (!isLocked(dataFolder))
    throw refuse(
      'engines_not_running',
      `no engines run on ${dataFolder}: start tidemark up --engines-only in another terminal, with the same TIDEMARK_DATA`,
    );
  if (isStarting(dataFolder))
    throw new Fault(
      'transient',
      'engines_not_running',
      `tidemark up is starting on ${dataFolder}: repeat once it has printed its addresses`,
    );
  if (!isEnginesOnly(dataFolder))
    throw refuse(
      'roles_running',
      `tidemark up runs on ${dataFolder} with its roles: stop it, and start tidemark up --engines-only`,
    );
};

const tablesOf = async (sql: QuestdbSql): Promise<number> =>
  Number((await sql.exec('SELECT count() FROM tables()')).dataset[0]?.[0] ?? 0);

const isAnswering = (sql: QuestdbSql): Promise<boolean> =>
  tablesOf(sql).then(
    () => true,
    () => false,
  );

const countRow = z.object({ count: z.coerce.number() });

/** Permanent Fault `restore_not_empty`, with everything that is there. */
const requireEmpty = async (
  { dataFolder }: Settings,
  bus: Bus,
  sql: QuestdbSql,
  clickhouse: Clickhouse,
  nats: string,
): Promise<void> => {
  const there: string[] = [];
  const streams = await streamsInTheWay(bus, nats);
  if (streams.length > 0) there.push(`NATS has ${streams.join(', ')}`);
  const tables = await tablesOf(sql);
  if (tables > 0) there.push(`QuestDB has ${tables} tables`);
  const [row] = await clickhouse.rows(
    countRow,
    `SELECT count() AS count FROM system.tables WHERE database = '${database}'`,
  );
  if ((row?.count ?? 0) > 0) there.push(`ClickHouse has database ${database}`);
  if (there.length === 0) return;
  throw new Fault(
    'permanent',
    'restore_not_empty',
    `${dataFolder} has data (${there.join('; ')}): restore into a new folder, with TIDEMARK_DATA=<folder> tidemark up --engines-only`,
  );
};

/** `tidemark up --engines-only` puts the folder into its place and starts QuestDB on it, which removes the file `_restore`. */
const restoreQuestdb = async (dataFolder: string, from: string, sql: QuestdbSql): Promise<void> => {
  const arriving = arrivingQuestdb(dataFolder);
  await rm(arriving, { recursive: true, force: true });
  await copyFolder(from, arriving);
  await writeFile(join(arriving, '_restore'), '');
  await forgetRestoreFailure(dataFolder);
  await rename(arriving, restoredQuestdb(dataFolder));
  const deadline = performance.now() + questdbTimeoutMs;
  for (;;) {
    const isTaken = !(await exists(restoredQuestdb(dataFolder)));
    const isRecovered = isTaken && !(await exists(join(dataFolder, 'questdb', '_restore')));
    if (isRecovered && (await isAnswering(sql))) {
      // Last, because it is noted before QuestDB runs on another folder, and it is that one which may have answered.
      const failure = await readRestoreFailure(dataFolder);
      if (failure === undefined) return;
      throw new Fault(
        'permanent',
        'questdb_not_back',
        `QuestDB does not start on its files of this backup, and runs on an empty folder again, for a repeat or another backup: ${failure}`,
      );
    }
    if (!isLocked(dataFolder))
      throw new Fault(
        'transient',
        'engines_not_running',
        'tidemark up --engines-only ended: start it, and repeat',
      );
    if (performance.now() > deadline)
      throw new Fault(
        'transient',
        'questdb_not_back',
        `QuestDB did not start on the restored folder within ${questdbTimeoutMs / 60_000} minutes: see the output of tidemark up --engines-only`,
      );
    await delay(pollMs);
  }
};

/**
 * Puts everything of a backup into the engines of `tidemark up --engines-only` on this data folder, which hold nothing. After an
 * interruption the same call completes it; until then `tidemark up` refuses the folder. Permanent Faults `backup_unusable`,
 * `engines_not_own`, `engines_not_running`, `roles_running`, `restore_not_empty` (nothing was changed then), `questdb_not_back`, those
 * of the engines and of `putBack`.
 */
export const restoreAll = async (
  settings: Settings,
  folder: string,
  watch: RestoreWatch,
): Promise<Restored> => {
  const { dataFolder } = settings;
  const { id, ...backup } = await readWholeFolder(folder);
  const { parts } = backup;
  if (parts.includes('questdb')) await requireNoLinks(folder, 'questdb');
  requireEnginesAlone(settings, parts);
  const urls = engineUrls(settings);
  const sql = createQuestdbSql({ url: urls.questdb });
  const clickhouse = createClickhouse({ url: urls.clickhouse });
  const nats = join(folder, 'nats');
  try {
    if (readRestoring(dataFolder)?.id !== id)
      await withBus(settings, (bus) => requireEmpty(settings, bus, sql, clickhouse, nats));
    watch.onChecked(await checkDatabaseFiles(folder, backup));
    noteRestoring(dataFolder, { id, folder });
    await restoreQuestdb(dataFolder, join(folder, 'questdb'), sql);
    watch.onDatabase('QuestDB');
    const copy = { clickhouse, files: clickhouseBackups(dataFolder), from: join(folder, 'clickhouse') };
    await putBackClickhouse({ ...copy, name: `restore-${id.slice(0, 16)}` });
    watch.onDatabase('ClickHouse');
    await copyAdminToken(folder, dataFolder);
    const restored = await restoreStreams(settings, nats, watch);
    endRestoring(dataFolder);
    return restored;
  } finally {
    await Promise.all([sql.close(), clickhouse.close()]);
  }
};
