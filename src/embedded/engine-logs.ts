import { closeSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../model/fault.ts';
import { visible } from '../model/visible-text.ts';
import type { LogLine } from './child.ts';
import type { Engine } from './engine.ts';

/** The folder of the engines' logs in the data folder. */
export const logsFolder = (dataFolder: string): string => join(dataFolder, 'logs');

/** The log of one engine; the older ones beside it end in `.1` (the newest) to `.3`. */
export const engineLogFile = (dataFolder: string, engine: Engine['name']): string =>
  join(logsFolder(dataFolder), `${engine}.log`);

/** A file takes `fileBytesMax` bytes; `olderMax` full ones and those of earlier starts are kept. */
export type LogBounds = { readonly fileBytesMax: number; readonly olderMax: number };

const defaultBounds: LogBounds = { fileBytesMax: 16 * 1024 * 1024, olderMax: 3 };

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Moves a file that has lines to `.1`, that to `.2`, and so on; the oldest is removed. */
const rotate = (path: string, olderMax: number): void => {
  if (sizeOf(path) === 0) return;
  const names = [path, ...Array.from({ length: olderMax }, (_, index) => `${path}.${index + 1}`)];
  rmSync(names[olderMax] ?? '', { force: true });
  for (let index = olderMax - 1; index >= 0; index--) {
    const [from = '', to = ''] = names.slice(index);
    if (sizeOf(from) > 0) renameSync(from, to);
  }
};

type OpenFile = { readonly fd: number; bytes: number };

/**
 * The engines' logs as files, a new one for each at its first line and whenever one is full. Lines are written at once and hold
 * nothing that a terminal obeys. Where a line cannot be written (a full disk) `warn` gets that once for each engine, and the
 * engine goes on.
 */
export const createEngineLogs = (
  dataFolder: string,
  warn: LogLine,
  { fileBytesMax, olderMax }: LogBounds = defaultBounds,
): LogLine => {
  const files = new Map<string, OpenFile>();
  const failed = new Set<string>();

  const open = (path: string): OpenFile => {
    mkdirSync(logsFolder(dataFolder), { recursive: true, mode: 0o700 });
    rotate(path, olderMax);
    const fd = openSync(path, 'a', 0o600);
    return { fd, bytes: fstatSync(fd).size };
  };

  const fileOf = (source: string, bytes: number): OpenFile => {
    const known = files.get(source);
    if (known !== undefined && (known.bytes === 0 || known.bytes + bytes <= fileBytesMax)) return known;
    if (known !== undefined) closeSync(known.fd);
    files.delete(source);
    const file = open(join(logsFolder(dataFolder), `${source}.log`));
    files.set(source, file);
    return file;
  };

  const write = (source: string, line: string): void => {
    const text = Buffer.from(`${visible(line.replaceAll('\t', '    '))}\n`);
    const file = fileOf(source, text.length);
    file.bytes += writeSync(file.fd, text);
  };

  return (source, line) => {
    try {
      write(source, line);
    } catch (error) {
      if (!failed.has(source)) warn(source, `its log cannot be written: ${errorText(error)}`);
      failed.add(source);
    }
  };
};
