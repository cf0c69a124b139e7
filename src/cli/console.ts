import type { Command } from 'commander';
import { consoleLink } from '../metadata/api/contract.ts';
import { createAdminClient } from './client.ts';
import type { JsonOption } from './options.ts';
import { printJson, printLine, sayLines } from './output.ts';
import { loadAdminSettings } from './running-stack.ts';

const run = async ({ json }: JsonOption): Promise<void> => {
  const settings = loadAdminSettings();
  const { value } = await createAdminClient(settings).ask(consoleLink, 'POST', '/api/v1/console-links', {
    body: {},
  });
  const url = `${new URL(settings.admin.url).origin}${value.path}`;
  if (json) return printJson({ url });
  printLine(url);
  sayLines('It logs in once, within a minute.');
};

/** `tidemark console`. */
export const register = (program: Command): void => {
  program
    .command('console')
    .description('print a link that logs in to the console, once, within a minute')
    .option('--json', 'print {url} as JSON')
    .action(run);
};
