import { collectDefaultMetrics, Registry } from 'prom-client';
import { memoryLimitBytes } from './memory-limit.ts';
import { type Meters, metersIn } from './meters.ts';
import { programVersion } from './program-version.ts';

export type { Registry } from 'prom-client';

export const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** A registry with the process's own figures (CPU, memory, event loop, GC) and the role as a label of all. */
export const createRegistry = (role: string): Registry => {
  const registry = new Registry();
  registry.setDefaultLabels({ role });
  collectDefaultMetrics({ register: registry });
  const { gauge } = metersIn(registry);
  gauge({
    name: 'tidemark_build_info',
    help: 'Always 1; the labels are the versions of the program and of Node',
    labelNames: ['version', 'node'],
    remedy: 'compare over all processes: several versions outside an upgrade mean a stalled rollout',
  }).set({ version: programVersion(), node: process.versions.node }, 1);
  gauge({
    name: 'tidemark_memory_limit_bytes',
    help: "Memory that the process may use: the limit of its container; without one, the machine's memory; of several ingress processes each has its share",
    remedy: 'for comparison with `process_resident_memory_bytes`',
  }).set(memoryLimitBytes());
  gauge({
    name: 'tidemark_clock_timestamp_seconds',
    help: 'The clock of the process, Unix seconds: compare it with the time of the scrape',
    remedy: 'differs from the time of the scrape: set both clocks by NTP; docs/runbook.md#tidemarkclockskew',
    collect() {
      this.set(Date.now() / 1000);
    },
  });
  return registry;
};

/** Metrics of the refusals and samples that a receiver or a worker publishes to LEDGER. */
export const ledgerFeedMetrics = ({ counter }: Meters) => ({
  ledgerRows: counter({
    name: 'tidemark_ledger_feed_rows_total',
    help: "Rows of refusals, samples and the publishers' book stored in LEDGER, by kind",
    labelNames: ['kind'],
    remedy: 'nothing: for comparison with the rows that were given up',
  }),
  ledgerRowsLost: counter({
    name: 'tidemark_ledger_feed_rows_lost_total',
    help: 'Rows of refusals and samples given up because LEDGER refused them or is more than half full, by kind',
    labelNames: ['kind'],
    remedy: 'samples and counts of refusals are missing, no items: find out why LEDGER does not accept them',
  }),
});

export type LedgerFeedMetrics = ReturnType<typeof ledgerFeedMetrics>;

/** The certificate of a server. */
export const tlsMetrics = (role: 'ingress' | 'metadata', { counter, gauge }: Meters) => ({
  tlsReloads: counter({
    name: `tidemark_${role}_tls_reloads_total`,
    help: 'Changed certificate files read again, by outcome (loaded, refused)',
    labelNames: ['outcome'],
    remedy: '`refused` grows: the new certificate files cannot be used',
  }),
  tlsStale: gauge({
    name: `tidemark_${role}_tls_files_refused`,
    help: '1 while the certificate files cannot be used and the previous certificate stays in use: repair the files',
    remedy: `repair the certificate files; ${role === 'ingress' ? 'the receivers use' : 'the admin API uses'} the previous certificate until it expires`,
  }),
  tlsExpiry: gauge({
    name: `tidemark_${role}_tls_certificate_expiry_timestamp_seconds`,
    help: 'Expiry of the certificate in use or of an issuer in its file, the first of them, seconds since 1970; 0 = plain HTTP',
    remedy: 'renew the certificate; it is read again without a restart',
  }),
});

export type TlsMetrics = ReturnType<typeof tlsMetrics>;
