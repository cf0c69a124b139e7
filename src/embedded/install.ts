import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { errorText } from '../model/fault.ts';
import { exists } from '../runtime/files.ts';
import { versions } from './versions.ts';

/** The parts of the environment that an installation reads. */
export type InstallEnvironment = {
  PATH?: string | undefined;
  JAVA_HOME?: string | undefined;
  TIDEMARK_CACHE?: string | undefined;
  XDG_CACHE_HOME?: string | undefined;
};

/** Receives one line for each step of an installation: the step, and how long it took. */
export type Progress = (line: string) => void;

/** Something an engine needs is not on this machine. The message is one sentence with every way out. */
export class MissingToolError extends Error {
  override readonly name = 'MissingToolError';
}

/** Engines could not be installed; the message ends with the last lines of the tool that failed. */
export class InstallError extends Error {
  override readonly name = 'InstallError';
}

/**
 * Paths of java, of QuestDB's jar, of the guard of its HTTP interface, and of the archive of their classes, which may
 * be missing.
 */
export type QuestdbProgram = { java: string; jar: string; guard: string; classArchive: string };

/** The path of each engine's program. The first call installs missing programs into the cache. */
export type Installer = {
  /** Path of a nats-server of the pinned version. */
  nats(): Promise<string>;
  questdb(): Promise<QuestdbProgram>;
  /** Path of the library of npm's chdb. */
  clickhouse(): Promise<string>;
};

const runFile = promisify(execFile);
const outputBytesMax = 16 * 1024 * 1024;

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

const findOnPath = async (name: string, path: string | undefined): Promise<string | undefined> => {
  for (const folder of (path ?? '').split(delimiter)) {
    if (folder !== '' && (await isExecutable(join(folder, name)))) return join(folder, name);
  }
  return undefined;
};

const outputOf = async (path: string, args: readonly string[], env: InstallEnvironment): Promise<string> => {
  try {
    const { stdout, stderr } = await runFile(path, args, { env: { ...process.env, ...env } });
    return `${stdout}${stderr}`;
  } catch {
    return '';
  }
};

/** Folder that holds the downloads of all checkouts of this user. */
export const cacheFolder = (env: InstallEnvironment): string =>
  env.TIDEMARK_CACHE ?? join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tidemark');

/** `~ 1.2 s` since `startedAt` of performance.now(). */
export const secondsSince = (startedAt: number): string =>
  `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;

type Step = { label: string; folder: string; tool: string; args: (target: string) => string[]; how: string };

/**
 * Runs one installing tool into a temporary folder and renames it into place, so that the cache has only complete
 * entries and two concurrent installations do not collide.
 */
const installInto = async (
  { label, folder, tool, args, how }: Step,
  env: InstallEnvironment,
  toolEnv: (target: string) => NodeJS.ProcessEnv,
  progress: Progress,
): Promise<void> => {
  const startedAt = performance.now();
  progress(`${label}: ${how} …`);
  const target = `${folder}.${randomUUID()}.tmp`;
  await mkdir(target, { recursive: true });
  try {
    await runFile(tool, args(target), {
      cwd: target,
      env: { ...process.env, ...env, ...toolEnv(target) },
      maxBuffer: outputBytesMax,
    });
    // Losing the race against another installation is as good as winning it.
    await rename(target, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } catch (error) {
    throw new InstallError(
      `${label} could not be installed:\n${errorText(error).trim().split('\n').slice(-15).join('\n')}`,
    );
  } finally {
    await rm(target, { recursive: true, force: true });
  }
  progress(`${label}: done in ${secondsSince(startedAt)}`);
};

const missing = (
  what: string,
  needed: string,
  install: string,
  variable: string,
  server: string,
): MissingToolError =>
  new MissingToolError(
    `${what} is missing, and required ${needed}: ${install}, or set ${variable} to a ${server} server.`,
  );

const locateNats = async (env: InstallEnvironment, progress: Progress): Promise<string> => {
  const label = `nats-server ${versions.nats}`;
  const onPath = await findOnPath('nats-server', env.PATH);
  if (onPath !== undefined && (await outputOf(onPath, ['--version'], env)).includes(`v${versions.nats}`)) {
    progress(`${label}: found at ${onPath}`);
    return onPath;
  }
  const folder = join(cacheFolder(env), `nats-server-${versions.nats}`);
  const binary = join(folder, 'nats-server');
  if (await exists(binary)) {
    progress(`${label}: found at ${binary}`);
    return binary;
  }
  const go = await findOnPath('go', env.PATH);
  if (go === undefined) {
    const install = 'install Go 1.21 or newer (https://go.dev/dl)';
    throw missing('Go', 'to build nats-server', install, 'TIDEMARK_NATS_URL', 'NATS');
  }
  const args = () => ['install', `github.com/nats-io/nats-server/v2@v${versions.nats}`];
  const step = { label, folder, tool: go, args, how: 'building with go install' };
  await installInto(step, env, (target) => ({ GOBIN: target }), progress);
  return binary;
};

const locateJava = async (env: InstallEnvironment): Promise<{ java: string; version: string }> => {
  const home = env.JAVA_HOME === undefined ? undefined : join(env.JAVA_HOME, 'bin', 'java');
  const java = home !== undefined && (await isExecutable(home)) ? home : await findOnPath('java', env.PATH);
  const version = java === undefined ? '' : await outputOf(java, ['-version'], env);
  const major = Number(/version "(\d+)/.exec(version)?.[1] ?? 0);
  if (java !== undefined && major >= versions.javaMajorMin) return { java, version };
  throw missing(
    `Java ${versions.javaMajorMin}`,
    'to run QuestDB',
    `install Java ${versions.javaMajorMin} or newer (https://adoptium.net)`,
    'TIDEMARK_QUESTDB_URL',
    'QuestDB',
  );
};

