import type { Bus } from '../bus/connection.ts';

/**
 * Tells which messages may have been delivered to somebody before (design section 7.5): a message is fresh only when the stream
 * got it after this process last connected, and only once a duplicate window has passed since then. A server that was killed
 * may have forgotten deliveries and acknowledgements, so neither flag nor count says so.
 */
export type Fence = { isFresh(streamSequence: number): boolean };

export type FenceOptions = {
  readonly stream: string;
  readonly duplicateWindowMs: number;
  readonly now: () => number;
  readonly onFault: (error: unknown) => void;
};

const retryMs = 500;

export const createFence = (bus: Bus, options: FenceOptions): Fence => {
  let lastSequence = Number.POSITIVE_INFINITY;
  let windowEnd = Number.POSITIVE_INFINITY;
  let round = 0;

  const read = (mine: number): void => {
    bus
      .manager()
      .then((manager) => manager.streams.info(options.stream))
      .then((info) => {
        if (mine !== round) return;
        lastSequence = info.state.last_seq;
        windowEnd = options.now() + options.duplicateWindowMs;
      })
      .catch((error: unknown) => {
        if (mine !== round) return;
        options.onFault(error);
        setTimeout(() => read(mine), retryMs).unref();
      });
  };
  const raise = (): void => {
    lastSequence = Number.POSITIVE_INFINITY;
    round++;
  };
  // Pulls are taken up again by themselves on a reconnect, so the fence is up from the very moment the connection is lost.
  bus.onDisconnect(raise);
  bus.onReconnect(() => {
    raise();
    read(round);
  });
  read(round);
  return { isFresh: (streamSequence) => streamSequence > lastSequence && options.now() >= windowEnd };
};
