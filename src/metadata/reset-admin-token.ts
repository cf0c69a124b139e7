import { connectBus } from '../bus/connection.ts';
import { openKvBucket } from '../bus/kv.ts';
import { natsTarget, type Settings } from '../config/settings.ts';
import { buckets } from '../directory/keys.ts';
import { createLog } from '../telemetry/log.ts';
import { openAuditForMetadata } from './audit/audit.ts';
import type { AuditActor } from './audit/entry.ts';
import { type ResetTokens, resetAdminToken } from './tokens/reset.ts';

const actor: AuditActor = { token_id: null, name: 'cli', role: 'admin' };

/**
 * Writes a new admin token into the data folder without the API, for operators who lost all of them; `revokeOthers` revokes every
 * other one in the same step. Metadata stores its audit entry, once it runs. Transient Faults.
 */
export const resetAdminTokenOf = async (
  settings: Settings,
  revokeOthers: boolean,
): Promise<ResetTokens & { readonly file: string }> => {
  const bus = await connectBus(natsTarget(settings), 'tidemark-cli');
  try {
    const system = await openKvBucket(bus, buckets.system);
    const audit = openAuditForMetadata(bus, system, createLog('admin-token', 'silent'));
    const target = { kind: 'admin_token' };
    return await audit.run({ actor, action: 'admin_token.reset', target }, (note) =>
      resetAdminToken(system, settings.dataFolder, revokeOthers, ({ record, revoked }) => {
        note({ target: { ...target, id: record.token_id }, after: record });
        for (const after of revoked) {
          note({ target: { ...target, id: after.token_id }, before: { ...after, is_revoked: false }, after });
        }
      }),
    );
  } finally {
    await bus.close();
  }
};
