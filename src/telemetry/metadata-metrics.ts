import { Counter } from 'prom-client';
import { createRegistry, tlsMetrics } from './shared-metrics.ts';

/** Figures of metadata. */
export const createMetadataMetrics = () => {
  const registry = createRegistry('metadata');
  const registers = [registry];
  return {
    registry,
    requests: new Counter({
      name: 'tidemark_metadata_requests_total',
      help: 'Admin API requests answered, by HTTP status',
      labelNames: ['status'],
      registers,
    }),
    pulsesIgnored: new Counter({
      name: 'tidemark_metadata_pulses_ignored_total',
      help: 'Pulses of processes that were ignored: malformed, or of more processes than the limit of 512 (too_many)',
      labelNames: ['why'],
      registers,
    }),
    streamsMended: new Counter({
      name: 'tidemark_streams_mended_total',
      help: 'Streams that were made again after they were missing, or changed back to their definition',
      labelNames: ['stream', 'kind'],
      registers,
    }),
    ...tlsMetrics('metadata', registers),
  };
};

export type MetadataMetrics = ReturnType<typeof createMetadataMetrics>;
