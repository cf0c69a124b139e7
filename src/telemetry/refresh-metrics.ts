import type { Registry } from 'prom-client';
import { metersIn } from './meters.ts';

/**
 * Figures of the refresh job: counters of the runs that this process led, and the last run of any process. `dueSeconds` is the
 * time of the third last run of the schedule.
 */
export const createRefreshMetrics = (registry: Registry, dueSeconds: () => number = () => 0) => {
  const { counter, gauge } = metersIn(registry);
  return {
    runs: counter({
      name: 'tidemark_refresh_runs_total',
      help: 'Runs of the refresh job, by trigger (schedule, manual) and state (done, interrupted)',
      labelNames: ['trigger', 'state'],
      remedy: 'a steady rate of `interrupted`: metadata processes are restarted during runs',
    }),
    reports: counter({
      name: 'tidemark_refresh_reports_total',
      help: 'Subscriptions of reports, by outcome of a run (created, updated, unchanged, deleted, failed)',
      labelNames: ['outcome'],
      remedy: '`failed`: `tidemark refresh show <run_id>` has the reasons',
    }),
    lastDurationSeconds: gauge({
      name: 'tidemark_refresh_last_duration_seconds',
      help: 'Duration of the last run, by any process',
      remedy: 'near the interval of the job: node management is slow',
    }),
    lastFailed: gauge({
      name: 'tidemark_refresh_last_failed',
      help: 'Reports whose subscription the last run, by any process, could not write; its run record has the reasons',
      remedy: '`tidemark refresh show <run_id>` has the reasons',
    }),
    lastSuccess: gauge({
      name: 'tidemark_refresh_last_success_timestamp_seconds',
      help: 'End of the last run without a failure, Unix seconds; 0 = never in this process. Compare over all metadata processes',
      remedy: 'old in every process: `tidemark refresh list`',
    }),
    due: gauge({
      name: 'tidemark_refresh_due_timestamp_seconds',
      help: 'Third last time of the schedule (TIDEMARK_REFRESH_CRON), Unix seconds; 0 = there is none',
      remedy: 'later than the last success in every process: three runs were missed',
      collect() {
        this.set(dueSeconds());
      },
    }),
    interval: gauge({
      name: 'tidemark_refresh_interval_seconds',
      help: 'Longest time between two of the next 200 runs of the schedule (TIDEMARK_REFRESH_CRON), at the start',
      remedy: 'nothing: for comparison with the time of the last success',
    }),
    subscriptions: gauge({
      name: 'tidemark_refresh_subscriptions',
      help: 'Subscriptions that this process knows',
      remedy: 'nothing: for comparison with the number of reports',
    }),
  };
};

export type RefreshMetrics = ReturnType<typeof createRefreshMetrics>;
