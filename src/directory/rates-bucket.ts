import type { FleetingBucket } from '../bus/kv.ts';

/** Of the demand of one ingress process. */
export const demandPrefix = 'demand.';

/**
 * Each ingress process writes its demand again every second: an older one belongs to a process that has ended. Memory for several
 * hundred of them.
 */
export const ratesLimits: FleetingBucket = { ttlMs: 10_000, bytesMax: 16 * 2 ** 20 };
