import { setTimeout as delay } from 'node:timers/promises';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { KvBucket } from '../../bus/kv.ts';
import type { Settings } from '../../config/settings.ts';
import { errorText, Fault } from '../../model/fault.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Registry } from '../../telemetry/metrics.ts';
import { createRefreshMetrics, type RefreshMetrics } from '../../telemetry/refresh-metrics.ts';
import type { CollectorDefaults } from './document.ts';
import { createHttpNodeManagement } from './http-node-management.ts';
import { createLease, type HeldLease, type LeaseTimes, leaseTimesDefault } from './lease.ts';
import { type NodeManagement, pollingNodeManagement } from './node-management.ts';
import { type AuthorizeNode, createPollingApp } from './polling-endpoint.ts';
import type { RefreshRecords } from './reports.ts';
import { type RunDeps, runOnce } from './run.ts';
import { createRuns, type RefreshRun, type Runs } from './runs.ts';
import { parseCron, startSchedule } from './schedule.ts';
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
   * Runs now and returns the run record, or waits for the run in progress in any process and returns that one's.
   * Transient Fault `refresh_running` when it takes longer than a call waits: the run continues and its record is in
   * the list.
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

/** `run`: the last run that was begun. `tick`: the latest time of the table a run was begun for, ms since the epoch. */
const noteSchema = z.object({ run: z.int().nonnegative(), tick: z.number() });

type Led = { readonly kind: 'ran'; readonly run: RefreshRun } | { readonly kind: 'passed' };

const leaseKey = 'lease.refresh';
const runMsMaxDefault = 600_000;
const waitMsMaxDefault = 60_000;

const countRun = (metrics: RefreshMetrics, run: RefreshRun): void => {
  metrics.runs.inc({ trigger: run.trigger, state: run.state });
  for (const outcome of ['created', 'updated', 'unchanged', 'deleted'] as const) {
    metrics.reports.inc({ outcome }, run[outcome]);
  }
  metrics.reports.inc({ outcome: 'failed' }, run.failed_count);
  metrics.lastFailed.set(run.failed_count);
  metrics.lastDurationSeconds.set((run.duration_ms ?? 0) / 1000);
  if (run.failed_count === 0 && run.state === 'done') metrics.lastSuccess.set(run.finished ?? 0);
};

const nodeManagementOf = (deps: RefreshDeps, signal: AbortSignal): NodeManagement => {
  const { nodeManagement: settings } = deps.settings;
  if (settings.url === undefined) return pollingNodeManagement;
  return createHttpNodeManagement({
    settings: { ...settings, url: settings.url },
    signal,
    ...(deps.backOffMs === undefined ? {} : { backOffMs: deps.backOffMs }),
  });
};

