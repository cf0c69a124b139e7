import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import { parseCron } from '../config/cron.ts';
import { opsPortOf, requireOpsPorts } from '../config/ingress-ports.ts';
import { pipelinesOf } from '../config/instance-streams.ts';
import { largestBodies } from '../config/largest-bodies.ts';
import { memoryWarning } from '../config/memory-need.ts';
import { requireNatsFiles } from '../config/nats-files.ts';
import { requireNodeManagement, tokenInFile } from '../config/node-management.ts';
import { loadPipelines } from '../config/pipelines.ts';
import { type NamedPort, portsOf, requireDifferentPorts } from '../config/port-settings.ts';
import { givenReaders } from '../config/reader-urls.ts';
import { defaultSource } from '../config/setting-texts.ts';
import { loadSettings, natsTarget, type Settings, settingDefinitions } from '../config/settings.ts';
import { sharedAddresses } from '../config/shared-addresses.ts';
import { shownSettings } from '../config/shown-settings.ts';
import { errorText } from '../model/fault.ts';
import { localPeersOf } from '../runtime/local-peers.ts';
import { requireTlsFiles, tlsPathsOf } from '../runtime/tls-files.ts';
import { trustedProxiesOf } from '../runtime/trusted-proxies.ts';
import { foundHere, memoryLimitBytes } from '../telemetry/memory-limit.ts';
import { tracingHeadersOf } from '../telemetry/open-tracing.ts';
import { adminClient, trust } from './client.ts';
import type { JsonOption } from './options.ts';
import { printJson, printLine, printLines, printTable, sayLines } from './output.ts';

const remoteSchema = z.object({
  items: z.array(z.object({ setting: z.string(), value: z.string().nullable(), source: z.string() })),
});

/** Those of metadata are in force there, those of this environment here. */
const print = async ({ json, remote }: JsonOption & { remote?: true }): Promise<void> => {
  const shown = remote
    ? (await adminClient().ask(remoteSchema, 'GET', '/api/v1/settings')).value.items
    : shownSettings(process.env);
  if (json) return printJson({ items: shown });
  printTable(
    ['SETTING', 'VALUE', 'FROM'],
    shown.map(({ setting, value, source }) => [setting, value, source]),
  );
  printLine('');
  printLine(
    remote
      ? 'These are of the running metadata process.'
      : 'These are of the environment of this command; --remote prints those of the running metadata process.',
  );
};

/** The file may be written later, so that metadata starts without it; one that is there has to hold a token. */
const checkTokenFile = async (path: string, say: (warning: string) => void): Promise<void> => {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    say(`TIDEMARK_NODE_MANAGEMENT_TOKEN_FILE: ${errorText(error)}; the refresh job reads it at each run`);
  });
  if (text !== undefined) tokenInFile(text);
};

/** Throws the Fault with which a role would end that has two servers on one port; warns of ports that only `tidemark up` needs to differ. */
const checkPorts = (settings: Settings, say: (warning: string) => void): void => {
  const ports = portsOf(settings);
  const { push, otlp, grpc, ingressOps, transferOps, api, metadataOps } = ports;
  const receivers = grpc === undefined ? [push, otlp] : [push, otlp, grpc];
  const own = (wanted: readonly NamedPort[], host = settings.host) => ({
    host,
    // 0 becomes a free port.
    ports: wanted.filter(({ port }) => port !== 0),
  });
  const { opsPort, processes } = settings.ingress;
  const opsPorts = Array.from({ length: processes }, (_, index) => ({
    ...ingressOps,
    port: opsPortOf(opsPort, index + 1),
  }));
  requireDifferentPorts([own([...receivers, ...opsPorts])]);
  requireDifferentPorts([own([api, metadataOps])]);
  const { nats, questdb, clickhouse } = settings;
  const engines = [
    ...(nats.url === undefined ? [ports.natsClient] : []),
    ...(questdb.url === undefined ? [ports.questdbHttp, ports.questdbPg] : []),
    ...(clickhouse.url === undefined ? [ports.clickhouseHttp] : []),
  ];
  try {
    requireDifferentPorts([
      own(engines, '127.0.0.1'),
      own([...receivers, ingressOps, transferOps, api, metadataOps]),
    ]);
  } catch (error) {
    // Roles on hosts of their own may have equal ports.
    say(`tidemark up refuses this: ${errorText(error)}`);
  }
};

