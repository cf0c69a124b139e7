import type { Registry } from 'prom-client';

/** Between the begins of two texts, in ms: a text takes milliseconds of the event loop, and anybody may ask for it. */
const spacingMs = 100;

/**
 * The text of a registry as bytes. Calls that come before a text is begun share it, so each has the values of its own time or later; the next text
 * is begun 100 ms after the last one at the earliest, and once that is made.
 */
export const createScrapes = (registry: Pick<Registry, 'metrics'>): (() => Promise<Buffer>) => {
  let begunAt = Number.NEGATIVE_INFINITY;
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<Buffer> | undefined;

  const make = async (): Promise<Buffer> => {
    await running;
    const waitMs = begunAt + spacingMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
    next = undefined;
    begunAt = performance.now();
    const text = registry.metrics();
    running = text.catch(() => undefined);
    return Buffer.from(await text);
  };

  return () => {
    next ??= make();
    return next;
  };
};
