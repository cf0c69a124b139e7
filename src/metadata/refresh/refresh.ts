import type { Hono } from 'hono';
import { within } from '../../bus/in-time.ts';
import type { KvBucket } from '../../bus/kv.ts';
import { parseCron } from '../../config/cron.ts';
import { requirePrefix } from '../../config/node-management.ts';
import type { Settings } from '../../config/settings.ts';
import { errorText, Fault } from '../../model/fault.ts';
import type { Rounds } from '../../runtime/rounds.ts';
import type { Log } from '../../telemetry/log.ts';
import { createRefreshMetrics, type RefreshMetrics } from '../../telemetry/refresh-metrics.ts';
import type { Registry } from '../../telemetry/shared-metrics.ts';
import { type CollectorDefaults, collectorPrefixDefault } from './document.ts';
import { createHttpNodeManagement } from './http-node-management.ts';
import { Leader, noteSchema } from './leader.ts';
import { createLease, type LeaseTimes, leaseTimesDefault } from './lease.ts';
import { type NodeManagement, pollingNodeManagement } from './node-management.ts';
import { type AuthorizeNode, createPollingApp } from './polling-endpoint.ts';
import type { RefreshRecords } from './reports.ts';
import type { RunDeps } from './run.ts';
import { createRuns, type RefreshRun, type Runs } from './runs.ts';
import { startSchedule } from './schedule.ts';
import { openSubscriptions, type SubscriptionView, viewSubscription } from './subscriptions.ts';

/** The operation's name, specification 4.4. */
export const refreshOperation = 'metadata.task.custom_report.refresh_custom_report_2_node_man';

export type RefreshDeps = {
  readonly records: RefreshRecords;
  /** The records bucket, for the subscriptions. */
  readonly bucket: KvBucket;
  /** The system bucket, for the lease and the run records. */
  readonly system: KvBucket;
  readonly settings: Pick<Settings, 'refresh' | 'nodeManagement'>;
  readonly defaults: CollectorDefaults;
  readonly authorizeNode: AuthorizeNode;
  readonly registry: Registry;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  readonly leaseTimes?: LeaseTimes;
  /** How long one run may take, in ms. */
  readonly runMsMax?: number;
  /** How long a call by hand waits for its answer, in ms. */
  readonly waitMsMax?: number;
  /** Before the second try of a call that failed, in ms. */
  readonly backOffMs?: number;
};

/** The refresh job of one metadata process. */
export type Refresh = {
  /** Resolves when the subscriptions were read for the first time; runs and the polling endpoint wait for it by themselves. */
  readonly ready: Promise<void>;
  /** Begins to follow the time table; a run that a killed process left is taken up once its lease expired. */
  start(): void;
  /** Ends the run of this process, if there is one, and gives the lease back. */
  stop(): Promise<void>;
  /**
   * Runs now, or behind the run in progress in any process, and returns the record of a run that began after the call.
   * Transient Fault `refresh_running` when that takes longer than a call waits: a run in progress continues, and its
   * record is in the list.
   */
  runNow(): Promise<RefreshRun>;
  readonly runs: Pick<Runs, 'list' | 'get'>;
  /** Views with masked tokens: a list shows nothing of them, a single view the first four characters. */
  readonly subscriptions: {
    list(): SubscriptionView[];
    get(dataId: number): Promise<SubscriptionView | undefined>;
  };
  /** `GET /v1/subscriptions/<biz>` with its own authorisation and problems. */
  readonly pollingApp: Hono;
  readonly metrics: RefreshMetrics;
};

const leaseKey = 'lease.refresh';
const runMsMaxDefault = 600_000;
const waitMsMaxDefault = 60_000;

const nodeManagementOf = (deps: RefreshDeps, signal: AbortSignal): NodeManagement => {
  const { nodeManagement: settings } = deps.settings;
  if (settings.url === undefined) return pollingNodeManagement;
  return createHttpNodeManagement({
    settings: { ...settings, url: settings.url },
    signal,
    ...(deps.backOffMs === undefined ? {} : { backOffMs: deps.backOffMs }),
  });
};

/** A run by hand, with the bound of a call. */
const runInTime = async (leader: Leader, waitMsMax: number, log: Log): Promise<RefreshRun> => {
  let isWaiting = true;
  let awaited = 0;
  const run = leader.runByHand((runId) => {
    awaited = runId;
  });
  run.catch((error: unknown) => {
    if (!isWaiting) log.warn({}, `a refresh run by hand: ${errorText(error)}`);
  });
  return within(run, waitMsMax, () => {
    isWaiting = false;
    return new Fault(
      'transient',
      'refresh_running',
      `refresh run ${awaited}, the first that begins after this call, has not ended within ${waitMsMax} ms; it goes on, see tidemark refresh show ${awaited}`,
    );
  });
};

/** Throws a permanent Fault `config_invalid` for settings that cannot be used. Nothing runs before `start` or `runNow`. */
export const createRefresh = (deps: RefreshDeps): Refresh => {
  const { records, system, log, now = Date.now, leaseTimes = leaseTimesDefault } = deps;
  const waitMsMax = deps.waitMsMax ?? waitMsMaxDefault;
  const lookEveryMs = Math.min(1_000, leaseTimes.renewMs / 4);
  const table = parseCron(deps.settings.refresh.cron);
  const { prefix } = deps.settings.nodeManagement;
  requirePrefix(prefix);
  const documentPrefix = prefix ?? collectorPrefixDefault;
  const stopping = new AbortController();
  const nodeManagement = nodeManagementOf(deps, stopping.signal);
  const metrics = createRefreshMetrics(deps.registry, () => (table.previous(3, now()) ?? 0) / 1000);
  metrics.interval.set(table.intervalMs() / 1000);
  const runs = createRuns(system);
  const subscriptions = openSubscriptions(deps.bucket, (fault) => log.error({}, errorText(fault)));
  const lease = createLease(system, leaseKey, noteSchema, leaseTimes);
  const run: RunDeps = {
    records,
    subscriptions,
    runs,
    nodeManagement,
    defaults: deps.defaults,
    documentPrefix,
    runMsMax: deps.runMsMax ?? runMsMaxDefault,
    reached: { change: 0, check: 0 },
    otherForms: new Map(),
    now,
    stopping: stopping.signal,
    log,
  };
  let schedule: { stop(): void } | undefined;
  let showing: Rounds | undefined;
  const leader = new Leader({ run, lease, table, metrics, lookEveryMs });

  return {
    ready: subscriptions.ready,
    start: () => {
      schedule ??= startSchedule(table, (tick) => leader.follow(tick), now);
      leader.follow(Number.NEGATIVE_INFINITY);
      showing ??= leader.showLastRuns();
    },
    stop: async () => {
      stopping.abort();
      schedule?.stop();
      await showing?.stop();
      await leader.idle();
      subscriptions.stop();
    },
    runNow: () => runInTime(leader, waitMsMax, log),
    runs: { list: runs.list, get: runs.get },
    subscriptions: {
      list: () => subscriptions.list().map((one) => viewSubscription(one, 0)),
      get: async (dataId) => {
        const held = await subscriptions.read(dataId);
        return held && viewSubscription(held.value, 4);
      },
    },
    pollingApp: createPollingApp(subscriptions, deps.authorizeNode, {
      prefix: documentPrefix,
      now: () => Math.floor(now() / 1000),
    }),
    metrics,
  };
};
