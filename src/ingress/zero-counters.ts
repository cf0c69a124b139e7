import { connectionRefusals } from '../http/connections.ts';
import { reasonCodes } from '../model/reasons.ts';
import { pipelines } from '../model/signals.ts';
import type { IngressMetrics } from '../telemetry/ingress-metrics.ts';
import { startAtZero } from '../telemetry/zero.ts';
import { receiverNames } from './refusal-recorder.ts';
import { refusalStatuses } from './refused.ts';

/** 408 and 431 are answers to requests that could not be read, 417 to an unknown Expect. */
const statuses = [...new Set([200, 408, 417, 431, ...Object.values(refusalStatuses)])].map(String);

/** Starts the counters of a receiver at 0, for all values of their closed labels. */
export const startIngressAtZero = (metrics: IngressMetrics): void => {
  const all = { receiver: receiverNames };
  startAtZero(metrics.requests, { ...all, status: statuses });
  startAtZero(metrics.refused, { receiver: ['push'], reason: reasonCodes.pushes });
  startAtZero(metrics.refused, { receiver: ['otlp', 'grpc'], reason: reasonCodes.exports });
  startAtZero(metrics.accepted, { pipeline: pipelines });
  startAtZero(metrics.deferred, { pipeline: pipelines, reason: reasonCodes.times });
  startAtZero(metrics.dropped, { pipeline: ['metrics'], reason: reasonCodes.points });
  startAtZero(metrics.dropped, { pipeline: ['traces'], reason: reasonCodes.spans });
  startAtZero(metrics.dropped, { pipeline: ['logs'], reason: reasonCodes.records });
  startAtZero(metrics.dropped, { pipeline: ['otel_metrics'], reason: reasonCodes.dataPoints });
  startAtZero(metrics.valuesDropped, { pipeline: ['metrics'], reason: reasonCodes.pointValues });
  startAtZero(metrics.valuesDropped, { pipeline: ['traces'], reason: reasonCodes.spanValues });
  startAtZero(metrics.valuesDropped, { pipeline: ['logs'], reason: reasonCodes.recordValues });
  startAtZero(metrics.valuesDropped, { pipeline: ['otel_metrics'], reason: reasonCodes.dataPointValues });
  startAtZero(metrics.duplicates, { pipeline: pipelines });
  startAtZero(metrics.bodyBytes, all);
  // No alarm reads the growth of the other reasons.
  startAtZero(metrics.connectionsEnded, { ...all, reason: connectionRefusals });
  startAtZero(metrics.tlsReloads, { outcome: ['loaded', 'refused'] });
  startAtZero(metrics.publishes, {
    pipeline: pipelines,
    outcome: ['stored', 'duplicate', 'not_stored', 'unconfirmed'],
  });
  startAtZero(metrics.ledgerRows, {
    kind: ['refusals', 'samples', 'published', 'doubtful', 'usage'],
  });
  startAtZero(metrics.ledgerRowsLost, { kind: ['refusals', 'samples'] });
};
