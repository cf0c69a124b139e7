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
 * shown no valid credential so far, share half of them, so that they cannot keep the others out. Nor can large requests keep out small
 * ones, which have an eighth of the room, and of the strangers' half, for themselves.
 */
export type BytesInFlight = {
  /** Whether there is room for this many bytes now; slow bodies are dropped first. Reserves nothing. */
  hasRoom(bytes: number, isStranger?: boolean): boolean;
  /**
   * Reserves room for this many bytes; false when no room is left, even after slow bodies were dropped. `own` is the number of
   * bytes that the same request holds already.
   */
  tryTake(bytes: number, own?: number, isStranger?: boolean): boolean;
  /** `left` is the number of bytes that the request holds on. */
  give(bytes: number, isStranger?: boolean, left?: number): void;
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

/** The most that a small request holds, in bytes: a body of 2 MiB with what is made of it. */
const smallBytesMax = 6 * 2 ** 20;
/** The part of a room that large requests leave to small ones. */
const smallShare = 1 / 8;

/** What a request counts among the large ones. */
const largeBytes = (own: number): number => (own > smallBytesMax ? own : 0);

/** Bytes that requests hold together, of a limit. */
class Room {
  private readonly max: number;
  private readonly forSmall: number;
  held = 0;
  private ofLarge = 0;

  constructor(max: number) {
    this.max = max;
    this.forSmall = max * smallShare;
  }

  /** Whether a request that holds `own` bytes may take as many more. */
  fits(bytes: number, own: number): boolean {
    // One request alone may always enter, or a limit below the largest body would refuse it for ever.
    if (this.held === own) return true;
    const more = Math.max(1, bytes);
    if (own + bytes <= smallBytesMax) {
      const ofLarge = Math.min(this.ofLarge, this.max - this.forSmall);
      return this.held - this.ofLarge + ofLarge + more <= this.max;
    }
    const otherLarge = this.ofLarge - largeBytes(own);
    // The same for the one large request: beside small ones it may go beyond the limit by their share.
    if (otherLarge === 0 && this.held - own <= this.forSmall) return true;
    const isLeftToSmall = otherLarge === 0 || otherLarge + own + more <= this.max - this.forSmall;
    return isLeftToSmall && this.held + more <= this.max;
  }

  take(bytes: number, own: number): void {
    this.held += bytes;
    this.ofLarge += largeBytes(own + bytes) - largeBytes(own);
  }

  give(bytes: number, left: number): void {
    this.held -= bytes;
    this.ofLarge -= largeBytes(left + bytes) - largeBytes(left);
  }
}

/** `bytesMax` is the limit; `onChange` receives the held bytes after each change. */
export const createBytesInFlight = (
  bytesMax: number,
  onChange: (held: number) => void,
  now: () => number = performance.now.bind(performance),
): BytesInFlight => {
  const all = new Room(bytesMax);
  const strangers = new Room(bytesMax / 2);
  // Each has its own time, or a flood of strangers would keep the others from the sweep of all.
  const sweptAt = { all: Number.NEGATIVE_INFINITY, strangers: Number.NEGATIVE_INFINITY };
  const arriving = new Set<ArrivingBody>();

  const sweepSlow = (whose: keyof typeof sweptAt): void => {
    const nowMs = now();
    if (nowMs - sweptAt[whose] < sweepMsMin) return;
    sweptAt[whose] = nowMs;
    for (const body of [...arriving])
      if ((whose === 'all' || body.isStranger()) && body.isSlow(nowMs)) body.giveWay();
  };

  /** Slow bodies of known senders hold nothing of the strangers' share, so a stranger that lacks room in it drops none of them. */
  const makesRoom = (bytes: number, own: number, isStranger: boolean): boolean => {
    const fitsShare = (): boolean => !isStranger || strangers.fits(bytes, own);
    const fitsAll = (): boolean => all.fits(bytes, own);
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
      all.take(bytes, own);
      if (isStranger) strangers.take(bytes, own);
      onChange(all.held);
      return true;
    },
    give: (bytes, isStranger = false, left = 0) => {
      all.give(bytes, left);
      if (isStranger) strangers.give(bytes, left);
      onChange(all.held);
    },
    vouch: (bytes) => strangers.give(bytes, 0),
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
      return all.held;
    },
  };
};
