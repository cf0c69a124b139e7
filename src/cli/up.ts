import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { pipelinesOf } from '../config/instance-streams.ts';
import { retentionIn } from '../config/pipelines.ts';
import { bindHost, requireDifferentPorts } from '../config/port-settings.ts';
import { adminTokenPath, exitCodeConfig, loadSettings, type Settings } from '../config/settings.ts';
import { natsRights } from '../directory/nats-rights.ts';
import type { LogLine } from '../embedded/child.ts';
import { ensureCredentials } from '../embedded/credentials.ts';
import { openDataFolder } from '../embedded/data-folder.ts';
import { greet } from '../embedded/demo.ts';
import { createEngineLogs } from '../embedded/engine-logs.ts';
import { removeInstallation, writeInstallation } from '../embedded/installation.ts';
import { lockFolder } from '../embedded/lock.ts';
import { createLogStream } from '../embedded/log-stream.ts';
import { requireFreePorts } from '../embedded/ports.ts';
import {
  noteEnginesOnly,
  placeRestoredQuestdb,
  readRestoring,
  requireNoRestore,
  startQuestdbOfRestore,
  watchForRestoredQuestdb,
} from '../embedded/restoring.ts';
import type { Role } from '../embedded/role.ts';
import { ServiceStartError } from '../embedded/service.ts';
import {
  clientUrls,
  createMachineInstaller,
  createRoleAccounts,
  createStack,
  planStack,
  type Stack,
  type StackDeps,
  type StackPlan,
} from '../embedded/stack.ts';
import { summarise, summariseEngines } from '../embedded/summary.ts';
import { createSupervisor, type Supervisor } from '../embedded/supervisor.ts';
import { errorText } from '../model/fault.ts';
import type { RetentionDays } from '../stores/clickhouse/migrate-ttl.ts';
import { type AdminClient, createAdminClient } from './client.ts';
import { printLines, sayLines } from './output.ts';
import { installEngines } from './setup.ts';

/** The end of a run of the stack: the program's exit code, and the message. */
type Ending = { exitCode: number; message?: string };

const waitingNoticeMs = 5000;

/** Prints every few seconds why an awaited role is not ready. */
const startRole = async (supervisor: Supervisor, role: Role, log: LogLine): Promise<void> => {
  const notice = setInterval(() => {
    log(role.name, `not ready yet: ${role.notReady() ?? 'no answer'}`);
  }, waitingNoticeMs);
  try {
    await supervisor.start(role);
  } finally {
    clearInterval(notice);
  }
};

const tellTo =
  (log: LogLine) =>
  (fields: Record<string, unknown>, message: string): void =>
    log(
      'migrate',
      [message, ...Object.entries(fields).map(([key, value]) => `${key}=${String(value)}`)].join(' '),
    );

/** Makes the tables in ClickHouse, as `tidemark migrate` does. */
const makeTables = async (
  settings: Settings,
  url: string,
  retentionDays: RetentionDays,
  log: LogLine,
  signal: AbortSignal,
): Promise<void> => {
  const { migrateWhenUp } = await import('../stores/clickhouse/migrate.ts');
  const tell = tellTo(log);
  const { applied, restored } = await migrateWhenUp({
    url,
    folder: join(settings.schemasFolder, 'sql', 'clickhouse'),
    retentionDays,
    isPowerSafe: settings.durability === 'power',
    cluster: settings.clickhouse.cluster,
    // A line for each of forty steps would hide the banner.
    log: { debug: () => {}, info: () => {}, warn: tell, error: tell },
    signal,
  });
  const steps = applied.length + restored.length;
  if (steps > 0) tell({ applied: steps }, 'the tables of ClickHouse are up to date');
};

/** The tables and the records come first: the other two roles need them. */
const startStack = async (
  { engines, roles }: Stack,
  supervisor: Supervisor,
  log: LogLine,
  migrate: () => Promise<void>,
): Promise<void> => {
  await Promise.all(engines.map((engine) => supervisor.start(engine)));
  await migrate();
  await startRole(supervisor, roles.metadata, log);
  await Promise.all([roles.transfer, roles.ingress].map((role) => startRole(supervisor, role, log)));
};

const endingOf = (error: unknown): Ending => {
  const refused = error instanceof ServiceStartError && error.exit?.code === exitCodeConfig;
  return { exitCode: refused ? exitCodeConfig : 1, message: errorText(error) };
};

/**
 * The first SIGINT, SIGTERM or SIGHUP (the end of the terminal) starts an orderly end; the next SIGINT or SIGTERM kills everything at
 * once. A further SIGHUP is the same end of the terminal: the shell and the kernel may send one each. SIGUSR2 goes on to the roles.
 */
const onSignals = (stack: Stack, end: (ending: Ending) => void): (() => void) => {
  let asked = false;
  const stop = (): void => {
    if (asked) return;
    asked = true;
    printLines('Stopping; press Ctrl-C again to kill.');
    end({ exitCode: 0 });
  };
  const stopOrKill = (): void => {
    if (!asked) return stop();
    for (const service of stack.inStopOrder) void service.kill();
    process.exit(1);
  };
  const changeLogLevels = (): void => {
    for (const role of Object.values(stack.roles)) role.changeLogLevel();
  };
  process
    .on('SIGINT', stopOrKill)
    .on('SIGTERM', stopOrKill)
    .on('SIGHUP', stop)
    .on('SIGUSR2', changeLogLevels);
  return () => {
    process.off('SIGINT', stopOrKill).off('SIGTERM', stopOrKill).off('SIGHUP', stop);
    process.off('SIGUSR2', changeLogLevels);
  };
};

type UpOptions = { enginesOnly?: true; demo: boolean };

