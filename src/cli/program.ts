import { Command } from 'commander';
import { exitCodeConfig } from '../config/settings.ts';
import { Fault, messageOf } from '../model/fault.ts';
import { registerAdminToken } from './admin-token.ts';
import { registerApp } from './app.ts';
import { registerAudit } from './audit.ts';
import { registerBackup } from './backup.ts';
import { registerConfig } from './config.ts';
import { registerDlq } from './dlq.ts';
import { registerDoctor } from './doctor.ts';
import { registerDrops } from './drops.ts';
import { registerExplain } from './explain.ts';
import { registerLedger } from './ledger.ts';
import { registerLimit } from './limit.ts';
import { registerMigrate } from './migrate.ts';
import { registerPolicy } from './policy.ts';
import { registerRefresh } from './refresh.ts';
import { registerReport } from './report.ts';
import { registerRoles } from './roles.ts';
import { registerSetup } from './setup.ts';
import { registerStreamsBackup } from './streams-backup.ts';
import { registerSubscription } from './subscription.ts';
import { registerToken } from './token.ts';
import { registerUp } from './up.ts';

const commands = [
  registerReport,
  registerApp,
  registerToken,
  registerLimit,
  registerPolicy,
  registerRefresh,
  registerSubscription,
  registerLedger,
  registerDrops,
  registerAudit,
  registerBackup,
  registerStreamsBackup,
  registerAdminToken,
  registerDlq,
  registerDoctor,
  registerExplain,
  registerConfig,
  registerRoles,
  registerMigrate,
  registerSetup,
  registerUp,
];

/** The command line with all its commands. */
export const createProgram = (): Command => {
  const program = new Command('tidemark')
    .description('Takes custom metrics and OpenTelemetry traces in and stores them exactly once.')
    .showHelpAfterError();
  for (const register of commands) register(program);
  return program;
};

/** Runs the command that the arguments of this process name. A failure is told on stderr and sets the exit code: 78 for settings, else 1. */
export const runProgram = async (): Promise<void> => {
  try {
    await createProgram().parseAsync();
  } catch (error) {
    process.stderr.write(`tidemark: ${messageOf(error)}\n`);
    process.exitCode = error instanceof Fault && error.code === 'config_invalid' ? exitCodeConfig : 1;
  }
};
