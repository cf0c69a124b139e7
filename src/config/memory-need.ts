import { madeOfBody } from '../model/body-memory.ts';
import type { Pipelines } from './pipelines.ts';
import type { Settings } from './settings.ts';

const mebi = 2 ** 20;

/** What an ingress process has beside the bytes in flight, under load from 300 connections: docs/receivers/limits.md. */
const besideBodies = 160 * mebi;

const shown = (bytes: number): string => `${Math.ceil(bytes / mebi)} MiB`;

/**
 * The warning that an ingress process may need more memory than it may use; undefined where it fits. `limit`: bytes that one process may
 * use (`memoryLimitBytes`).
 */
export const memoryWarning = (
  { ingress: { bytesInFlightMax } }: Settings,
  { metrics, traces, logs, otel_metrics }: Pipelines,
  limit: number,
): string | undefined => {
  const largest = Math.max(
    ...[metrics, traces, logs, otel_metrics].map(({ limits }) => madeOfBody * limits.inflatedBytesMax),
  );
  // The room for bodies, or one that goes beyond it; and the eighth for small ones.
  const bodies = Math.max(bytesInFlightMax, largest) + bytesInFlightMax / 8;
  const needs = besideBodies + bodies;
  if (needs <= limit) return undefined;
  return `an ingress process may need ${shown(needs)} of memory, ${shown(bodies)} of it for bodies in flight, and has ${shown(limit)} here: beyond them it is killed. Raise the limit of the container, or lower TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX (now ${shown(bytesInFlightMax)}) and inflated_bytes_max of the pipelines (a body of that size takes ${shown(largest)})`;
};
