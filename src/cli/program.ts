import { Command, Help } from 'commander';
import { exitCodeConfig } from '../config/settings.ts';
import { errorText, Fault } from '../model/fault.ts';
import { programVersion } from '../telemetry/program-version.ts';
import { helpColumns, sayLines } from './output.ts';

/** The commands of a module, and how to load it. */
export type CommandModule = {
  readonly names: readonly string[];
  readonly load: () => Promise<(program: Command) => void>;
};

/**
 * In the order of the help. A process loads only the module of its command: all of them take half the processor time of
 * a short command, and a fifth of a role's start.
 */
export const commandModules: readonly CommandModule[] = [
  { names: ['report'], load: async () => (await import('./report.ts')).registerReport },
  {
    names: ['data-source', 'group', 'result-table'],
    load: async () => (await import('./records.ts')).registerRecords,
  },
  { names: ['operation'], load: async () => (await import('./operation.ts')).registerOperation },
  { names: ['app'], load: async () => (await import('./app.ts')).registerApp },
  { names: ['token'], load: async () => (await import('./token.ts')).registerToken },
  { names: ['limit'], load: async () => (await import('./limit.ts')).registerLimit },
  { names: ['policy'], load: async () => (await import('./policy.ts')).registerPolicy },
  { names: ['retention'], load: async () => (await import('./retention.ts')).registerRetention },
  { names: ['placement'], load: async () => (await import('./placement.ts')).registerPlacement },
  { names: ['refresh'], load: async () => (await import('./refresh.ts')).registerRefresh },
  { names: ['subscription'], load: async () => (await import('./subscription.ts')).registerSubscription },
  { names: ['top', 'processes'], load: async () => (await import('./top.ts')).registerTop },
  { names: ['runbook'], load: async () => (await import('./runbook.ts')).registerRunbook },
  { names: ['account'], load: async () => (await import('./account.ts')).registerAccount },
  { names: ['ledger'], load: async () => (await import('./ledger.ts')).registerLedger },
  { names: ['usage'], load: async () => (await import('./usage.ts')).registerUsage },
  { names: ['drops'], load: async () => (await import('./drops.ts')).registerDrops },
  { names: ['activity'], load: async () => (await import('./inspect.ts')).registerActivity },
  { names: ['table'], load: async () => (await import('./inspect.ts')).registerTable },
  { names: ['stores'], load: async () => (await import('./inspect.ts')).registerStores },
  { names: ['snippet'], load: async () => (await import('./snippet.ts')).registerSnippet },
  { names: ['query', 'trace'], load: async () => (await import('./query.ts')).registerQuery },
  { names: ['push'], load: async () => (await import('./push.ts')).registerPush },
  { names: ['audit'], load: async () => (await import('./audit.ts')).registerAudit },
  { names: ['export', 'import'], load: async () => (await import('./backup.ts')).registerBackup },
  {
    names: ['backup', 'restore'],
    load: async () => (await import('./streams-backup.ts')).registerStreamsBackup,
  },
  { names: ['admin-token'], load: async () => (await import('./admin-token.ts')).registerAdminToken },
  { names: ['dlq'], load: async () => (await import('./dlq.ts')).registerDlq },
  { names: ['console'], load: async () => (await import('./console.ts')).registerConsole },
  { names: ['doctor'], load: async () => (await import('./doctor.ts')).registerDoctor },
  { names: ['explain'], load: async () => (await import('./explain.ts')).registerExplain },
  { names: ['config'], load: async () => (await import('./config.ts')).registerConfig },
  {
    names: ['ingress', 'transfer', 'metadata'],
    load: async () => (await import('./roles.ts')).registerRoles,
  },
  { names: ['migrate'], load: async () => (await import('./migrate.ts')).registerMigrate },
  { names: ['setup'], load: async () => (await import('./setup.ts')).registerSetup },
  { names: ['env'], load: async () => (await import('./env.ts')).registerEnv },
  { names: ['up'], load: async () => (await import('./up.ts')).registerUp },
  {
    names: ['completion'],
    load: async () => {
      const { registerCompletion } = await import('./completion.ts');
      return (program) => registerCompletion(program, createProgram);
    },
  },
];

/** The command line with the module of this command; with all of them where no command is named so. */
export const createProgram = async (command?: string): Promise<Command> => {
  const program = new Command('tidemark')
    .description(
      'Receives custom metrics, and traces, logs and metrics of OpenTelemetry, and stores them exactly once.',
    )
    .version(programVersion(), '--version', 'print the version')
    // An option belongs to the command that it follows: one of an outer command would be taken in silence.
    .enablePositionalOptions()
    // With their arguments, the names would leave no room for the texts in 80 columns.
    .configureHelp({
      subcommandTerm(command) {
        return command.parent?.parent ? Help.prototype.subcommandTerm.call(this, command) : command.name();
      },
      // Beside long terms, too: what does not fit is cut off by the terminal in the middle of a word.
      minWidthToWrap: 16,
    })
    // A wrong word is answered in one line: the help of all commands would bury it.
    .configureOutput({
      getOutHelpWidth: helpColumns,
      outputError: (text, write) =>
        write(
          `${text
            .trim()
            .replaceAll(/\s*\n\s*/g, ' ')
            .replace(/\.$/, '')}; --help lists what there is\n`,
        ),
    });
  const own = commandModules.filter(({ names }) => command !== undefined && names.includes(command));
  for (const { load } of own.length > 0 ? own : commandModules) (await load())(program);
  return program;
};

/**
 * Runs the command that the arguments of this process name. A failure is printed on stderr and sets the exit code: 78
 * for settings, else 1.
 */
export const runProgram = async (): Promise<void> => {
  // `| head` has read enough. The command ends as it would: a backup has to give its checkpoint back.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  try {
    const program = await createProgram(process.argv[2]);
    await program.parseAsync();
  } catch (error) {
    sayLines(`tidemark: ${errorText(error)}`);
    process.exitCode = error instanceof Fault && error.code === 'config_invalid' ? exitCodeConfig : 1;
  }
};
