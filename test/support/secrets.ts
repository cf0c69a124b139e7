import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Where a secret was found: the place that was searched and what the secret is, never the secret itself. */
export type Leak = `${string}: ${string}`;

/** Tokens that a test uses, each with a name of its own, to be looked for wherever they must not be. */
export type Secrets = {
  /** Notes a token or password that was issued; returns it. */
  note(name: string, token: string): string;
  /** A new token of this name that was never issued. */
  invent(name: string): string;
  /** How many there are. */
  readonly size: number;
  /** The secrets in the text, in upper or lower case. */
  in(place: string, text: string): Leak[];
  /** The secrets in the files of the folder, as UTF-8 or UTF-16. Paths that `isExempt` matches are skipped. */
  inFiles(folder: string, isExempt: (path: string) => boolean): Leak[];
};

/** Files are read whole: what an engine lays out ahead is mostly zeros, and larger than this nothing of a test is. */
const fileBytesMax = 256 * 2 ** 20;

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** The bytes of a file; none where an engine has removed it meanwhile. */
const bytesOf = (file: string): Buffer => {
  try {
    return statSync(file).size > fileBytesMax ? Buffer.alloc(0) : readFileSync(file);
  } catch {
    return Buffer.alloc(0);
  }
};

export const createSecrets = (): Secrets => {
  const names = new Map<string, string>();
  const note = (name: string, token: string): string => {
    if (!/^[\w+/=-]{32,80}$/.test(token)) throw new Error(`${name} is no token`);
    names.set(token, name);
    return token;
  };
  return {
    note,
    invent: (name) => note(name, randomBytes(16).toString('hex')),
    get size() {
      return names.size;
    },
    in: (place, text) => {
      const lower = text.toLowerCase();
      return [...names]
        .filter(([token]) => lower.includes(token.toLowerCase()))
        .map(([, name]): Leak => `${place}: ${name}`);
    },
    inFiles: (folder, isExempt) =>
      filesOf(folder)
        .map((file) => relative(folder, file))
        .filter((path) => !isExempt(path))
        .flatMap((path) => {
          const bytes = bytesOf(join(folder, path));
          return [...names]
            .filter(([token]) => bytes.includes(token) || bytes.includes(Buffer.from(token, 'utf16le')))
            .map(([, name]): Leak => `${path}: ${name}`);
        }),
  };
};
