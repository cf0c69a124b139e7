import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, open, readdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { SnapshotHead } from '../../bus/stream-snapshot.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { isNotPermitted, unwritable } from '../../runtime/files.ts';
import { sumOf } from './file-list.ts';

// What a later version adds is left aside; what changes the meaning gets another `version`.
const stateSchema = z.object({
  messages: z.int(),
  bytes: z.int(),
  firstSequence: z.int(),
  lastSequence: z.int(),
  removed: z.int(),
});

const entrySchema = z.object({
  stream: z.string(),
  /** The server's own configuration of it. */
  config: z.record(z.string(), z.unknown()),
  state: stateSchema,
  file: z.string().regex(/^[A-Za-z0-9_-]+\.snapshot$/),
  file_bytes: z.int(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const manifestSchema = z.object({
  format: z.literal('tidemark-streams'),
  version: z.literal(1),
  /** RFC 3339. Requests that were answered 2xx after the start may be missing. */
  started_at: z.iso.datetime(),
  finished_at: z.iso.datetime(),
  streams: z.array(entrySchema).min(1),
});

/** One stream of a backup, and the file of its snapshot. */
export type BackupEntry = z.output<typeof entrySchema>;

/** The contents of a backup, in the order of their copies. */
export type Manifest = z.output<typeof manifestSchema>;

/** The file that makes a folder a backup: it is written last. */
export const fileName = 'backup.json';

/** A folder for one backup. Everything in it is readable for its owner alone: the records hold tokens. */
export type BackupFolder = {
  /** Writes the snapshot that `take` delivers piece by piece, and returns once it is on disk; a repeat replaces it. */
  write(
    stream: string,
    take: (onPiece: (piece: Uint8Array) => Promise<void>) => Promise<SnapshotHead>,
  ): Promise<BackupEntry>;
  /** Makes the backup whole: without it `readManifest` refuses the folder. */
  finish(manifest: Omit<Manifest, 'format' | 'version'>): Promise<void>;
};

/**
 * Only its owner may read it from then on. A folder of another owner stays as it is, as the volume of a pod: what a backup
 * makes in it is closed by the umask.
 */
export const closeToOthers = async (folder: string): Promise<void> => {
  await chmod(folder, 0o700).catch((error: unknown) => {
    if (!isNotPermitted(error)) throw error;
  });
};

/** Makes the folder, or takes an empty one. Permanent Faults `folder_not_empty` and `file_unwritable`. */
export const createBackupFolder = async (folder: string): Promise<BackupFolder> => {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if ((await readdir(folder)).length > 0)
      throw new Fault(
        'permanent',
        'folder_not_empty',
        `${folder} is not empty: use a new folder for each backup`,
      );
    await closeToOthers(folder);
  } catch (error) {
    throw error instanceof Fault ? error : unwritable(folder, error);
  }
  const create = async (
    name: string,
    fill: (write: (piece: Uint8Array) => Promise<void>) => Promise<void>,
  ) => {
    const handle = await open(join(folder, name), 'w', 0o600).catch((error: unknown) => {
      throw unwritable(folder, error);
    });
    try {
      await fill(async (piece) => {
        await handle.writeFile(piece).catch((error: unknown) => {
          throw unwritable(folder, error);
        });
      });
      await handle.sync();
    } finally {
      await handle.close();
    }
  };
  return {
    write: async (stream, take) => {
      const file = `${stream}.snapshot`;
      const hash = createHash('sha256');
      let bytes = 0;
      let head: SnapshotHead | undefined;
      await create(file, async (write) => {
        head = await take(async (piece) => {
          hash.update(piece);
          bytes += piece.length;
          await write(piece);
        });
      });
      if (head === undefined)
        throw new Fault('internal', 'snapshot_without_head', `the snapshot of ${stream} has no header`);
      return { stream, ...head, file, file_bytes: bytes, sha256: hash.digest('hex') };
    },
    finish: async (manifest) => {
      const text = JSON.stringify({ format: 'tidemark-streams', version: 1, ...manifest }, null, 2);
      const draft = `${fileName}.draft`;
      await create(draft, (write) => write(Buffer.from(`${text}\n`)));
      await rename(join(folder, draft), join(folder, fileName));
    },
  };
};

const unusable = (folder: string, why: string): Fault =>
  new Fault('permanent', 'backup_unusable', `${folder} is not a complete backup: ${why}`);

/** The bytes of one snapshot, piece by piece, each small enough for a message. */
export const piecesOf = (folder: string, { file }: BackupEntry): AsyncIterable<Uint8Array> =>
  createReadStream(join(folder, file), { highWaterMark: 256 * 1024 });

/** The JSON of a backup's file. Throws what `unusable` makes of the reason. */
export const readDocument = async (
  file: string,
  unusable: (why: string) => Fault,
): Promise<{ text: string; content: unknown }> => {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unusable(`${fileName} cannot be read (${errorText(error)}); a backup writes it last`);
  });
  try {
    return { text, content: JSON.parse(text) };
  } catch {
    throw unusable(`${fileName} is not JSON`);
  }
};

const checkFile = async (folder: string, entry: BackupEntry): Promise<void> => {
  const path = join(folder, entry.file);
  let isSame: boolean;
  try {
    isSame = (await stat(path)).size === entry.file_bytes && (await sumOf(path)).sha256 === entry.sha256;
  } catch (error) {
    throw unusable(folder, `${entry.file} cannot be read (${errorText(error)})`);
  }
  if (!isSame) throw unusable(folder, `${entry.file} was changed after the backup`);
};

/**
 * The contents of a folder, after a comparison of each file with its checksum. Permanent Fault `backup_unusable` for an
 * unfinished or damaged backup, and for any other folder.
 */
export const readManifest = async (folder: string): Promise<Manifest> => {
  const { content } = await readDocument(join(folder, fileName), (why) => unusable(folder, why));
  const read = manifestSchema.safeParse(content);
  if (!read.success) throw unusable(folder, z.prettifyError(read.error).slice(0, 400));
  for (const entry of read.data.streams) await checkFile(folder, entry);
  return read.data;
};
