import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { access, cp, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../../../src/embedded/install.ts';
import { versions } from '../../../src/embedded/versions.ts';

const run = promisify(execFile);

/** Where the sources of the clients are that are no part of this program. */
export const clientsFolder = join(import.meta.dirname, '../../clients');

const isThere = async (path: string): Promise<boolean> => {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
};

/** Which of these tools is not on the machine; undefined when all are. */
export const missingTool = async (...tools: readonly string[]): Promise<string | undefined> => {
  for (const tool of tools) {
    const places = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, tool));
    const found = await Promise.all(places.map(isThere));
    if (!found.includes(true)) return `there is no ${tool} on this machine`;
  }
  return undefined;
};

export type Build = {
  readonly name: string;
  /** The folder of the sources; default that of the clients. */
  readonly folder?: string;
  /** Its sources: a change of one of these files builds it again. */
  readonly sources: readonly string[];
  /** Further inputs, such as a version. */
  readonly key?: string;
  /** Builds out of a copy of the sources' folder into an empty folder. */
  make(sources: string, target: string): Promise<unknown>;
};

/**
 * The folder with what was built of these sources, in the cache of the machine's user; built by the first call and kept. Rejects
 * with the tool's last words.
 */
export const built = async ({
  name,
  folder: from = clientsFolder,
  sources,
  key = '',
  make,
}: Build): Promise<string> => {
  const hash = createHash('sha256').update(key);
  for (const source of sources) hash.update(await readFile(join(from, source)));
  const cache = join(cacheFolder(process.env), 'clients');
  const folder = join(cache, `${name}-${hash.digest('hex').slice(0, 16)}`);
  if (await isThere(folder)) return folder;
  const half = join(cache, `.${name}-${randomUUID()}`);
  try {
    await mkdir(join(half, 'target'), { recursive: true });
    for (const source of sources) await cp(join(from, source), join(half, 'sources', source));
    await make(join(half, 'sources'), join(half, 'target'));
    await rename(join(half, 'target'), folder);
  } catch (error) {
    // Another process was faster.
    if (!(await isThere(folder))) throw error;
  } finally {
    await rm(half, { recursive: true, force: true });
  }
  return folder;
};

/** Runs a tool of a build: builds are long, and the machine has other work. */
export const nicely = async (
  cwd: string,
  tool: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> => {
  const { stdout } = await run('nice', ['-n', '10', tool, ...args], {
    cwd,
    env: { ...process.env, ...env },
    maxBuffer: 2 ** 26,
  });
  return stdout;
};

/** A program of a folder with a Go module, among those of `from`. Answers its path. */
export const buildGo = async (
  folder: string,
  from = clientsFolder,
  flags: readonly string[] = ['-trimpath'],
): Promise<string> => {
  const files = (await readdir(join(from, folder)))
    .filter((file) => /\.go$|^go\.(mod|sum)$/.test(file))
    .sort();
  const sources = files.map((file) => join(folder, file));
  const target = await built({
    name: folder,
    folder: from,
    sources,
    make: (copied, to) =>
      nicely(join(copied, folder), 'go', ['build', '-mod=readonly', ...flags, '-o', join(to, 'client'), '.']),
  });
  return join(target, 'client');
};

/**
 * Programs of Go packages that the module in this folder pins by its `tool` lines, so that the repository fixes
 * versions and checksums of all their parts. Returns the folder with the programs.
 */
export const buildGoTools = (
  from: string,
  name: string,
  packages: readonly string[],
  flags: readonly string[] = [],
): Promise<string> =>
  built({
    name,
    folder: from,
    sources: ['go.mod', 'go.sum'],
    key: [...packages, ...flags].join(' '),
    make: (sources, to) =>
      nicely(sources, 'go', ['build', '-mod=readonly', '-ldflags=-s', ...flags, '-o', `${to}/`, ...packages]),
  });

/** The program of a Go package of the module proxy. Answers its path. */
export const installGo = async (name: string, path: string, version: string): Promise<string> => {
  const target = await built({
    name: `${name}-${version}`,
    sources: [],
    key: `${path}@${version}`,
    make: (_, to) => nicely(to, 'go', ['install', '-trimpath', `${path}@${version}`], { GOBIN: to }),
  });
  return join(target, name);
};

/** The folder with the packages and the program of a folder with a package-lock.json. */
export const installNpm = (folder: string): Promise<string> =>
  built({
    name: folder,
    sources: ['package.json', 'package-lock.json', 'client.js'].map((file) => join(folder, file)),
    make: async (from, to) => {
      await cp(join(from, folder), to, { recursive: true });
      await nicely(to, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']);
    },
  });

/** The folder with the jars that a pom.xml names, and the classes of the programs beside it in `classes`. */
export const buildJava = async (folder: string): Promise<string> => {
  const programs = (await readdir(join(clientsFolder, folder)))
    .filter((file) => file.endsWith('.java'))
    .sort();
  return built({
    name: folder,
    sources: ['pom.xml', ...programs].map((file) => join(folder, file)),
    make: async (from, to) => {
      const plugin = `org.apache.maven.plugins:maven-dependency-plugin:${versions.mavenDependencyPlugin}`;
      const args = ['--quiet', '--batch-mode', `${plugin}:copy-dependencies`, `-DoutputDirectory=${to}`];
      await nicely(join(from, folder), 'mvn', args);
      const classes = ['-encoding', 'UTF-8', '-d', join(to, 'classes'), '-cp', join(to, '*')];
      await nicely(join(from, folder), 'javac', [...classes, ...programs]);
    },
  });
};

/** The messages of package managers that do not reach a registry, or do not get a package. */
const unreachable =
  /no such host|dial tcp|i\/o timeout|proxyconnect|(403|404|410|50[0-9]) [A-Z][a-z]+|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|Could not transfer|Unknown host|NewConnectionError|No matching distribution/;

/** A client's program; or why there is none, for a machine without its runtime or its registry. Rejects for a build that fails. */
export const preparation = async (
  prepare: () => Promise<string>,
  missing: string | undefined,
): Promise<{ readonly path: string } | { readonly why: string }> => {
  if (missing !== undefined) return { why: missing };
  try {
    return { path: await prepare() };
  } catch (error) {
    const found = unreachable.exec(String(error));
    if (found === null) throw error;
    return { why: `its packages are not to be had: ${found[0]}` };
  }
};

/** The version that a manifest among the clients' sources pins, by the first group of `pattern`. Throws when there is none. */
export const pinnedIn = async (file: string, pattern: RegExp): Promise<string> => {
  const version = pattern.exec(await readFile(join(clientsFolder, file), 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${file} pins no ${pattern.source}`);
  return version;
};
