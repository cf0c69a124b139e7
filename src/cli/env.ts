import { join } from 'node:path';
import type { Command } from 'commander';
import { credentialsFile } from '../config/engine-credentials.ts';
import { loadSettings } from '../config/settings.ts';
import { whyUnreadable } from '../config/unreadable.ts';
import { type Installation, readInstallation } from '../embedded/installation.ts';
import { isLocked } from '../embedded/lock.ts';
import { shellQuoted } from '../embedded/summary.ts';
import { printJson, printLines, sayLines } from './output.ts';

/**
 * One variable for each member of the object, named by its path: `questdb.user` is QUESTDB_USER. Undefined members are
 * omitted.
 */
const shellLines = (installation: Installation): string[] =>
  Object.entries(installation).flatMap(([name, value]: [string, unknown]) => {
    const fields: [string, unknown][] =
      typeof value === 'object' && value !== null
        ? Object.entries(value).map(([field, each]) => [`${name}_${field}`, each])
        : [[name, value]];
    return fields.flatMap(([path, each]) =>
      typeof each === 'string' ? [`export ${path.toUpperCase()}=${shellQuoted(each)}`] : [],
    );
  });

const runEnv = ({ json }: { json?: true }): void => {
  const settings = loadSettings();
  const installation = readInstallation(settings);
  if (installation === undefined) {
    const why = whyUnreadable(join(settings.dataFolder, credentialsFile));
    if (why !== undefined) throw new Error(`no credentials: ${why}.`);
    throw new Error(
      `${settings.dataFolder} has no credentials: tidemark up creates them at its first start. To use another folder, set TIDEMARK_DATA.`,
    );
  }
  if (!isLocked(settings.dataFolder)) {
    sayLines(
      `tidemark: tidemark up is not running on ${settings.dataFolder}: these are the addresses that it will use.`,
    );
  }
  if (json) printJson(installation);
  else printLines(shellLines(installation).join('\n'));
};

/** `tidemark env`. */
export const register = (program: Command): void => {
  program
    .command('env')
    .description(
      'print addresses, users and passwords of `tidemark up` on this data folder as shell variables: eval "$(tidemark env)"',
    )
    .option('--json', 'print them as one JSON object')
    .action(runEnv);
};
