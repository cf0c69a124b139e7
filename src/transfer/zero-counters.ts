import { reasonCodes } from '../model/reasons.ts';
import { applicationPipelines } from '../model/signals.ts';
import type { TransferMetrics } from '../telemetry/transfer-metrics.ts';
import { startAtZero } from '../telemetry/zero.ts';

/** Starts the counters of transfer, and the gauges that are set by an event, at 0, for all values of their closed labels; `points` are the pipelines of the QuestDB instances. */
export const startTransferAtZero = (metrics: TransferMetrics, points: readonly string[]): void => {
  const items = [...points, ...applicationPipelines];
  const pipeline = [...items, 'ledger'];
  startAtZero(metrics.messages, { pipeline, settlement: ['ack', 'retry', 'dead_letter'] });
  for (const counter of [metrics.messageBytes, metrics.redelivered, metrics.stored, metrics.rows])
    startAtZero(counter, { pipeline });
  startAtZero(metrics.dropped, { pipeline: items, reason: [...reasonCodes.times, ...reasonCodes.purges] });
  startAtZero(metrics.deadLettered, { pipeline, reason: reasonCodes.deadLetters });
  startAtZero(metrics.writes, {
    pipeline,
    outcome: ['stored', 'row_refused', 'table_missing', 'table_broken', 'failed'],
  });
  for (const counter of [metrics.guarded, metrics.killedQueries, metrics.optimised])
    startAtZero(counter, { pipeline: applicationPipelines });
  for (const label of pipeline) {
    metrics.heldBack.set({ pipeline: label }, 0);
    metrics.deadLettersHeld.set({ pipeline: label }, 0);
  }
  for (const label of points) metrics.tablesSetAside.set({ pipeline: label }, 0);
  startAtZero(metrics.ledgerRows, { kind: ['refusals', 'samples'] });
  startAtZero(metrics.ledgerRowsLost, { kind: ['refusals', 'samples'] });
};
