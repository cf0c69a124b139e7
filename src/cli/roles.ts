import type { Command } from 'commander';
import { loadSettings } from '../config/settings.ts';
import { runIngress } from '../ingress/ingress.ts';
import { runMetadata } from '../metadata/metadata.ts';
import { runTransfer } from '../transfer/transfer.ts';

/** The three roles, one process each. They run until SIGTERM or SIGINT and then finish what they hold. */
export const registerRoles = (program: Command): void => {
  program
    .command('ingress')
    .description('run the receivers: push on 10205, traces on 4318')
    .action(() => runIngress(loadSettings()));
  program
    .command('transfer')
    .description('run a consumer: validate time, write to the databases, settle')
    .action(() => runTransfer(loadSettings()));
  program
    .command('metadata')
    .description('run the records, the admin API and the tables')
    .action(() => runMetadata(loadSettings()));
};