/** What roles and commands ask of settings beyond their form. Throws the Fault with which one of them would end. */
const requireWhatRolesRequire = async (settings: Settings, say: (warning: string) => void): Promise<void> => {
  const { ingress, metadata, tracing, refresh, nodeManagement, admin } = settings;
  await requireNatsFiles(natsTarget(settings));
  trustedProxiesOf('TIDEMARK_INGRESS_TRUSTED_PROXIES', ingress.trustedProxies);
  trustedProxiesOf('TIDEMARK_METADATA_TRUSTED_PROXIES', metadata.trustedProxies);
  localPeersOf(settings.consoleLocalPeers ?? '', say);
  requireTlsFiles(tlsPathsOf('TIDEMARK_INGRESS_TLS', ingress), say);
  requireTlsFiles(tlsPathsOf('TIDEMARK_METADATA_TLS', { ...metadata, tlsClientCaFile: undefined }), say);
  if (admin.caFile !== undefined) trust(admin.caFile);
  if (tracing.headers !== undefined) tracingHeadersOf(tracing.headers);
  requireOpsPorts(ingress.opsPort, ingress.processes);
  checkPorts(settings, say);
  givenReaders(settings);
  for (const warning of sharedAddresses(settings)) say(warning);
  parseCron(refresh.cron);
  requireNodeManagement(nodeManagement);
  if (nodeManagement.tokenFile !== undefined) await checkTokenFile(nodeManagement.tokenFile, say);
};

/** Settings, the settings file and the pipeline files, as every role reads them at its start. */
const check = async ({ json }: JsonOption): Promise<void> => {
  const settings = loadSettings();
  const say = (warning: string): void => sayLines(`warning: ${warning}`);
  await requireWhatRolesRequire(settings, say);
  const pipelines = loadPipelines(settings.pipelinesFolder, undefined, say);
  for (const warning of largestBodies(settings, pipelines)) say(warning);
  const small = memoryWarning(settings, pipelines, memoryLimitBytes(foundHere(settings.ingress.processes)));
  if (small !== undefined) say(small);
  const changed = shownSettings(process.env).filter(
    ({ value, source }) => value !== null && source !== defaultSource,
  );
  if (json) return printJson({ ok: true, changed });
  printLine(
    `settings and pipelines are valid; ${changed.length} of ${settingDefinitions.length} settings differ from the default`,
  );
};

/** The users of NATS for the streams of the pipeline files and of the QuestDB instances in the settings. */
const printNatsUsers = async ({ values }: { values?: true }): Promise<void> => {
  const settings = loadSettings();
  const pipelines = pipelinesOf(settings);
  // Loaded here: no other command of this module needs it.
  const { natsUsersConf, natsUsersValues } = await import('../directory/nats-user-files.ts');
  printLines((values === true ? natsUsersValues(pipelines) : natsUsersConf(pipelines)).trimEnd());
};

/** `tidemark config check | print | nats-users`. */
export const register = (program: Command): void => {
  const config = program.command('config').description('settings from environment, files and defaults');
  config
    .command('check')
    .description('validate settings and pipeline files; exit code 78 and the place of the error')
    .option('--json', 'print {ok, changed} as JSON')
    .action(check);
  config
    .command('print')
    .description('print every setting with the source of its value; secrets are hidden')
    .option('--remote', 'print the settings of the metadata process; needs the role admin')
    .option('--json', 'print them as JSON')
    .action(print);
  config
    .command('nats-users')
    .description('print the users of NATS with the rights of each role, for its configuration; no password')
    .option('--values', "print them as values of NATS's Helm chart")
    .action(printNatsUsers);
};
