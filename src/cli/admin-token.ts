import type { Command } from 'commander';
import { loadSettings, natsTarget, type Settings } from '../config/settings.ts';
import type { AuditActor } from '../metadata/audit/entry.ts';
import { createLog } from '../telemetry/log.ts';
import { addAdminTokenCommands } from './admin-tokens.ts';
import type { JsonOption } from './options.ts';
import { printFields, printJson } from './output.ts';

type ResetOptions = JsonOption & { revokeOthers?: boolean };

const actor: AuditActor = { token_id: null, name: 'cli', role: 'admin' };

const reset = async (settings: Settings, revokeOthers: boolean) => {
  // Loaded here: no other command but the roles needs the client.
  const { connectBus } = await import('../bus/connection.ts');
  const { openKvBucket } = await import('../bus/kv.ts');
  const { buckets } = await import('../directory/keys.ts');
  const { openAudit } = await import('../metadata/audit/audit.ts');
  const { resetAdminToken } = await import('../metadata/tokens/admin-tokens.ts');
  const bus = await connectBus(natsTarget(settings), 'tidemark-cli');
  try {
    const system = await openKvBucket(bus, buckets.system);
    // Metadata publishes an entry later that cannot be stored now.
    const audit = openAudit(bus, system, createLog('admin-token', 'silent'));
    const target = { kind: 'admin_token' };
    return await audit.run({ actor, action: 'admin_token.reset', target }, async (note) => {
      const done = await resetAdminToken(system, settings.dataFolder, revokeOthers);
      note({ target: { ...target, id: done.record.token_id }, after: done.record });
      for (const after of done.revoked) {
        note({ target: { ...target, id: after.token_id }, before: { ...after, is_revoked: false }, after });
      }
      return done;
    });
  } finally {
    await bus.close();
  }
};

const runReset = async ({ json, revokeOthers = false }: ResetOptions): Promise<void> => {
  const { record, revoked, file } = await reset(loadSettings(), revokeOthers);
  if (json) return printJson({ admin_token: record, revoked, file });
  printFields([
    ['token id', String(record.token_id)],
    ['written to', file],
    ['revoked', revoked.length === 0 ? 'none' : revoked.map(({ token_id }) => token_id).join(', ')],
  ]);
};

/** `tidemark admin-token create | list | revoke | reset`. */
export const registerAdminToken = (program: Command): void => {
  const group = program.command('admin-token').description('tokens of the admin API, each with a role');
  addAdminTokenCommands(group);
  group
    .command('reset')
    .description('write a new admin token when all are lost; needs NATS and the data folder, no token')
    .option('--revoke-others', 'revoke every other admin token in the same step')
    .option('--json', 'print {admin_token, revoked, file} as JSON')
    .action(runReset);
};
