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
 * ones, which have an eighth of the room, and of the strangers' half, for themselves; half of that is for those that are known to stay
 * small. Of the others `mayGrow` is true: a body whose size nobody knows before it has arrived is small until it is large.
 */
export type BytesInFlight = {
  /** Whether there is room for this many bytes now; slow bodies are dropped first. Reserves nothing. */
  hasRoom(bytes: number, isStranger?: boolean, mayGrow?: boolean): boolean;
  /**
   * Reserves room for this many bytes; false when no room is left, even after slow bodies were dropped. `own` is the number of
   * bytes that the same request holds already.
   */
  tryTake(bytes: number, own?: number, isStranger?: boolean, mayGrow?: boolean): boolean;
  /** `left` is the number of bytes that the request holds on. */
  give(bytes: number, isStranger?: boolean, left?: number, mayGrow?: boolean): void;
  /** A stranger that holds this many bytes is none any more. */
  vouch(bytes: number, mayGrow?: boolean): void;
  /** Registers a body that arrives; the returned function removes it. */
  watch(body: ArrivingBody): () => void;
  /** The requests whose bodies arrive fast, from senders that have shown a valid credential: a receiver that stops waits for them. */
  inPace(): ReadonlySet<object>;
  readonly held: number;
};

/** Under a flood of refused requests each look at all bodies would itself be a load. */
const sweepMsMin = 100;

/** The largest body of a small request, in bytes. */
export const smallBodyBytesMax = 2 * 2 ** 20;
/** The most that a small request holds, in bytes: such a body with what is made of it. */
const smallBytesMax = 3 * smallBodyBytesMax;
/** The part of a room that large requests leave to small ones. */
const smallShare = 1 / 8;

/** What a request counts among the large ones. */
const largeBytes = (own: number): number => (own > smallBytesMax ? own : 0);
/** What a request that may grow counts among those that have not become large. */
const growingBytes = (own: number): number => own - largeBytes(own);

/** Bytes that requests hold together, of a limit. */
class Room {
  private readonly max: number;
  private readonly forSmall: number;
  held = 0;
  private ofLarge = 0;
  private ofGrowing = 0;

  constructor(max: number) {
    this.max = max;
    this.forSmall = max * smallShare;
  }

  /** Whether a request that holds `own` bytes may take as many more. */
  fits(bytes: number, own: number, mayGrow: boolean): boolean {
    // One request alone may always enter, or a limit below the largest body would refuse it for ever.
    if (this.held === own) return true;
    const more = Math.max(1, bytes);
    const isLarge = own + bytes > smallBytesMax;
    const otherLarge = this.ofLarge - largeBytes(own);
    const large = isLarge ? otherLarge + own + more : this.ofLarge;
    if ((isLarge || mayGrow) && !this.isLeftToKnown(large, this.growing(own, isLarge ? 0 : more, mayGrow)))
      return false;
    if (!isLarge) return this.held - this.ofLarge + this.bounded(this.ofLarge) + more <= this.max;
    // The same for the one large request: beside small ones it may go beyond the limit by their share.
    if (otherLarge === 0 && this.held - own <= this.forSmall) return true;
    const isLeftToSmall = otherLarge === 0 || large <= this.max - this.forSmall;
    return isLeftToSmall && this.held + more <= this.max;
  }

  take(bytes: number, own: number, mayGrow: boolean): void {
    this.move(own, own + bytes, mayGrow);
  }

  give(bytes: number, left: number, mayGrow: boolean): void {
    this.move(left + bytes, left, mayGrow);
  }

  private move(from: number, to: number, mayGrow: boolean): void {
    this.held += to - from;
    this.ofLarge += largeBytes(to) - largeBytes(from);
    if (mayGrow) this.ofGrowing += growingBytes(to) - growingBytes(from);
  }

  /** What large requests hold, without that by which one of them went beyond the limit. */
  private bounded(ofLarge: number): number {
    return Math.min(ofLarge, this.max - this.forSmall);
  }

  /** What those that may grow hold once the one that holds `own` has taken more; none of its own where that makes it large. */
  private growing(own: number, more: number, mayGrow: boolean): number {
    if (!mayGrow) return this.ofGrowing;
    return this.ofGrowing - growingBytes(own) + (more === 0 ? 0 : own + more);
  }

  /** Whether half of the small requests' share is left to those that are known to stay small. */
  private isLeftToKnown(ofLarge: number, ofGrowing: number): boolean {
    return this.bounded(ofLarge) + ofGrowing <= this.max - this.forSmall / 2;
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
  const makesRoom = (bytes: number, own: number, isStranger: boolean, mayGrow: boolean): boolean => {
    const fitsShare = (): boolean => !isStranger || strangers.fits(bytes, own, mayGrow);
    const fitsAll = (): boolean => all.fits(bytes, own, mayGrow);
    if (!fitsShare()) sweepSlow('strangers');
    if (!fitsShare()) return false;
    if (!fitsAll()) sweepSlow('all');
    return fitsAll();
  };

  return {
    hasRoom: (bytes, isStranger = false, mayGrow = false) => makesRoom(bytes, 0, isStranger, mayGrow),
    tryTake: (bytes, own = 0, isStranger = false, mayGrow = false) => {
      if (bytes === 0) return true;
      if (!makesRoom(bytes, own, isStranger, mayGrow)) return false;
      all.take(bytes, own, mayGrow);
      if (isStranger) strangers.take(bytes, own, mayGrow);
      onChange(all.held);
      return true;
    },
    give: (bytes, isStranger = false, left = 0, mayGrow = false) => {
      all.give(bytes, left, mayGrow);
      if (isStranger) strangers.give(bytes, left, mayGrow);
      onChange(all.held);
    },
    vouch: (bytes, mayGrow = false) => strangers.give(bytes, 0, mayGrow),
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
