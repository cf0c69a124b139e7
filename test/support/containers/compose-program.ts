import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildGoTools } from '../clients/builds.ts';
import type { Say } from './say.ts';

const run = promisify(execFile);

/** The least version that understands `!override` of a list. */
const versionMin = [2, 24] as const;

const isUsable = async (command: readonly string[]): Promise<boolean> => {
  const [program = '', ...args] = command;
  try {
    const { stdout } = await run(program, [...args, 'version', '--short']);
    const [major = 0, minor = 0] = stdout.trim().replace(/^v/, '').split('.').map(Number);
    return major > versionMin[0] || (major === versionMin[0] && minor >= versionMin[1]);
  } catch {
    return false;
  }
};

/** The command line of Docker Compose: the plugin of the machine, else one that Go builds into the cache (minutes, once). */
export const composeCommand = async (say: Say): Promise<readonly string[]> => {
  const plugin = ['docker', 'compose'];
  if (await isUsable(plugin)) return plugin;
  say('Docker Compose: building with Go (minutes, once in the cache) …');
  const folder = join(import.meta.dirname, '../../containers/compose');
  const programs = await buildGoTools(folder, 'docker-compose', ['github.com/docker/compose/v2/cmd']);
  return [join(programs, 'cmd')];
};
