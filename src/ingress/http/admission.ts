/** A body that still arrives and holds bytes. */
export type ArrivingBody = {
  readonly request: object;
  /** Whether it arrives more slowly than a body may while others wait for its room. */
  isSlow(nowMs: number): boolean;
  /** Whether its sender has shown no valid credential so far. */
  isStranger(): boolean;
  /** Releases all bytes that it holds and refuses its request. */
  giveWay(): void;
};

/**
 * Request bytes that one process holds at once; above the limit receivers answer 503 before they read. Strangers, whose senders have
 * shown no valid credential so far, share half of them, so that they cannot keep the others out.
 */
export type BytesInFlight = {
  /** Whether there is room for this many bytes now; slow bodies are dropped first. Reserves nothing. */
  hasRoom(bytes: number, isStranger?: boolean): boolean;
  /**
   * Reserves room for this many bytes; false when no room is left, even after slow bodies were dropped. `own` is the number of
   * bytes that the same request holds already.
   */
  tryTake(bytes: number, own?: number, isStranger?: boolean): boolean;
  give(bytes: number, isStranger?: boolean): void;
  /** A stranger that holds this many bytes is none any more. */
  vouch(bytes: number): void;
  /** Registers a body that arrives; the returned function removes it. */
  watch(body: ArrivingBody): () => void;
  /** The requests whose bodies arrive fast, from senders that have shown a valid credential: a receiver that stops waits for them. */
  inPace(): ReadonlySet<object>;
  readonly held: number;
};

/** Under a flood of refused requests each look at all bodies would itself be a load. */
const sweepMsMin = 100;

/** `bytesMax` is the limit; `onChange` receives the held bytes after each change. */
export const createBytesInFlight = (
  bytesMax: number,
  onChange: (held: number) => void,
  now: () => number = performance.now.bind(performance),
): BytesInFlight => {
  const strangersMax = bytesMax / 2;
  let held = 0;
  let ofStrangers = 0;
  // Each has its own time, or a flood of strangers would keep the others from the sweep of all.
  const sweptAt = { all: Number.NEGATIVE_INFINITY, strangers: Number.NEGATIVE_INFINITY };
  const arriving = new Set<ArrivingBody>();

  // One request alone may always enter, or a limit below the largest body would refuse it for ever.
  const fitsIn = (all: number, most: number, bytes: number, own: number): boolean =>
    all === own || all + Math.max(1, bytes) <= most;

  const sweepSlow = (whose: keyof typeof sweptAt): void => {
    const nowMs = now();
    if (nowMs - sweptAt[whose] < sweepMsMin) return;
    sweptAt[whose] = nowMs;
    for (const body of [...arriving])
      if ((whose === 'all' || body.isStranger()) && body.isSlow(nowMs)) body.giveWay();
  };

  /** Slow bodies of known senders hold nothing of the strangers' share, so a stranger that lacks room in it drops none of them. */
  const makesRoom = (bytes: number, own: number, isStranger: boolean): boolean => {
    const fitsShare = (): boolean => !isStranger || fitsIn(ofStrangers, strangersMax, bytes, own);
    const fitsAll = (): boolean => fitsIn(held, bytesMax, bytes, own);
    if (!fitsShare()) sweepSlow('strangers');
    if (!fitsShare()) return false;
    if (!fitsAll()) sweepSlow('all');
    return fitsAll();
  };

  return {
    hasRoom: (bytes, isStranger = false) => makesRoom(bytes, 0, isStranger),
    tryTake: (bytes, own = 0, isStranger = false) => {
      if (bytes === 0) return true;
      if (!makesRoom(bytes, own, isStranger)) return false;
      held += bytes;
      if (isStranger) ofStrangers += bytes;
      onChange(held);
      return true;
    },
    give: (bytes, isStranger = false) => {
      held -= bytes;
      if (isStranger) ofStrangers -= bytes;
      onChange(held);
    },
    vouch: (bytes) => {
      ofStrangers -= bytes;
    },
    watch: (body) => {
      arriving.add(body);
      return () => arriving.delete(body);
    },
    inPace: () => {
      const nowMs = now();
      return new Set(
        [...arriving].flatMap((body) => (body.isStranger() || body.isSlow(nowMs) ? [] : [body.request])),
      );
    },
    get held() {
      return held;
    },
  };
};
