import type { Command } from 'commander';
import { loadSettings, type Settings } from '../config/settings.ts';
import { InstallError, type Installer } from '../embedded/install.ts';
import { archiveQuestdbClasses } from '../embedded/questdb-classes.ts';
import { createMachineInstaller } from '../embedded/stack.ts';
import { errorText } from '../model/fault.ts';
import { printLines } from './output.ts';

/**
 * Finds or installs every engine without a configured address, in parallel. Throws one error with a sentence for each
 * engine that failed, after the others are installed.
 */
export const installEngines = async (settings: Settings, installer: Installer): Promise<void> => {
  const wanted = (['nats', 'questdb', 'clickhouse'] as const).filter(
    (name) => settings[name].url === undefined,
  );
  const results = await Promise.allSettled(wanted.map((name) => installer[name]()));
  const failures = results.flatMap((result) =>
    result.status === 'rejected' ? [errorText(result.reason)] : [],
  );
  if (failures.length > 0) throw new InstallError(failures.join('\n'));
};

/** `tidemark setup`. */
export const register = (program: Command): void => {
  program
    .command('setup')
    .description('install missing engines of `tidemark up`')
    .action(async () => {
      const settings = loadSettings();
      const installer = createMachineInstaller(settings, process.env, printLines);
      await installEngines(settings, installer);
      if (settings.questdb.url === undefined)
        await archiveQuestdbClasses(await installer.questdb(), printLines);
    });
};
