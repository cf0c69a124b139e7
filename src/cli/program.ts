import { Command, Help } from 'commander';
import { exitCodeConfig } from '../config/settings.ts';
import { errorText, Fault } from '../model/fault.ts';
import { programVersion } from '../telemetry/program-version.ts';
import { helpColumns, sayLines } from './output.ts';

/** The commands of a module, and how to load it. */
export type CommandModule = {
  readonly names: readonly string[];
  readonly load: () => Promise<{ readonly register: (program: Command) => void }>;
};

/**
 * In the order of the help. A process loads only the module of its command: all of them take half the processor time of
 * a short command, and a fifth of a role's start.
 */
export const commandModules: readonly CommandModule[] = [
  { names: ['report'], load: () => import('./report.ts') },
  { names: ['data-source', 'group', 'result-table'], load: () => import('./records.ts') },
  { names: ['operation'], load: () => import('./operation.ts') },
  { names: ['app'], load: () => import('./app.ts') },
  { names: ['token'], load: () => import('./token.ts') },
  { names: ['limit'], load: () => import('./limit.ts') },
  { names: ['policy'], load: () => import('./policy.ts') },
  { names: ['retention'], load: () => import('./retention.ts') },
  { names: ['placement'], load: () => import('./placement.ts') },
  { names: ['refresh'], load: () => import('./refresh.ts') },
  { names: ['subscription'], load: () => import('./subscription.ts') },
  { names: ['top', 'processes'], load: () => import('./top.ts') },
  { names: ['runbook'], load: () => import('./runbook.ts') },
  { names: ['account'], load: () => import('./account.ts') },
  { names: ['ledger'], load: () => import('./ledger.ts') },
  { names: ['usage'], load: () => import('./usage.ts') },
  { names: ['drops'], load: () => import('./drops.ts') },
  { names: ['activity', 'table', 'stores'], load: () => import('./inspect.ts') },
  { names: ['snippet'], load: () => import('./snippet.ts') },
  { names: ['query', 'trace'], load: () => import('./query.ts') },
  { names: ['push'], load: () => import('./push.ts') },
  { names: ['audit'], load: () => import('./audit.ts') },
  { names: ['export', 'import'], load: () => import('./backup.ts') },
  { names: ['backup', 'restore'], load: () => import('./streams-backup.ts') },
  { names: ['admin-token'], load: () => import('./admin-token.ts') },
  { names: ['dlq'], load: () => import('./dlq.ts') },
  { names: ['console'], load: () => import('./console.ts') },
  { names: ['doctor'], load: () => import('./doctor.ts') },
  { names: ['explain'], load: () => import('./explain.ts') },
  { names: ['config'], load: () => import('./config.ts') },
  { names: ['ingress', 'transfer', 'metadata'], load: () => import('./roles.ts') },
  { names: ['migrate'], load: () => import('./migrate.ts') },
  { names: ['setup'], load: () => import('./setup.ts') },
  { names: ['env'], load: () => import('./env.ts') },
  { names: ['up'], load: () => import('./up.ts') },
  {
    names: ['completion'],
    load: async () => {
      const { registerCompletion } = await import('./completion.ts');
      return { register: (program) => registerCompletion(program, createProgram) };
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
            .replace(/\.$/, '')}; run it with --help for the commands and options\n`,
        ),
    });
  const own = commandModules.filter(({ names }) => command !== undefined && names.includes(command));
  for (const { load } of own.length > 0 ? own : commandModules) (await load()).register(program);
  return program;
};

/**
 * Runs the command that the arguments of this process name. A failure is printed on stderr and sets the exit code: 78
 * for settings, else 1.
 */
export const runProgram = async (): Promise<void> => {
  // `| head` has read enough, or the terminal is closed. The command ends as it would: a backup has to give its checkpoint back.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  try {
    const program = await createProgram(process.argv[2]);
    await program.parseAsync();
  } catch (error) {
    sayLines(`tidemark: ${errorText(error)}`);
    process.exitCode = error instanceof Fault && error.code === 'config_invalid' ? exitCodeConfig : 1;
  }
};
