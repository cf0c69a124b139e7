import type { Bus } from '../bus/connection.ts';
import { createPublisher } from '../bus/publisher.ts';
import { streamState } from '../bus/stream-state.ts';
import type { Log } from '../telemetry/log.ts';
import type { LedgerFeedMetrics } from '../telemetry/shared-metrics.ts';
import { startFeed } from './feed.ts';
import { createRedaction } from './redaction.ts';
import { createRefusals, type Refusals } from './refusals.ts';
import { createSamples, type Samples } from './samples.ts';

export type LedgerFeedOptions = {
  readonly bus: Bus;
  readonly metrics: LedgerFeedMetrics;
  /** Whether a text is a credential of this deployment. */
  readonly isCredential: (text: string) => boolean;
  readonly boot: () => number | undefined;
  readonly log: Log;
};

/** The lines of a process for LEDGER beside the outcomes. */
export type LedgerFeed = { readonly refusals: Refusals; readonly samples: Samples; stop(): Promise<void> };

const stream = 'LEDGER';

/** No caller waits for these publishes, so they may take as long as a server takes to return. */
const publishing = { deadlineMs: 10_000, awayMs: 10_000 };

/** Refusals and samples of this process, on their way to LEDGER from now on. To be stopped before its bus is closed. */
export const openLedgerFeed = ({ bus, metrics, isCredential, boot, log }: LedgerFeedOptions): LedgerFeed => {
  const publisher = createPublisher(bus, publishing);
  const onLost = (kind: 'refusals' | 'samples', rows: number): void =>
    metrics.ledgerRowsLost.inc({ kind }, rows);
  const refusals = createRefusals({ now: Date.now });
  const samples = createSamples({
    now: Date.now,
    redaction: createRedaction(isCredential),
    onLost: (rows) => onLost('samples', rows),
  });
  const feed = startFeed({
    publisher,
    refusals,
    samples,
    boot,
    fill: async () => {
      const { bytes, bytesMax } = await streamState(bus, stream);
      return bytesMax > 0 ? bytes / bytesMax : 0;
    },
    onPublished: (kind, rows) => metrics.ledgerRows.inc({ kind }, rows),
    onLost,
    log,
  });
  return {
    refusals,
    samples,
    stop: async () => {
      await feed.stop();
      publisher.close();
    },
  };
};