/** The state of a run that has locked the data folder. */
type Run = Pick<StackDeps, 'credentials' | 'roleAccounts' | 'rights' | 'lock'> & {
  readonly settings: Settings;
  readonly plan: StackPlan;
  /** The address of ClickHouse with its credentials. */
  readonly clickhouseUrl: string;
  readonly retentionDays: RetentionDays;
  readonly options: UpOptions;
};

/** Prints what is to be had where, with the records of the demo where it is wanted. */
const welcome = async ({ settings, plan, options }: Run, signal: AbortSignal): Promise<void> => {
  const { dataFolder, hasConsole, admin } = settings;
  const connect = async (): Promise<AdminClient> => {
    // Metadata may have written it after the settings were read.
    const token = (await readFile(adminTokenPath(dataFolder), 'utf8').catch(() => admin.token))?.trim();
    return createAdminClient({ ...settings, admin: { ...admin, url: plan.adminUrl, token } });
  };
  const greeting = await greet(connect, plan.adminUrl, { demo: options.demo, link: hasConsole });
  if (!signal.aborted) printLines(`\n${summarise(plan, greeting, settings)}\n`);
};

/** Starts the engines alone. A restore leaves QuestDB's files, which QuestDB reads only at its start. */
const startEngines = async (
  { settings: { dataFolder } }: Run,
  { engines }: Stack,
  supervisor: Supervisor,
  log: LogLine,
  signal: AbortSignal,
): Promise<void> => {
  const onError = (error: unknown): void =>
    log('questdb', `could not be started on restored files: ${errorText(error)}`);
  const questdb = engines.find(({ name }) => name === 'questdb');
  await placeRestoredQuestdb(dataFolder);
  const isRestoring = readRestoring(dataFolder) !== undefined;
  await Promise.all(
    engines.map(async (engine) => {
      if (isRestoring && engine === questdb) await startQuestdbOfRestore(dataFolder, engine, signal, onError);
      await supervisor.start(engine);
    }),
  );
  noteEnginesOnly(dataFolder, 'running');
  if (questdb !== undefined) void watchForRestoredQuestdb(dataFolder, questdb, signal, onError);
};

/** Starts what this run has, and prints where it is. */
const startRun = async (
  run: Run,
  stack: Stack,
  supervisor: Supervisor,
  log: LogLine,
  signal: AbortSignal,
): Promise<void> => {
  const { settings, plan, retentionDays, clickhouseUrl, options } = run;
  if (options.enginesOnly) {
    await startEngines(run, stack, supervisor, log, signal);
    printLines(`\n${summariseEngines(plan)}\n`);
    return;
  }
  await startStack(stack, supervisor, log, () =>
    makeTables(settings, clickhouseUrl, retentionDays, log, signal),
  );
  await welcome(run, signal);
};

const runStack = async (run: Run): Promise<Ending> => {
  const { settings, plan } = run;
  // Ctrl-C also ends a program that the output is piped into, and a terminal may be gone: the engines still have to stop in order.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  const log = createLogStream((text) => process.stdout.write(text));
  const installer = createMachineInstaller(settings, process.env, printLines);
  await installEngines(settings, installer);
  const engineLog = createEngineLogs(settings.dataFolder, log);
  const stack = createStack(settings, plan, { ...run, installer, log, engineLog, env: process.env });
  const { promise: ended, resolve: end } = Promise.withResolvers<Ending>();
  const supervisor = createSupervisor({
    log,
    onFatal: (message) => end({ exitCode: exitCodeConfig, message }),
  });
  const forget = onSignals(stack, end);
  const stopping = new AbortController();
  startRun(run, stack, supervisor, log, stopping.signal).catch((error: unknown) => end(endingOf(error)));
  try {
    return await ended;
  } finally {
    stopping.abort();
    await supervisor.stop(stack.inStopOrder);
    forget();
  }
};

/**
 * Runs engines and roles, or the engines alone, until a signal or a failure that a restart would only repeat. Returns the exit
 * code.
 */
export const runUp = async (settings: Settings, options: UpOptions): Promise<number> => {
  const { dataFolder } = settings;
  const pipelines = pipelinesOf(settings);
  openDataFolder(dataFolder);
  const lock = await lockFolder(dataFolder);
  try {
    if (!options.enginesOnly) requireNoRestore(dataFolder);
    const plan = await planStack(settings);
    const ports = [
      { host: plan.engineHost, ports: plan.enginePorts },
      ...(options.enginesOnly
        ? []
        : [{ host: settings.host, hostVariable: bindHost, ports: plan.rolePorts }]),
    ];
    requireDifferentPorts(ports);
    await requireFreePorts(ports);
    const credentials = await ensureCredentials(dataFolder);
    const roleAccounts = createRoleAccounts();
    const urls = clientUrls(settings, plan, credentials, roleAccounts);
    writeInstallation(dataFolder, plan, urls);
    if (options.enginesOnly) noteEnginesOnly(dataFolder, 'starting');
    const { exitCode, message } = await runStack({
      settings,
      plan,
      retentionDays: retentionIn(pipelines),
      clickhouseUrl: urls.clickhouse,
      credentials,
      roleAccounts,
      rights: natsRights(pipelines),
      lock: lock.fd,
      options,
    });
    if (message !== undefined) sayLines(`tidemark: ${message}`);
    return exitCode;
  } finally {
    removeInstallation(dataFolder);
    lock.release();
  }
};

/** `tidemark up`. */
export const register = (program: Command): void => {
  program
    .command('up')
    .description('run the engines and one process of each role on this machine until Ctrl-C')
    .option('--engines-only', 'run NATS, QuestDB and ClickHouse without the roles, for a restore')
    .option('--no-demo', 'create no demo records; existing ones stay')
    .action(async (options: UpOptions) => {
      process.exitCode = await runUp(loadSettings(), options);
    });
};
