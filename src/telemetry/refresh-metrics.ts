import { Counter, Gauge, type Registry } from 'prom-client';

/**
 * Figures of the refresh job: counters of the runs that this process led, and the last run of any process. `dueSeconds` is the
 * time of the third last run of the schedule.
 */
export const createRefreshMetrics = (registry: Registry, dueSeconds: () => number = () => 0) => {
  const registers = [registry];
  return {
    runs: new Counter({
      name: 'tidemark_refresh_runs_total',
      help: 'Runs of the refresh job, by trigger (schedule, manual) and state (done, interrupted)',
      labelNames: ['trigger', 'state'],
      registers,
    }),
    reports: new Counter({
      name: 'tidemark_refresh_reports_total',
      help: 'Subscriptions of reports, by outcome of a run (created, updated, unchanged, deleted, failed)',
      labelNames: ['outcome'],
      registers,
    }),
    lastDurationSeconds: new Gauge({
      name: 'tidemark_refresh_last_duration_seconds',
      help: 'Duration of the last run, by any process',
      registers,
    }),
    lastFailed: new Gauge({
      name: 'tidemark_refresh_last_failed',
      help: 'Reports whose subscription the last run, by any process, could not write; its run record has the reasons',
      registers,
    }),
    lastSuccess: new Gauge({
      name: 'tidemark_refresh_last_success_timestamp_seconds',
      help: 'End of the last run without a failure, Unix seconds; 0 = never in this process. Compare over all metadata processes',
      registers,
    }),
    due: new Gauge({
      name: 'tidemark_refresh_due_timestamp_seconds',
      help: 'Third last time of the schedule (TIDEMARK_REFRESH_CRON), Unix seconds; 0 = there is none',
      registers,
      collect() {
        this.set(dueSeconds());
      },
    }),
    interval: new Gauge({
      name: 'tidemark_refresh_interval_seconds',
      help: 'Longest time between two of the next 200 runs of the schedule (TIDEMARK_REFRESH_CRON), at the start',
      registers,
    }),
    subscriptions: new Gauge({
      name: 'tidemark_refresh_subscriptions',
      help: 'Subscriptions that this process knows',
      registers,
    }),
  };
};

export type RefreshMetrics = ReturnType<typeof createRefreshMetrics>;
