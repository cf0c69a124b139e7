import type { Command } from 'commander';
import { loadSettings } from '../config/settings.ts';

/**
 * The three roles, one process each. They run until SIGTERM or SIGINT and then finish what they hold. Each loads only its own
 * modules: what a process never runs costs it no memory.
 */
export const registerRoles = (program: Command): void => {
  program
    .command('ingress')
    .description('run the receivers: push on 10205, traces on 4318')
    .action(async () => (await import('../ingress/ingress.ts')).runIngress(loadSettings()));
  program
    .command('transfer')
    .description('run a consumer: validate time, write to the databases, settle')
    .action(async () => (await import('../transfer/transfer.ts')).runTransfer(loadSettings()));
  program
    .command('metadata')
    .description('run the records, the admin API and the tables')
    .action(async () => (await import('../metadata/metadata.ts')).runMetadata(loadSettings()));
};