/** Source and build: deploy/questdb. */
const guardJar = fileURLToPath(new URL('../../deploy/questdb/questdb-guard.jar', import.meta.url));

/**
 * The guard beside QuestDB's jar, where it is the same file for all checkouts: an archive of classes depends on the
 * paths of its files.
 */
const placeGuard = async (folder: string): Promise<string> => {
  const bytes = await readFile(guardJar);
  const path = join(folder, `guard-${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}.jar`);
  if (await exists(path)) return path;
  const written = `${path}.${randomUUID()}.tmp`;
  await writeFile(written, bytes);
  await rename(written, path);
  return path;
};

const locateQuestdb = async (env: InstallEnvironment, progress: Progress): Promise<QuestdbProgram> => {
  const label = `QuestDB ${versions.questdb}`;
  const { java, version } = await locateJava(env);
  const folder = join(cacheFolder(env), `questdb-${versions.questdb}`);
  const jar = join(folder, `questdb-${versions.questdb}.jar`);
  const placed = async (): Promise<QuestdbProgram> => {
    const guard = await placeGuard(folder);
    // Another Java cannot read it, nor the same with other jars.
    const key = createHash('sha256').update(`${java} ${version} ${guard}`).digest('hex').slice(0, 12);
    return { java, jar, guard, classArchive: join(folder, `classes-${key}.jsa`) };
  };
  if (await exists(jar)) {
    progress(`${label}: found at ${jar}`);
    return placed();
  }
  const maven = await findOnPath('mvn', env.PATH);
  if (maven === undefined) {
    const install = 'install Maven (https://maven.apache.org)';
    throw missing('Maven', 'to fetch QuestDB', install, 'TIDEMARK_QUESTDB_URL', 'QuestDB');
  }
  const plugin = `org.apache.maven.plugins:maven-dependency-plugin:${versions.mavenDependencyPlugin}:copy`;
  const args = (target: string) => [
    '--quiet',
    '--batch-mode',
    plugin,
    `-Dartifact=org.questdb:questdb:${versions.questdb}:jar`,
    `-DoutputDirectory=${target}`,
  ];
  const step = { label, folder, tool: maven, args, how: 'fetching with Maven' };
  await installInto(step, env, () => ({}), progress);
  return placed();
};

const findLibrary = async (): Promise<string | undefined> => {
  const platform = `${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`;
  try {
    // Of chdb only its library is used, and the npm package depends on the library alone.
    const library = createRequire(import.meta.url).resolve(`@chdb/lib-${platform}/package.json`);
    const path = join(dirname(library), 'libchdb.so');
    return (await exists(path)) ? path : undefined;
  } catch {
    return undefined;
  }
};

const locateClickhouse = async (progress: Progress): Promise<string> => {
  const label = `ClickHouse ${versions.clickhouse}`;
  const library = await findLibrary();
  if (library === undefined) {
    // npm leaves an optional package out in silence where it cannot fetch it.
    const install = import.meta.url.endsWith('.js')
      ? 'install the package of tidemark again, with a network and with its optional dependencies'
      : `run npm install (it brings chdb ${versions.chdb})`;
    throw missing(`npm's chdb`, 'to run ClickHouse', install, 'TIDEMARK_CLICKHOUSE_URL', 'ClickHouse');
  }
  progress(`${label}: found at ${library} (chdb ${versions.chdb})`);
  return library;
};

const once = <T>(locate: () => Promise<T>): (() => Promise<T>) => {
  let found: Promise<T> | undefined;
  return () => {
    found ??= locate().catch((error: unknown) => {
      // A tool installed in the meantime is found by the next call.
      found = undefined;
      throw error;
    });
    return found;
  };
};

/** Finds or installs the engines' programs; each function looks once and remembers the result. */
export const createInstaller = (
  env: InstallEnvironment = process.env,
  progress: Progress = () => {},
): Installer => ({
  nats: once(() => locateNats(env, progress)),
  questdb: once(() => locateQuestdb(env, progress)),
  clickhouse: once(() => locateClickhouse(progress)),
});
