import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { filesMax } from '../../../src/embedded/open-files.ts';
import { waitFor } from '../wait.ts';
import { answers } from './docker.ts';
import type { Say } from './say.ts';

const run = promisify(execFile);

/** A Docker engine for the tests. */
export type DockerEngine = {
  /** What its clients need in their environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether this process started it: then it is gone after `close`, with all of its containers and images. */
  readonly isOwn: boolean;
  close(): Promise<void>;
};

/** The programs of an engine, each with the Debian package that brings it. */
const packages = {
  dockerd: 'docker.io',
  docker: 'docker.io',
  debootstrap: 'debootstrap',
  ip: 'iproute2',
  iptables: 'iptables',
} as const;

const folders = `${process.env['PATH'] ?? ''}${delimiter}/usr/sbin${delimiter}/sbin`.split(delimiter);
const isOnPath = (program: string): boolean => folders.some((folder) => existsSync(join(folder, program)));

const policy = '/usr/sbin/policy-rc.d';

/**
 * Installs the Debian packages of these programs that are not on the machine, and the named ones, where the machine has apt-get
 * and this user may use it; else throws with what to install.
 */
export const installPackages = async (
  programs: Readonly<Record<string, string>>,
  say: Say,
  further: readonly string[] = [],
): Promise<void> => {
  const missing = Object.entries(programs).filter(([program]) => !isOnPath(program));
  const names = [...new Set([...missing.map(([, name]) => name), ...further])];
  if (names.length === 0) return;
  if (process.getuid?.() !== 0 || !isOnPath('apt-get'))
    throw new Error(`This user cannot install what is missing: install ${names.join(', ')}`);
  say(`installing ${names.join(', ')} with apt-get …`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // Without it the package starts a daemon of its own, which nothing here would stop.
  const isPolicyOwn = !existsSync(policy);
  if (isPolicyOwn) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await run('apt-get', ['-qq', 'update'], { env, maxBuffer: 2 ** 26 });
    const install = ['-qq', '--no-install-recommends', 'install', ...names];
    await run('apt-get', install, { env, maxBuffer: 2 ** 26 });
  } finally {
    if (isPolicyOwn) rmSync(policy, { force: true });
  }
};

const cgroups = '/sys/fs/cgroup';

/** Removes the groups that containers were in: empty folders now, in each hierarchy. */
export const removeGroups = (name: string): void => {
  const remove = (folder: string): void => {
    if (!existsSync(folder)) return;
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) remove(join(folder, entry.name));
    try {
      rmdirSync(folder);
    } catch {
      // Its last process is not reaped yet; an empty group costs nothing.
    }
  };
  if (!existsSync(cgroups)) return;
  for (const hierarchy of ['', ...readdirSync(cgroups)]) remove(join(cgroups, hierarchy, name));
};

/** A bridge of this process, so that two engines share none; its name has at most 15 characters. */
const bridge = {
  name: `tidemark${process.pid % 1_000_000}`,
  address: `10.213.${process.pid % 256}.1/24`,
} as const;

const makeBridge = async (): Promise<void> => {
  await run('ip', ['link', 'add', bridge.name, 'type', 'bridge']);
  await run('ip', ['address', 'add', bridge.address, 'dev', bridge.name]);
  await run('ip', ['link', 'set', bridge.name, 'up']);
};

/** The bridges of the networks that were not removed: the daemon's end leaves them. */
const leftBridges = async (env: Readonly<Record<string, string>>): Promise<string[]> => {
  try {
    const { stdout } = await run('docker', ['network', 'ls', '--quiet', '--filter', 'type=custom'], {
      env: { ...process.env, ...env },
    });
    return stdout.split('\n').flatMap((id) => (id === '' ? [] : [`br-${id}`]));
  } catch {
    return [];
  }
};

/** Open files of a container at most: the daemon may not raise the limit that it has itself. */
export const containerFilesMax = Math.min(filesMax() || 10_000, 10_000);
const filesLimit = `nofile=${containerFilesMax}:${containerFilesMax}`;

const start = (folder: string, socket: string, group: string): ChildProcess => {
  const flags = [
    ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')],
    ...['--pidfile', join(folder, 'dockerd.pid'), '--host', socket, '--log-level', 'warn'],
    ...['--default-ulimit', filesLimit, '--cgroup-parent', `/${group}`],
    // It changes nothing of the machine's network but its own bridges: containers reach each other, and nothing outside.
    ...['--iptables=false', '--ip-masq=false', '--ip-forward=false'],
    // A port without an address is one of loopback.
    ...['--ip', '127.0.0.1', '--bridge', bridge.name, '--default-address-pool', 'base=10.214.0.0/16,size=24'],
  ];
  // All in namespaces of processes and mounts of their own: with the first process every daemon, container and mount is gone,
  // also when this process is killed.
  const command = [
    ...['setpriv', '--pdeathsig', 'KILL', 'unshare', '--mount', '--pid', '--fork', '--kill-child=KILL'],
    // The shell stays as the first process, because it reaps what the daemon leaves behind.
    ...['--mount-proc', 'sh', '-c', 'dockerd "$@" & wait $!', 'sh', ...flags],
  ];
  const [program = '', ...args] = command;
  return spawn(program, args, {
    env: { ...process.env, PATH: folders.join(delimiter) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
};

/**
 * The Docker engine of this machine where one answers; else one of its own under a temporary folder, installed first where
 * it is missing. Its images, containers, networks and processes end with `close`, and with this process.
 */
export const openDockerEngine = async (say: Say): Promise<DockerEngine> => {
  if (isOnPath('docker') && (await answers())) {
    say('the Docker engine of this machine answers');
    return { env: {}, isOwn: false, close: async () => {} };
  }
  await installPackages(packages, say);
  await makeBridge();
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-docker-'));
  const socket = `unix://${join(folder, 'docker.sock')}`;
  const group = `tidemark-${process.pid}`;
  const env = { DOCKER_HOST: socket };
  const daemon = start(folder, socket, group);
  const words: string[] = [];
  for (const stream of [daemon.stdout, daemon.stderr])
    stream?.on('data', (bytes: Buffer) => words.splice(0, Math.max(0, words.push(String(bytes)) - 40)));
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  daemon.once('close', () => resolve());
  const close = async (): Promise<void> => {
    const left = await leftBridges(env);
    daemon.kill('SIGKILL');
    await gone;
    // Those of networks without a bridge are not there.
    for (const name of [...left, bridge.name]) await run('ip', ['link', 'delete', name]).catch(() => {});
    removeGroups(group);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  };
  try {
    await waitFor('the Docker daemon', 60_000, async () => {
      if (daemon.exitCode !== null) throw new Error('it ended');
      return answers({ ...process.env, ...env });
    });
  } catch (error) {
    await close();
    throw new Error(`dockerd did not start:\n${words.join('')}`, { cause: error });
  }
  say(`a Docker engine of its own under ${folder}, removed at the end`);
  return { env, isOwn: true, close };
};