/** Throws a permanent Fault `config_invalid` for settings that cannot be used. Nothing runs before `start` or `runNow`. */
export const createRefresh = (deps: RefreshDeps): Refresh => {
  const { records, system, log, now = Date.now, leaseTimes = leaseTimesDefault } = deps;
  const waitMsMax = deps.waitMsMax ?? waitMsMaxDefault;
  const lookEveryMs = Math.min(1_000, leaseTimes.renewMs / 4);
  const table = parseCron(deps.settings.refresh.cron);
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const nodeManagement = nodeManagementOf(deps, stopping.signal);
  const metrics = createRefreshMetrics(deps.registry);
  const runs = createRuns(system);
  const subscriptions = openSubscriptions(deps.bucket, (fault) => log.error({}, errorText(fault)));
  const lease = createLease(system, leaseKey, noteSchema, leaseTimes);
  const runDeps: RunDeps = {
    records,
    subscriptions,
    runs,
    nodeManagement,
    defaults: deps.defaults,
    runMsMax: deps.runMsMax ?? runMsMaxDefault,
    now,
    stopping: stopping.signal,
    log,
  };
  let schedule: { stop(): void } | undefined;
  let leading: Promise<Led> | undefined;
  const followers = new Set<Promise<void>>();

  /** Under the lease: one run, and its record. */
  const runUnder = async (held: HeldLease, runId: number, trigger: RefreshRun['trigger']): Promise<Led> => {
    try {
      const run = await runOnce(runDeps, held, runId, trigger);
      countRun(metrics, run);
      metrics.subscriptions.set(subscriptions.list().length);
      const { failed: _, ...figures } = run;
      if (run.failed_count === 0) log.info(figures, 'the refresh job ran');
      else log.warn(figures, 'the refresh job ran, and some reports failed; its record has their reasons');
      return { kind: 'ran', run };
    } finally {
      await held.release();
    }
  };

  /** `passed` when another process has the lease, or the time `tick` had its run already. One at a time in this process. */
  const lead = (trigger: RefreshRun['trigger'], tick: number): Promise<Led> => {
    const leadOnce = async (): Promise<Led> => {
      await Promise.race([Promise.all([records.ready, subscriptions.ready]), stopped]);
      let runId = 0;
      const held = await lease.acquire(({ state, note = { run: 0, tick: 0 } }) => {
        if (stopping.signal.aborted) return undefined;
        if (state !== 'expired' && note.tick >= tick) return undefined;
        runId = note.run + 1;
        return { run: runId, tick: Number.isFinite(tick) ? Math.max(tick, note.tick) : note.tick };
      });
      return held === undefined ? { kind: 'passed' } : runUnder(held, runId, trigger);
    };
    leading ??= leadOnce().finally(() => {
      leading = undefined;
    });
    return leading;
  };

  const pause = (): Promise<void> =>
    delay(lookEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined);

  /** Leads the run of this time, or looks on while another process does, to take over if that one dies. */
  const followTick = async (tick: number): Promise<void> => {
    const until = table.next(Number.isFinite(tick) ? tick : now()) ?? Number.POSITIVE_INFINITY;
    let lastMessage = '';
    while (!stopping.signal.aborted) {
      try {
        if ((await lead('schedule', tick)).kind === 'ran') return;
        if ((await lease.observe()).state === 'free') return;
        lastMessage = '';
      } catch (error) {
        const message = errorText(error);
        if (message !== lastMessage) log.warn({}, `the refresh job waits: ${message}`);
        lastMessage = message;
        // The next time of the cron expression delivers what this run could not.
        if (!(error instanceof Fault) || error.kind !== 'transient' || until <= now()) return;
      }
      await pause();
    }
  };
  const follow = (tick: number): void => {
    const following = followTick(tick).finally(() => followers.delete(following));
    followers.add(following);
  };

  /** A call by hand: `Infinity` is later than any time of the table, so it always gets a run. */
  const runByHand = async (isWaiting: () => boolean): Promise<RefreshRun> => {
    let watched: number | undefined;
    while (isWaiting() && !stopping.signal.aborted) {
      if (leading === undefined) {
        const { state, note } = await lease.observe();
        if (state === 'held') watched = note?.run;
        else if (watched !== undefined) {
          const run = await runs.get(watched);
          if (run?.state === 'done') return run;
          watched = undefined;
        }
      }
      if (watched === undefined) {
        const led = await lead('manual', Number.POSITIVE_INFINITY);
        if (led.kind === 'ran') return led.run;
      }
      await pause();
    }
    throw new Fault('transient', 'refresh_stopped', 'this process is stopping');
  };

  return {
    ready: subscriptions.ready,
    start: () => {
      schedule ??= startSchedule(table, follow, now);
      follow(Number.NEGATIVE_INFINITY);
    },
    stop: async () => {
      stopping.abort();
      schedule?.stop();
      await leading?.catch(() => undefined);
      await Promise.all(followers);
      subscriptions.stop();
    },
    runNow: async () => {
      let isWaiting = true;
      let timer: NodeJS.Timeout | undefined;
      const bound = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          isWaiting = false;
          reject(
            new Fault(
              'transient',
              'refresh_running',
              `the refresh run did not finish within ${waitMsMax} ms and continues; see its run record`,
            ),
          );
        }, waitMsMax);
      });
      const run = runByHand(() => isWaiting);
      run.catch((error: unknown) => {
        if (!isWaiting) log.warn({}, `a refresh run by hand: ${errorText(error)}`);
      });
      return Promise.race([run, bound]).finally(() => clearTimeout(timer));
    },
    runs: { list: runs.list, get: runs.get },
    subscriptions: {
      list: () => subscriptions.list().map((one) => viewSubscription(one, 0)),
      get: async (dataId) => {
        const held = await subscriptions.read(dataId);
        return held && viewSubscription(held.value, 4);
      },
    },
    pollingApp: createPollingApp(subscriptions, deps.authorizeNode),
    metrics,
  };
};
