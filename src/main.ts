import { Command } from 'commander';
import { registerAdminToken } from './cli/admin-token.ts';
import { registerApp } from './cli/app.ts';
import { registerAudit } from './cli/audit.ts';
import { registerBackup } from './cli/backup.ts';
import { registerConfig } from './cli/config.ts';
import { registerDlq } from './cli/dlq.ts';
import { registerDrops } from './cli/drops.ts';
import { registerExplain } from './cli/explain.ts';
import { registerLedger } from './cli/ledger.ts';
import { registerLimit } from './cli/limit.ts';
import { registerMigrate } from './cli/migrate.ts';
import { registerPolicy } from './cli/policy.ts';
import { registerRefresh } from './cli/refresh.ts';
import { registerReport } from './cli/report.ts';
import { registerRoles } from './cli/roles.ts';
import { registerSetup } from './cli/setup.ts';
import { registerSubscription } from './cli/subscription.ts';
import { registerToken } from './cli/token.ts';
import { registerUp } from './cli/up.ts';
import { exitCodeConfig } from './config/settings.ts';
import { Fault, messageOf } from './model/fault.ts';

const program = new Command('tidemark')
  .description('Takes custom metrics and OpenTelemetry traces in and stores them exactly once.')
  .showHelpAfterError();

registerReport(program);
registerApp(program);
registerToken(program);
registerLimit(program);
registerPolicy(program);
registerRefresh(program);
registerSubscription(program);
registerLedger(program);
registerDrops(program);
registerAudit(program);
registerBackup(program);
registerAdminToken(program);
registerDlq(program);
registerExplain(program);
registerConfig(program);
registerRoles(program);
registerMigrate(program);
registerSetup(program);
registerUp(program);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`tidemark: ${messageOf(error)}\n`);
  process.exitCode = error instanceof Fault && error.code === 'config_invalid' ? exitCodeConfig : 1;
}
