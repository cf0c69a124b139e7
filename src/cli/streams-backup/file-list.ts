import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { counted } from '../../model/counted.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { isMissing, unwritable } from '../../runtime/files.ts';
import { checkStopped } from './stopping.ts';

/** Beside `backup.json`: a line for each file of the copies of the databases, with its SHA-256, its bytes and its path. */
export const fileListName = 'files.txt';

/** The list itself. */
export type FileList = { readonly count: number; readonly sha256: string };

type Sum = { readonly bytes: number; readonly sha256: string };
type Line = Sum & { readonly path: string };

const pieceBytes = 1024 * 1024;
/** Files that are read at the same time. */
const atOnce = 4;
/** A write for each line would take longer than the sums of small files. */
const linesOfWrite = 1_000;
const shownMax = 5;

/** The sum of a file, read through `buffer`. */
export const sumOf = async (path: string, buffer: Buffer = Buffer.allocUnsafe(pieceBytes)): Promise<Sum> => {
  const handle = await open(path);
  try {
    const hash = createHash('sha256');
    for (let bytes = 0; ; ) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length);
      if (bytesRead === 0) return { bytes, sha256: hash.digest('hex') };
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await handle.close();
  }
};

/** The results in the order of the items, a few of which are under way at once, each with a buffer of its own. */
async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  work: (item: Item, buffer: Buffer) => Promise<Result>,
): AsyncGenerator<Result> {
  const buffers = Array.from({ length: atOnce }, () => Buffer.allocUnsafe(pieceBytes));
  const running: Promise<Result>[] = [];
  let begun = 0;
  for await (const item of items) {
    const buffer = buffers[begun++ % atOnce] ?? Buffer.allocUnsafe(pieceBytes);
    const result = work(item, buffer);
    // It is awaited later; until then its failure is not unhandled.
    result.catch(() => undefined);
    running.push(result);
    const oldest = running.length === atOnce ? running.shift() : undefined;
    if (oldest !== undefined) yield await oldest;
  }
  for (const result of running) yield await result;
}

/** A folder's files stand where the folder would: no name has U+0000. */
const placeOf = (path: string): string => path.replaceAll('/', '\0');

/** The files below a folder in the order of their places, with paths from `root` on; none of a folder that is not there. */
async function* filesBelow(root: string, folder: string): AsyncGenerator<string> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(root, path);
    else yield path;
  }
}

async function* filesOf(folder: string, parts: readonly string[]): AsyncGenerator<string> {
  for (const part of parts.toSorted()) yield* filesBelow(folder, part);
}

/** As sha256sum writes a path: with a mark before the line where it has a line break or a backslash. */
const lineOf = ({ sha256, bytes, path }: Line): string => {
  const written = path.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return `${written === path ? '' : '\\'}${sha256} ${bytes} ${written}\n`;
};

const linePattern = /^(\\?)([0-9a-f]{64}) (\d+) (.+)$/s;

const lineFrom = (text: string): Line => {
  const [, mark, sha256 = '', bytes, written = ''] = linePattern.exec(text) ?? [];
  const path =
    mark === '' ? written : written.replaceAll(/\\[\\n]/g, (code) => (code === '\\n' ? '\n' : '\\'));
  return { sha256, bytes: Number(bytes), path };
};

async function* linesOf(list: string): AsyncGenerator<Line> {
  let rest = '';
  for await (const piece of createReadStream(list, 'utf8')) {
    const texts = `${rest}${String(piece)}`.split('\n');
    rest = texts.pop() ?? '';
    for (const text of texts) yield lineFrom(text);
  }
}

/**
 * Writes the list of the files of these parts, and returns once it is on disk. Faults: permanent `file_unwritable`, transient
 * `copy_failed` once it is stopped.
 */
