import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs the Docker client on the engine of the environment (`DOCKER_HOST`); rejects with its last words. */
export const docker = async (...args: readonly string[]): Promise<string> => {
  const { stdout } = await run('docker', [...args], { maxBuffer: 2 ** 26 });
  return stdout.trim();
};

/** Whether an engine answers the client at this address. */
export const answers = (env: NodeJS.ProcessEnv = process.env): Promise<boolean> =>
  run('docker', ['version', '--format', '{{.Server.Version}}'], { env }).then(
    () => true,
    () => false,
  );

/** One field of a container or image, as the template language of `docker inspect` names it. */
export const inspected = (id: string, field: string): Promise<string> =>
  docker('inspect', '--format', `{{${field}}}`, id);

/** Every process of a container with its number in the container, by its number on this machine. */
const numbersOf = (container: string): ReadonlyMap<number, string> => {
  const found = new Map<number, string>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      if (!readFileSync(`/proc/${entry}/cgroup`, 'utf8').includes(container)) continue;
      const numbers = /^NSpid:(.*)$/m.exec(readFileSync(`/proc/${entry}/status`, 'utf8'))?.[1];
      found.set(Number(entry), numbers?.trim().split(/\s+/).at(-1) ?? '');
    } catch {
      // It ended in between.
    }
  }
  return found;
};

/** The processes of a container, by their numbers on this machine. */
export const processesOf = (container: string): number[] => [...numbersOf(container).keys()];

/**
 * The first process of a container, by its number on this machine. Docker's own answer counts in the namespace of its
 * daemon, which is another where this project starts the daemon.
 */
export const firstProcessOf = (container: string): number => {
  for (const [pid, inside] of numbersOf(container)) if (inside === '1') return pid;
  throw new Error(`container ${container} has no process on this machine`);
};
