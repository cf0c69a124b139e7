import type { MetadataMetrics } from '../telemetry/metadata-metrics.ts';
import { startAtZero } from '../telemetry/zero.ts';

/** Starts the counters of metadata at 0, for all values of their closed labels. */
export const startMetadataAtZero = (metrics: MetadataMetrics): void => {
  startAtZero(metrics.pulsesIgnored, { why: ['malformed', 'too_many'] });
  startAtZero(metrics.tlsReloads, { outcome: ['loaded', 'refused'] });
};
