import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { findKvBucket } from '../bus/kv.ts';
import { lookAtQueue } from '../bus/orphaned-messages.ts';
import { loadPipelines } from '../config/pipelines.ts';
import type { Settings } from '../config/settings.ts';
import { buckets, identityKeySchema, recordKeys } from '../directory/keys.ts';
import { errorText, Fault } from '../model/fault.ts';
import { linesWrittenMs } from '../outcomes/publishers-feed.ts';
import { unwritable } from '../runtime/files.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { readTime } from '../stores/clickhouse/time.ts';
import type { JsonOption } from './options.ts';
import { printFields, printJson, sayLines } from './output.ts';
import { loadCommandSettings } from './running-stack.ts';
import { fileName } from './streams-backup/folder.ts';
import {
  type BackupTimes,
  readTimes,
  readWholeFolder,
  timesName,
  type WholeBackup,
} from './streams-backup/whole-folder.ts';
import { withBus, withClickhouse } from './with-engines.ts';

/** The tables of the publishers' book, and what names a line in each. */
const tables = {
  ingest_published: 'stream, life, minute, data_id, app_id',
  ingest_doubtful: 'stream, life, serial, data_id, app_id',
} as const;
type Table = keyof typeof tables;

const headSchema = z.strictObject({
  format: z.literal('tidemark-book'),
  version: z.literal(1),
  /** RFC 3339, by the clock of ClickHouse: when the first of these lines may have been written. */
  since: z.iso.datetime(),
  /** `installationOf` the first installation. Earlier versions wrote none. */
  installation: z.string().optional(),
});

const row = z.record(z.string(), z.unknown());
const lineSchema = z.strictObject({ table: z.enum(['ingest_published', 'ingest_doubtful']), row });

const queryTimeoutMs = 300_000;
const rowsPerInsert = 10_000;
const recordedMsMax = 60_000;
const pollMs = 250;

/**
 * What an installation shares with its copies, and with no other: a digest of the key of its requests' identities. undefined where it
 * has no such key.
 */
const installationOf = (settings: Settings): Promise<string | undefined> =>
  withBus(settings, async (bus) => {
    const records = await findKvBucket(bus, buckets.records);
    const read = identityKeySchema.safeParse((await records.get(recordKeys.identityKey))?.value);
    if (!read.success) return undefined;
    return createHash('sha256').update(`installation ${read.data.key}`).digest('hex').slice(0, 16);
  });

/** Waits until every line of before this call is in ClickHouse. Transient Fault `ledger_behind`. */
const untilRecorded = async (settings: Settings): Promise<void> => {
  const { ledger } = loadPipelines(settings.pipelinesFolder);
  const { stream, name } = ledger.consumer;
  await delay(linesWrittenMs);
  await withBus(settings, async (bus) => {
    const { lastSequence } = await lookAtQueue(bus, stream, name);
    const deadline = performance.now() + recordedMsMax;
    while ((await lookAtQueue(bus, stream, name)).ackFloor < lastSequence) {
      if (performance.now() > deadline)
        throw new Fault(
          'transient',
          'ledger_behind',
          `${stream} is not written to ClickHouse in time: transfer has to run`,
        );
      await delay(pollMs);
    }
  });
};

/** A backup of an earlier version has the clock of its machine alone, which may have been ahead by as much. */
const doubtMs = 48 * 3_600_000;
/** Replicas of ClickHouse write the times of rows by their own clocks. */
const replicasMs = 300_000;

/**
 * From when on lines may be missing in a backup, by the clock of ClickHouse. Lines that it has do not matter: one that is added again
 * replaces itself. Permanent Fault `clock_ahead` where the backup is of ClickHouse's future: no line would be found.
 */
export const linesSince = (backup: Pick<WholeBackup, 'started_at'> & BackupTimes, now: Date): Date => {
  const { started_at: byMachine, clickhouse_started_at: byClickhouse } = backup;
  const startedAt = Date.parse(byClickhouse ?? byMachine);
  if (startedAt > now.getTime() + replicasMs)
    throw new Fault(
      'permanent',
      'clock_ahead',
      `the backup began at ${byClickhouse ?? byMachine}, which is after the time of ClickHouse, ${now.toISOString()}: set that time in its ${byClickhouse === undefined ? fileName : timesName} to one before the backup, and repeat`,
    );
  return new Date(startedAt - (byClickhouse === undefined ? doubtMs : replicasMs));
};

