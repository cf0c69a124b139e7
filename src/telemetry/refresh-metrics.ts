import { Counter, Gauge, type Registry } from 'prom-client';

/** Figures of the refresh job, of the runs that this process led. */
export const createRefreshMetrics = (registry: Registry) => {
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
      help: 'Subscriptions of reports, by what became of them in a run (created, updated, unchanged, deleted, failed)',
      labelNames: ['outcome'],
      registers,
    }),
    lastDurationSeconds: new Gauge({
      name: 'tidemark_refresh_last_duration_seconds',
      help: 'How long the last run took',
      registers,
    }),
    lastFailed: new Gauge({
      name: 'tidemark_refresh_last_failed',
      help: 'Reports that the last run could not bring to node management; its run record says why',
      registers,
    }),
    lastSuccess: new Gauge({
      name: 'tidemark_refresh_last_success_timestamp_seconds',
      help: 'When a run last ended without a failure, Unix seconds; 0 = never in this process. Compare over all metadata processes',
      registers,
    }),
    subscriptions: new Gauge({
      name: 'tidemark_refresh_subscriptions',
      help: 'Subscriptions held, as this process knows them',
      registers,
    }),
  };
};

export type RefreshMetrics = ReturnType<typeof createRefreshMetrics>;
