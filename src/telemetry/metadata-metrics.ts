import { metersIn } from './meters.ts';
import { createRegistry, tlsMetrics } from './shared-metrics.ts';

/** Figures of metadata. */
export const createMetadataMetrics = () => {
  const registry = createRegistry('metadata');
  const meters = metersIn(registry);
  return {
    registry,
    requests: meters.counter({
      name: 'tidemark_metadata_requests_total',
      help: 'Admin API requests answered, by HTTP status',
      labelNames: ['status'],
      remedy: '5xx: the log of metadata has the cause',
    }),
    pulsesIgnored: meters.counter({
      name: 'tidemark_metadata_pulses_ignored_total',
      help: 'Pulses of processes that were ignored: malformed, or of more processes than the limit of 512 (too_many)',
      labelNames: ['why'],
      remedy:
        '`malformed` grows: another program publishes under `pulse.`; `too_many`: `tidemark processes` lacks some; nothing is lost',
    }),
    streamsMended: meters.counter({
      name: 'tidemark_streams_mended_total',
      help: 'Streams that were created again after they were missing, or changed back to their definition',
      labelNames: ['stream', 'kind'],
      remedy:
        'grows: somebody deleted or changed a stream of NATS; what a missing one held is in `tidemark account`',
    }),
    ...tlsMetrics('metadata', meters),
  };
};

export type MetadataMetrics = ReturnType<typeof createMetadataMetrics>;
