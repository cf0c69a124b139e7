import type { Command } from 'commander';
import { loadSettings } from '../config/settings.ts';

/** A timer of a client library can outlive its connection; a role that has stopped has nothing left to wait for. */
const endProcess = (): never => process.exit();

/**
 * The three roles, one process each. They run until SIGTERM or SIGINT and then finish what they hold. Each loads only its own
 * modules: what a process never runs costs it no memory.
 */
export const registerRoles = (program: Command): void => {
  program
    .command('ingress')
    .description('run the receivers: push on 10205, traces on 4318')
    .action(async () => {
      const { runIngress } = await import('../ingress/ingress.ts');
      await runIngress(loadSettings());
      endProcess();
    });
  program
    .command('transfer')
    .description('run a consumer: validate time, write to the databases, settle')
    .action(async () => {
      const { runTransfer } = await import('../transfer/transfer.ts');
      await runTransfer(loadSettings());
      endProcess();
    });
  program
    .command('metadata')
    .description('run the records, the admin API and the tables')
    .action(async () => {
      const { runMetadata } = await import('../metadata/metadata.ts');
      await runMetadata(loadSettings());
      endProcess();
    });
};
