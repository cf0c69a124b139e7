import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { consoleLink } from '../metadata/api/contract.ts';
import { createAdminClient } from './client.ts';
import type { JsonOption } from './options.ts';
import { printJson, printLine, sayLines } from './output.ts';
import { loadAdminSettings, loopbackNames } from './running-stack.ts';

const isInContainer = (env: NodeJS.ProcessEnv = process.env): boolean =>
  env['KUBERNETES_SERVICE_HOST'] !== undefined || ['/.dockerenv', '/run/.containerenv'].some(existsSync);

/**
 * What the reader of a link at this address needs, whose log-in the console would refuse otherwise (`transport_open`); undefined where
 * the link works as it is. `localPeers`: the setting TIDEMARK_CONSOLE_LOCAL_PEERS of this environment.
 */
export const whatLinkNeeds = (
  url: string,
  localPeers: string | undefined,
  isHere = !isInContainer(),
): string | undefined => {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:') return undefined;
  if (!loopbackNames.has(hostname))
    return `Without TLS the console logs in only at 127.0.0.1 of the machine of metadata: run this command there, or see docs/console.md, TLS.`;
  if (isHere || localPeers !== undefined) return undefined;
  return 'This address is inside of the container: forward a port into it (kubectl port-forward), use TLS, or for a port that is published on 127.0.0.1 alone set TIDEMARK_CONSOLE_LOCAL_PEERS=gateway for metadata (docs/console.md, TLS).';
};

const run = async ({ json }: JsonOption): Promise<void> => {
  const settings = loadAdminSettings();
  const { value } = await createAdminClient(settings).ask(consoleLink, 'POST', '/api/v1/console-links', {
    body: {},
  });
  const url = `${new URL(settings.admin.url).origin}${value.path}`;
  if (json) return printJson({ url });
  printLine(url);
  sayLines('It logs in once, within a minute.');
  const needs = whatLinkNeeds(url, settings.consoleLocalPeers);
  if (needs !== undefined) sayLines(needs);
};

/** `tidemark console`. */
export const register = (program: Command): void => {
  program
    .command('console')
    .description('print a link that logs in to the console, once, within a minute')
    .option('--json', 'print {url} as JSON')
    .action(run);
};
