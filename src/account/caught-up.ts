import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '../bus/connection.ts';
import { type AccountedStream, queueOf } from './queue-state.ts';

export type CaughtUpDependencies = {
  readonly bus: Bus;
  readonly accounted: readonly AccountedStream[];
  /** The stream that carries the lines of both books. */
  readonly ledger: AccountedStream;
  readonly signal: AbortSignal;
  /** How long to wait; by default longer than LEDGER takes, which is written every 20 s while lines come without a pause. */
  readonly msMax?: number;
};

const pollMs = 250;

/**
 * Whether the streams and LEDGER have passed, within a while, what they held at the call. A stream that NATS has no room for holds nothing;
 * one without its consumer passes nothing.
 */
export const createCaughtUp =
  ({ bus, accounted, ledger, signal, msMax = 25_000 }: CaughtUpDependencies) =>
  async (): Promise<boolean> => {
    const until = performance.now() + msMax;
    for (const stream of [...accounted, ledger]) {
      const { last } = await queueOf(bus, stream);
      for (;;) {
        const { floor, messages } = await queueOf(bus, stream);
        if (messages === 0 || floor >= last) break;
        if (performance.now() > until) return false;
        await delay(pollMs, undefined, { signal });
      }
    }
    return true;
  };
