import type { Bus } from '../bus/connection.ts';
import type { KvBucket } from '../bus/kv.ts';
import { createLog } from '../telemetry/log.ts';
import { openAuditForMetadata } from './audit/audit.ts';

/** When a backup was made, in ISO 8601. */
export type BackupPeriod = { readonly started_at: string; readonly finished_at: string };

/**
 * Leaves the audit entry of a restore, which metadata stores once it runs: the log of a restored installation ends with the backup, and
 * what was revoked after it is valid again. Transient Faults.
 */
export const noteRestore = (
  bus: Bus,
  system: KvBucket,
  { started_at, finished_at }: BackupPeriod,
): Promise<void> =>
  openAuditForMetadata(bus, system, createLog('restore', 'silent')).run(
    {
      actor: { token_id: null, name: 'cli', role: 'admin' },
      action: 'records.restore',
      target: { kind: 'records', id: 'all' },
      request: { backup_started_at: started_at, backup_finished_at: finished_at },
    },
    async () => undefined,
  );