export const writeFileList = async (
  folder: string,
  parts: readonly string[],
  signal?: AbortSignal,
): Promise<FileList> => {
  const hash = createHash('sha256');
  let count = 0;
  const text = async function* (): AsyncGenerator<string> {
    const files = inOrder(filesOf(folder, parts), async (path, buffer) =>
      lineOf({ path, ...(await sumOf(join(folder, path), buffer)) }),
    );
    let lines = '';
    for await (const line of files) {
      checkStopped(signal, folder);
      lines += line;
      hash.update(line);
      if (++count % linesOfWrite !== 0) continue;
      yield lines;
      lines = '';
    }
    yield lines;
  };
  const list = join(folder, fileListName);
  try {
    await writeFile(list, text(), { mode: 0o600, flush: true });
  } catch (error) {
    throw error instanceof Fault ? error : unwritable(list, error);
  }
  return { count, sha256: hash.digest('hex') };
};

/** What the list has of a file, and whether it is in the folder. */
type Pair = { readonly path: string; readonly listed: Sum | undefined; readonly isThere: boolean };

/** Every file of the list and of the folder, once: both have one order. */
async function* pairsOf(folder: string, parts: readonly string[]): AsyncGenerator<Pair> {
  const files = filesOf(folder, parts);
  let file = await files.next();
  for await (const line of linesOf(join(folder, fileListName))) {
    const place = placeOf(line.path);
    for (; file.done !== true && placeOf(file.value) < place; file = await files.next())
      yield { path: file.value, listed: undefined, isThere: true };
    const isThere = file.done !== true && file.value === line.path;
    yield { path: line.path, listed: line, isThere };
    if (isThere) file = await files.next();
  }
  for (; file.done !== true; file = await files.next())
    yield { path: file.value, listed: undefined, isThere: true };
}

/** What is wrong with a file; undefined where nothing is. */
const faultOf = async (
  folder: string,
  { path, listed, isThere }: Pair,
  buffer: Buffer,
): Promise<string | undefined> => {
  if (listed === undefined) return `${path} was added`;
  if (!isThere) return `${path} is missing`;
  try {
    const { size } = await stat(join(folder, path));
    if (size !== listed.bytes) return `${path} has ${size} bytes of ${listed.bytes}`;
    const { sha256 } = await sumOf(join(folder, path), buffer);
    return sha256 === listed.sha256 ? undefined : `${path} was changed`;
  } catch (error) {
    return `${path} cannot be read (${errorText(error)})`;
  }
};

/**
 * Compares each file of these parts with the list; answers how many were compared. Throws what `unusable` makes of the first
 * differences and their number: a file that is missing, changed, or was added, as a database would read that, too.
 */
export const checkFileList = async (
  folder: string,
  parts: readonly string[],
  list: FileList,
  unusable: (why: string) => Fault,
): Promise<number> => {
  const found = await sumOf(join(folder, fileListName)).catch((error: unknown) => {
    throw unusable(`${fileListName} cannot be read (${errorText(error)})`);
  });
  if (found.sha256 !== list.sha256) throw unusable(`${fileListName} was changed after the backup`);
  const shown: string[] = [];
  let compared = 0;
  let wrong = 0;
  const judged = inOrder(pairsOf(folder, parts), (pair, buffer) => faultOf(folder, pair, buffer));
  try {
    for await (const fault of judged) {
      compared++;
      if (fault === undefined) continue;
      wrong++;
      if (shown.length < shownMax) shown.push(fault);
    }
  } catch (error) {
    throw unusable(errorText(error));
  }
  if (wrong === 0 && compared === list.count) return compared;
  if (wrong === 0)
    throw unusable(`${fileListName} has ${counted(compared, 'file')} instead of ${list.count}`);
  const further = wrong > shown.length ? `; and ${wrong - shown.length} more` : '';
  throw unusable(
    `${counted(wrong, 'file')} of the databases differ from the ${list.count} in ${fileListName}: ${shown.join('; ')}${further}`,
  );
};
