import type { Command } from 'commander';
import { addAdminTokenCommands } from './admin-tokens.ts';
import { addYesOption, confirm, type YesOption } from './confirm.ts';
import type { JsonOption } from './options.ts';
import { printFields, printJson } from './output.ts';
import { loadCommandSettings } from './running-stack.ts';

type ResetOptions = JsonOption & YesOption & { revokeOthers?: boolean };

const runReset = async ({ json, revokeOthers = false, yes }: ResetOptions): Promise<void> => {
  if (revokeOthers) await confirm('every other admin token is revoked', yes === true ? { yes } : {});
  // Loaded here: no other command but the roles needs the client.
  const { resetAdminTokenOf } = await import('../metadata/reset-admin-token.ts');
  const { record, revoked, file } = await resetAdminTokenOf(loadCommandSettings(), revokeOthers);
  if (json) return printJson({ admin_token: record, revoked, file });
  printFields([
    ['token id', record.token_id],
    ['written to', file],
    ['revoked', revoked.length === 0 ? 'none' : revoked.map(({ token_id }) => token_id).join(', ')],
  ]);
};

/** `tidemark admin-token create | list | revoke | reset`. */
export const registerAdminToken = (program: Command): void => {
  const group = program.command('admin-token').description('tokens of the admin API, each with a role');
  addAdminTokenCommands(group);
  const reset = group
    .command('reset')
    .description('write a new admin token when all are lost; needs NATS and the data folder, no token');
  addYesOption(reset)
    .option('--revoke-others', 'revoke every other admin token in the same step')
    .option('--json', 'print {admin_token, revoked, file} as JSON')
    .action(runReset);
};
