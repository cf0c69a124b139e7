import { madeOfBody } from '../model/body-memory.ts';
import type { Pipelines } from './pipelines.ts';
import type { Settings } from './settings.ts';

/** A warning for each signal whose largest body needs more memory than a receiver has for all of them. */
export const largestBodies = (
  { ingress: { bytesInFlightMax } }: Settings,
  { metrics, traces, logs, otel_metrics }: Pipelines,
): string[] =>
  Object.entries({ metrics, traces, logs, otel_metrics }).flatMap(([name, { limits }]) => {
    const needs = madeOfBody * limits.inflatedBytesMax;
    if (needs <= bytesInFlightMax) return [];
    return `${name}.yaml: a body of inflated_bytes_max needs ${needs} bytes of memory, TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX is ${bytesInFlightMax}: such a request passes only while hardly any other is in flight, and other requests above 2 MiB are answered 503 meanwhile. Raise the setting, or lower inflated_bytes_max`;
  });
