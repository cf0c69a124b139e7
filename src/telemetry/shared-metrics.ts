import { totalmem } from 'node:os';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { programVersion } from './program-version.ts';

export type { Registry } from 'prom-client';

/** Bytes of memory that this process may use: the limit of its container, where there is none the machine's memory. */
const memoryLimitBytes = (): number => {
  const machine = totalmem();
  const limit = process.constrainedMemory();
  return limit > 0 && limit < machine ? limit : machine;
};

export const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** A registry with the process's own figures (CPU, memory, event loop, GC) and the role as a label of all. */
export const createRegistry = (role: string): Registry => {
  const registry = new Registry();
  registry.setDefaultLabels({ role });
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'tidemark_build_info',
    help: 'Always 1; the labels are the versions of the program and of Node',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version: programVersion(), node: process.versions.node }, 1);
  new Gauge({
    name: 'tidemark_memory_limit_bytes',
    help: "Memory that the process may use: the limit of its container; without one, the machine's memory",
    registers: [registry],
  }).set(memoryLimitBytes());
  new Gauge({
    name: 'tidemark_clock_timestamp_seconds',
    help: 'The clock of the process, Unix seconds: compare it with the time of the scrape',
    registers: [registry],
    collect() {
      this.set(Date.now() / 1000);
    },
  });
  return registry;
};

/** Metrics of the refusals and samples that a receiver or a worker publishes to LEDGER. */
export const ledgerFeedMetrics = (registers: Registry[]) => ({
  ledgerRows: new Counter({
    name: 'tidemark_ledger_feed_rows_total',
    help: 'Rows of refusals, samples and the book of publishers stored in LEDGER, by kind',
    labelNames: ['kind'],
    registers,
  }),
  ledgerRowsLost: new Counter({
    name: 'tidemark_ledger_feed_rows_lost_total',
    help: 'Rows of refusals and samples given up because LEDGER refused them or is more than half full, by kind',
    labelNames: ['kind'],
    registers,
  }),
});

export type LedgerFeedMetrics = ReturnType<typeof ledgerFeedMetrics>;

/** The certificate of a server. */
export const tlsMetrics = (role: 'ingress' | 'metadata', registers: Registry[]) => ({
  tlsReloads: new Counter({
    name: `tidemark_${role}_tls_reloads_total`,
    help: 'Changed certificate files read again, by outcome (loaded, refused)',
    labelNames: ['outcome'],
    registers,
  }),
  tlsStale: new Gauge({
    name: `tidemark_${role}_tls_files_refused`,
    help: '1 while the certificate files cannot be used and the previous certificate stays in use: repair the files',
    registers,
  }),
  tlsExpiry: new Gauge({
    name: `tidemark_${role}_tls_certificate_expiry_timestamp_seconds`,
    help: 'Expiry of the certificate in use, seconds since 1970; 0 = plain HTTP',
    registers,
  }),
});

export type TlsMetrics = ReturnType<typeof tlsMetrics>;
