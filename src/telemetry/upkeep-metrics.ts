import type { Registry } from 'prom-client';
import { metersIn } from './meters.ts';

/** Figures of what an operator has to keep up: clocks, disks, tokens, backups. Read by metadata. */
export const createUpkeepMetrics = (registry: Registry) => {
  const { gauge } = metersIn(registry);
  return {
    clockOffset: gauge({
      name: 'tidemark_clock_offset_seconds',
      help: "How far the clock of an engine is ahead of metadata's; absent while the engine does not answer",
      labelNames: ['engine'],
      remedy: 'over 5 s: set both clocks by NTP; docs/runbook.md#tidemarkclockskew',
    }),
    diskBytes: gauge({
      name: 'tidemark_disk_bytes',
      help: 'Size of a disk: data = that of the data folder of metadata, clickhouse = the fullest one of ClickHouse',
      labelNames: ['disk'],
      remedy: 'nothing: for comparison with the free bytes',
    }),
    diskFreeBytes: gauge({
      name: 'tidemark_disk_free_bytes',
      help: 'Free bytes of the same disk',
      labelNames: ['disk'],
      remedy: 'below 15 %: docs/runbook.md#tidemarkdiskfilling',
    }),
    diskDaysLeft: gauge({
      name: 'tidemark_disk_days_left',
      help: 'Days until a disk is full at the growth of the last day, retention included, at most 3650, and 0 where less than 2 % is free; absent where it is not known',
      labelNames: ['disk'],
      remedy: 'below 7: docs/runbook.md#tidemarkdiskforecast',
    }),
    adminTokenExpiry: gauge({
      name: 'tidemark_admin_token_expiry_timestamp_seconds',
      help: 'Expiry of the admin token that expires next, Unix seconds; 0 = none of the valid ones expires',
      remedy: '`tidemark admin-token list` names it; create another, and give it to its users before',
    }),
    backupLast: gauge({
      name: 'tidemark_backup_last_success_timestamp_seconds',
      help: 'End of the last tidemark backup of a part: nats, questdb, questdb-b (of an instance b), clickhouse; Unix seconds; 0 = there is none; absent for a database that none has copied',
      labelNames: ['part'],
      remedy: 'older than a day: docs/runbook.md#tidemarkbackupold',
    }),
  };
};

export type UpkeepMetrics = ReturnType<typeof createUpkeepMetrics>;
