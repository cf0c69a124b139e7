import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const requirementsDefault = 'python-requirements.txt';

/** Why Python programs cannot be run on this machine; undefined when they can. */
export const whyNoPython = async (): Promise<string | undefined> => {
  try {
    await run('python3', ['-c', 'import ensurepip, pip, sys, venv; sys.exit(sys.version_info < (3, 10))']);
    return undefined;
  } catch {
    return 'there is no python3 of 3.10 or newer with pip and venv';
  }
};

const isThere = async (path: string): Promise<boolean> => {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
};

/** A Python with the packages of a requirements file of this folder, installed into the cache by the first call. */
export const installPython = async (file = requirementsDefault): Promise<string> => {
  const requirements = join(import.meta.dirname, file);
  const hash = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 16);
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'tidemark');
  const folder = join(cache, `python-${hash}`);
  const python = join(folder, 'bin/python');
  if (await isThere(python)) return python;
  await mkdir(cache, { recursive: true });
  const half = join(cache, `.python-${randomUUID()}`);
  try {
    await run('python3', ['-m', 'venv', half]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
    await run(join(half, 'bin/python'), pip);
    await rename(half, folder);
  } catch (error) {
    await rm(half, { recursive: true, force: true });
    // Another process was faster.
    if (!(await isThere(python))) throw error;
  }
  return python;
};

/** The version of a package that a requirements file of this folder pins. Throws when there is none. */
export const pinnedVersion = (file: string, name: string): string => {
  const lines = readFileSync(join(import.meta.dirname, file), 'utf8').split('\n');
  const line = lines.find((each) => each.startsWith(`${name}==`));
  if (line === undefined) throw new Error(`${file} does not pin ${name}`);
  return line.slice(name.length + 2);
};

/**
 * What a Python program of this folder prints, line by line, given this on its standard input, where it is not seen by others.
 * Rejects with what it wrote when it fails.
 */
export const runPython = async (
  python: string,
  program: string,
  args: string[],
  input = '',
): Promise<string[]> => {
  const running = run(python, [join(import.meta.dirname, program), ...args], {
    env: { PATH: process.env['PATH'] ?? '', PYTHONDONTWRITEBYTECODE: '1' },
    maxBuffer: 2 ** 26,
  });
  running.child.stdin?.end(input);
  const { stdout } = await running;
  return stdout.split('\n').filter((line) => line !== '');
};