const linesOf = async (clickhouse: Clickhouse, table: Table, since: Date): Promise<string[]> => {
  const order = table === 'ingest_published' ? 'version' : 'at';
  const rows = await clickhouse.rows(
    row,
    `SELECT * EXCEPT (at) FROM ${database}.${table} WHERE at >= toDateTime({since:UInt32})
     ORDER BY ${order} DESC LIMIT 1 BY ${tables[table]}`,
    { params: { since: Math.floor(since.getTime() / 1000) }, timeoutMs: queryTimeoutMs },
  );
  return rows.map((each) => JSON.stringify({ table, row: each }));
};

export type ExportBookOptions = JsonOption & { backup: string; output: string };

/** `tidemark account export-book`: on the installation that a backup was made of. */
export const exportBook = async ({ backup, output, json }: ExportBookOptions): Promise<void> => {
  const settings = loadCommandSettings();
  const copied = { ...(await readWholeFolder(backup)), ...(await readTimes(backup)) };
  const begin = await withClickhouse(settings, async (clickhouse) =>
    linesSince(copied, await readTime(clickhouse)),
  );
  const installation = await installationOf(settings);
  await untilRecorded(settings);
  const lines = await withClickhouse(settings, async (clickhouse) => [
    ...(await linesOf(clickhouse, 'ingest_published', begin)),
    ...(await linesOf(clickhouse, 'ingest_doubtful', begin)),
  ]);
  const since = begin.toISOString();
  const head = JSON.stringify({ format: 'tidemark-book', version: 1, since, installation });
  await writeFile(output, `${[head, ...lines].join('\n')}\n`, { mode: 0o600 }).catch((error: unknown) => {
    throw unwritable(output, error);
  });
  if (json) return printJson({ output, since, lines: lines.length });
  printFields([
    ['written to', output],
    ['lines', lines.length],
    ['since', since],
  ]);
};

const unreadable = (file: string, why: string): Fault =>
  new Fault('permanent', 'file_unreadable', `${file} is not a file of tidemark account export-book: ${why}`);

const noKey = `this installation has no key ${recordKeys.identityKey} that can be read`;

type Book = { readonly installation: string | undefined; readonly lines: z.output<typeof lineSchema>[] };

const readBook = async (file: string): Promise<Book> => {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unreadable(file, errorText(error));
  });
  try {
    const [head = '', ...lines] = text.split('\n').filter(Boolean);
    const { installation } = headSchema.parse(JSON.parse(head));
    return { installation, lines: lines.map((line) => lineSchema.parse(JSON.parse(line))) };
  } catch (error) {
    throw unreadable(file, errorText(error).slice(0, 200));
  }
};

/**
 * Permanent Fault `book_of_another` where nothing that the book says was received can be here: each item would stand as lost. The
 * result is what there is to say where that cannot be judged.
 */
export const judgeOrigin = (
  file: string,
  ofBook: string | undefined,
  own: string | undefined,
): string | undefined => {
  if (ofBook === undefined || own === undefined) {
    const what = ofBook === undefined ? `${file} does not name its installation` : noKey;
    return `${what}: it could not be checked that the book is of the installation that was copied`;
  }
  if (own === ofBook) return undefined;
  throw new Fault(
    'permanent',
    'book_of_another',
    `${file} is the book of another installation, of which this one is no copy: nothing was added`,
  );
};

/** `tidemark account import-book`: on the installation that the backup was restored into. A repeat changes nothing. */
export const importBook = async (file: string, { json }: JsonOption): Promise<void> => {
  const settings = loadCommandSettings();
  const book = await readBook(file);
  const own = book.installation === undefined ? undefined : await installationOf(settings);
  const unchecked = judgeOrigin(file, book.installation, own);
  if (unchecked !== undefined) sayLines(unchecked);
  const { lines } = book;
  await withClickhouse(settings, async (clickhouse) => {
    for (const table of ['ingest_published', 'ingest_doubtful'] as const) {
      const rows = lines.filter((line) => line.table === table).map((line) => JSON.stringify(line.row));
      for (let at = 0; at < rows.length; at += rowsPerInsert) {
        const body = Buffer.from(`${rows.slice(at, at + rowsPerInsert).join('\n')}\n`);
        await clickhouse.insert(`INSERT INTO ${database}.${table} FORMAT JSONEachRow`, [body], {
          timeoutMs: queryTimeoutMs,
        });
      }
    }
  });
  if (json) return printJson({ lines: lines.length });
  printFields([['lines', lines.length]]);
};
