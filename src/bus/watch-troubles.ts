/** The watch of a bucket that fails: its followers keep what they knew before. */
export type WatchTrouble = { readonly bucket: string; readonly keys: string };

type Open = { why: string; readonly since: number };

type Listeners = {
  readonly onBegin: (trouble: WatchTrouble, why: string) => void;
  readonly onEnd: (trouble: WatchTrouble) => void;
};

/** The watches of one connection that fail just now. */
export type WatchTroubles = {
  /** A watch failed again. The same object names it each time. */
  failed(watch: WatchTrouble, why: string): void;
  /** It has read a whole state again. */
  over(watch: WatchTrouble): void;
  /** Nobody wants it any more. */
  dropped(watch: WatchTrouble): void;
  /** Those that have failed for a while, for `/readyz`; undefined while there are none. */
  readonly problem: string | undefined;
  /** The first failure of a watch, and its end. */
  listen(listeners: Listeners): void;
};

/** A watch that begins again after a reconnect may fail once or twice. */
const lastingMs = 5_000;

/** `now`: ms of a clock that nobody sets. */
export const createWatchTroubles = (now: () => number = performance.now.bind(performance)): WatchTroubles => {
  const open = new Map<WatchTrouble, Open>();
  const listening: Listeners[] = [];
  return {
    failed: (watch, why) => {
      const known = open.get(watch);
      if (known !== undefined) {
        known.why = why;
        return;
      }
      open.set(watch, { why, since: now() });
      for (const { onBegin } of listening) onBegin(watch, why);
    },
    over: (watch) => {
      if (!open.delete(watch)) return;
      for (const { onEnd } of listening) onEnd(watch);
    },
    dropped: (watch) => void open.delete(watch),
    get problem() {
      const texts = new Set<string>();
      for (const [{ bucket }, { why, since }] of open)
        if (now() - since >= lastingMs) texts.add(`changes of ${bucket} do not arrive: ${why}`);
      return texts.size === 0 ? undefined : [...texts].join('; ');
    },
    listen: (listeners) => void listening.push(listeners),
  };
};
