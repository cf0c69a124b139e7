import type { Bus } from '../bus/connection.ts';
import { type Pipelines, retentionIn } from '../config/pipelines.ts';
import type { Settings } from '../config/settings.ts';
import { createDeadLetterAdmin } from '../dead-letters/admin.ts';
import { createKeptDays } from '../dead-letters/outlived.ts';
import { createReceivedItemEncoder } from '../dead-letters/received-item.ts';
import { buckets, systemKeys } from '../directory/keys.ts';
import { createOwners } from '../directory/owners.ts';
import { ruleDefaults } from '../directory/rules.ts';
import type { OutcomeReads } from '../outcomes/reads.ts';
import { createRecordReader, createRecordsReader } from '../outcomes/record-reader.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import type { Log } from '../telemetry/log.ts';
import type { MetadataMetrics } from '../telemetry/metadata-metrics.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { Account } from './account/account.ts';
import type { ApiDeps } from './api/deps.ts';
import { createApi } from './api/server.ts';
import type { Audit } from './audit/audit.ts';
import type { Console } from './console/console.ts';
import { createExplore, type Readers } from './explore/explore.ts';
import type { Inspected } from './inspect/inspected.ts';
import type { PulseReads } from './pulse/open-pulse.ts';
import type { Records } from './records/store.ts';
import type { Refresh } from './refresh/refresh.ts';
import { policyDefaultsOf } from './reports/policies.ts';
import type { AdminTokens } from './tokens/admin-tokens.ts';

/** The services behind the API: it answers once all of them have begun. */
export type Services = {
  readonly bus: Bus;
  readonly pipelines: Pipelines;
  readonly records: Records;
  readonly adminTokens: AdminTokens;
  readonly audit: Audit;
  readonly refresh: Refresh;
  readonly outcomes: OutcomeReads;
  readonly account: Account;
  readonly pulse: PulseReads;
  readonly console: Console | undefined;
  readonly inspected: Inspected;
};

type RoleParts = Pick<ApiDeps, 'tables' | 'placing' | 'retentionDays' | 'readiness'> & {
  readonly settings: Settings;
  readonly metrics: MetadataMetrics;
  readonly clickhouse: Clickhouse;
  readonly readers: Readers;
  readonly log: Log;
  /** Undefined where tracing is off. */
  readonly tracing: Tracing | undefined;
};

/** The admin API of the metadata role, made of its services and its clients of the stores. */
export const createRoleApi = (
  { bus, pipelines, ...services }: Services,
  { settings, metrics, clickhouse, readers, ...parts }: RoleParts,
): ReturnType<typeof createApi> => {
  const { records, account } = services;
  const rules = ruleDefaults(pipelines);
  return createApi({
    ...services,
    ...parts,
    tablePrefix: settings.tablePrefix,
    deadLetters: createDeadLetterAdmin({
      bus,
      claims: records.system,
      claimsBucket: buckets.system,
      encodeItem: createReceivedItemEncoder({
        owners: createOwners({ records: records.bucket, columns: records.columns }, rules.source, Date.now),
        retentionDays: retentionIn(pipelines),
      }),
      readRecord: createRecordReader(clickhouse),
      readRecords: createRecordsReader(clickhouse),
      readKeptDays: createKeptDays({ records: records.bucket, retentionDays: retentionIn(pipelines) }),
      isRead: (stream) => pipelines.streams.some(({ name }) => name === stream),
      now: Date.now,
    }),
    orphans: account.orphans,
    explore: createExplore({ role: settings.consoleExplore, records, readers, now: Date.now }),
    resumeConsumer: async (pipeline) => {
      await records.system.put(systemKeys.resume(pipeline), { at: Date.now() });
    },
    policyDefaults: policyDefaultsOf(pipelines),
    pipelineRetention: retentionIn(pipelines),
    isConnected: () => bus.connected,
    onAnswer: (status) => metrics.requests.inc({ status: String(status) }),
  });
};
