import type { DeadLetterAdmin } from '../../dead-letters/admin.ts';
import type { Orphans } from '../../dead-letters/orphans.ts';
import type { OutcomeReads } from '../../outcomes/reads.ts';
import type { Readiness } from '../../runtime/checks.ts';
import type { RetentionDays } from '../../stores/clickhouse/migrate-ttl.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Tracing } from '../../telemetry/tracing.ts';
import type { Account } from '../account/account.ts';
import type { Audit } from '../audit/audit.ts';
import type { Console } from '../console/console.ts';
import type { Explore } from '../explore/explore.ts';
import type { Inspected } from '../inspect/inspected.ts';
import type { PulseReads } from '../pulse/open-pulse.ts';
import type { Refresh } from '../refresh/refresh.ts';
import type { CreationDeps } from '../reports/creation.ts';
import type { PolicyDefaults } from '../reports/policies.ts';
import type { AdminTokens } from '../tokens/admin-tokens.ts';

/** The dependencies of the admin API. */
export type ApiDeps = CreationDeps & {
  readonly adminTokens: AdminTokens;
  readonly audit: Audit;
  /** Undefined where it is off. */
  readonly console: Console | undefined;
  readonly refresh: Refresh;
  readonly outcomes: OutcomeReads;
  readonly account: Pick<Account, 'state' | 'compareStores' | 'unreadStreams'>;
  readonly pulse: PulseReads;
  readonly inspected: Inspected;
  readonly deadLetters: DeadLetterAdmin;
  readonly orphans: Orphans;
  readonly explore: Explore;
  /** Lets the consumers of this pipeline continue, in every transfer process. */
  readonly resumeConsumer: (pipeline: string) => Promise<void>;
  readonly policyDefaults: PolicyDefaults;
  /** Days that the pipeline files keep the items of each signal of an application. */
  readonly pipelineRetention: RetentionDays;
  readonly readiness: Readiness;
  /** False while NATS is away: lists would be of unknown age, and other calls would only wait for their timeout. */
  readonly isConnected: () => boolean;
  /** Receives the status of every answer. */
  readonly onAnswer: (status: number) => void;
  /** Undefined where tracing is off. */
  readonly tracing?: Tracing | undefined;
  readonly log: Log;
};
