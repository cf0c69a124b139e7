import { Gauge, type Registry } from 'prom-client';

/** Figures of what an operator has to keep up: clocks, disks, tokens, backups. Read by metadata. */
export const createUpkeepMetrics = (registry: Registry) => {
  const registers = [registry];
  return {
    clockOffset: new Gauge({
      name: 'tidemark_clock_offset_seconds',
      help: "How far the clock of an engine is ahead of metadata's; absent while the engine does not answer",
      labelNames: ['engine'],
      registers,
    }),
    diskBytes: new Gauge({
      name: 'tidemark_disk_bytes',
      help: 'Size of a disk: data = that of the data folder of metadata, clickhouse = the fullest one of ClickHouse',
      labelNames: ['disk'],
      registers,
    }),
    diskFreeBytes: new Gauge({
      name: 'tidemark_disk_free_bytes',
      help: 'Free bytes of the same disk',
      labelNames: ['disk'],
      registers,
    }),
    diskDaysLeft: new Gauge({
      name: 'tidemark_disk_days_left',
      help: 'Days until a disk is full at the growth of the last day, retention included, at most 3650; absent where it is not known',
      labelNames: ['disk'],
      registers,
    }),
    adminTokenExpiry: new Gauge({
      name: 'tidemark_admin_token_expiry_timestamp_seconds',
      help: 'Expiry of the admin token that expires next, Unix seconds; 0 = none of the valid ones expires',
      registers,
    }),
    backupLast: new Gauge({
      name: 'tidemark_backup_last_success_timestamp_seconds',
      help: 'End of the last tidemark backup of a part: nats, questdb, questdb-b (of an instance b), clickhouse; Unix seconds; 0 = there is none; absent for a database that none has copied',
      labelNames: ['part'],
      registers,
    }),
  };
};

export type UpkeepMetrics = ReturnType<typeof createUpkeepMetrics>;
