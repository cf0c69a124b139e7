import { type SeriesSnapshot, SeriesTable } from './series-table.ts';

/** A series leaves when this many minutes have passed since its latest data point. */
const keptMinutes = 60;
const minuteMs = 60_000;
/** Slots that one sweep visits, about; the rest waits for the next one. */
const sweptAtOnce = 262_144;
const sweepEveryMs = 10_000;
/** The tables of all applications together hold about as many series; see `hasRoom`. */
const heldMaxOfAll = 1_000_000;

/** What a thread needs to judge the series of one application: its table as it was, and how many more it may have. */
export type SeriesShare = { readonly appId: number; readonly known: SeriesSnapshot; readonly room: number };

/** The series of one application whose data points a thread admitted: halves of hashes in turn. */
export type SeriesSeen = {
  readonly appId: number;
  readonly hashes: Int32Array<ArrayBuffer>;
  /** Whether it refused others. */
  readonly isFull: boolean;
};

/** The bound of each application; undefined for one without. */
export type SeriesMax = ReadonlyMap<number, number | undefined>;

/** The series that a request brought first: application, low and high half of the hash in turn. */
export type AddedSeries = number[];

export type SeriesGateOptions = {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** An application is at its bound; said at most once an hour. */
  readonly onFull: (appId: number, seriesMax: number, held: number) => void;
  /** The number of series held by all applications. */
  readonly onHeld: (held: number) => void;
  readonly heldMax?: number;
};

type Held = { readonly table: SeriesTable; sweptAt: number; toldAt: number };

const noneHeld: Held = { table: new SeriesTable(), sweptAt: 0, toldAt: 0 };

/**
 * Bounds the different series of each application that this process takes within an hour. Series that it knows go on; at the bound, new
 * ones are refused until others have had no data point for an hour. An application without a bound is not held.
 */
export class SeriesGate {
  private readonly options: SeriesGateOptions;
  private readonly heldMax: number;
  private readonly applications = new Map<number, Held>();
  private heldOfAll = 0;

  constructor(options: SeriesGateOptions) {
    this.options = options;
    this.heldMax = options.heldMax ?? heldMaxOfAll;
  }

  /** Minutes since the clock began, from 1. */
  private get minute(): number {
    return 1 + Math.floor(this.options.now() / minuteMs);
  }

  /** Series of all applications. */
  get held(): number {
    return this.heldOfAll;
  }

  /** Memory of the tables. */
  get bytes(): number {
    let bytes = 0;
    for (const { table } of this.applications.values()) bytes += table.bytes;
    return bytes;
  }

  private of(appId: number): Held {
    let held = this.applications.get(appId);
    if (held === undefined) {
      held = { table: new SeriesTable(), sweptAt: this.minute, toldAt: Number.NEGATIVE_INFINITY };
      this.applications.set(appId, held);
    }
    return held;
  }

  /** Changes one table, and keeps the number of all. */
  private change(table: SeriesTable, by: () => void): void {
    const before = table.held;
    by();
    this.heldOfAll += table.held - before;
  }

  private sweepOne(held: Held, minute: number): void {
    if (held.sweptAt === minute) return;
    held.sweptAt = minute;
    this.change(held.table, () => held.table.sweep(minute - keptMinutes));
  }

  /**
   * How many more series an application may have. When all applications together reach their bound, one that holds more than an equal
   * share of it gets no further one: so those with many series do not shut out one with few. At twice the bound nobody gets one.
   */
  private roomOf({ table }: Held, seriesMax: number): number {
    const own = seriesMax - table.held;
    if (own <= 0) return 0;
    const free = this.heldMax - this.heldOfAll;
    const share = Math.ceil(this.heldMax / this.applications.size) - table.held;
    return Math.max(0, Math.min(own, Math.max(free, Math.min(share, free + this.heldMax))));
  }

  /** The room of an application, once its expired series have left. */
  private roomNow(appId: number, held: Held, seriesMax: number, minute: number): number {
    const room = this.roomOf(held, seriesMax);
    if (room > 0) return room;
    this.sweepOne(held, minute);
    const left = this.roomOf(held, seriesMax);
    if (left === 0) this.tellFull(appId, held, seriesMax, minute);
    return left;
  }

  private tellFull(appId: number, held: Held, seriesMax: number, minute: number): void {
    if (minute - held.toldAt < keptMinutes) return;
    held.toldAt = minute;
    this.options.onFull(appId, seriesMax, held.table.held);
  }

  /**
   * The judgement of one request: whether an application may have a series, by its hash. Undefined where none has a bound. It holds for
   * this turn of the event loop. `added` gets what `forget` takes.
   */
  admits(
    bounds: SeriesMax,
    added: AddedSeries = [],
  ): ((appId: number, low: number, high: number) => boolean) | undefined {
    const { minute } = this;
    if ([...bounds.values()].every((max) => max === undefined)) return undefined;
    // The application of the data point before: most requests have one.
    let known = -1;
    let seriesMax: number | undefined;
    let held = noneHeld;
    return (appId, low, high) => {
      if (appId !== known) {
        known = appId;
        seriesMax = bounds.get(appId);
        if (seriesMax !== undefined) held = this.of(appId);
      }
      if (seriesMax === undefined) return true;
      if (held.table.touch(low, high, minute)) return true;
      if (this.roomNow(appId, held, seriesMax, minute) === 0) return false;
      held.table.add(low, high, minute);
      this.heldOfAll++;
      added.push(appId, low, high);
      return true;
    };
  }

  /** The same for a body that a thread decodes: it judges by the series that are held now. */
  shares(bounds: SeriesMax): SeriesShare[] {
    const { minute } = this;
    return [...bounds].flatMap(([appId, seriesMax]) => {
      if (seriesMax === undefined) return [];
      const held = this.of(appId);
      this.sweepOne(held, minute);
      return [{ appId, known: held.table.snapshot, room: this.roomOf(held, seriesMax) }];
    });
  }

  /** Takes over what a thread admitted. `added` gets what `forget` takes. */
  settle(bounds: SeriesMax, seen: readonly SeriesSeen[], added: AddedSeries = []): void {
    const { minute } = this;
    for (const { appId, hashes, isFull } of seen) {
      const held = this.of(appId);
      const { table } = held;
      const seriesMax = bounds.get(appId);
      if (isFull && seriesMax !== undefined) this.tellFull(appId, held, seriesMax, minute);
      this.change(table, () => {
        for (let at = 0; at < hashes.length; at += 2) {
          const low = hashes[at] ?? 0;
          const high = hashes[at + 1] ?? 0;
          if (table.add(low, high, minute)) added.push(appId, low, high);
        }
      });
    }
  }

  /**
   * Nothing of the request that brought these series is stored, so they take no place. One that another request has had meanwhile leaves,
   * too: it comes back with its next data point.
   */
  forget(added: AddedSeries): void {
    for (let at = 0; at < added.length; at += 3) {
      const table = this.applications.get(added[at] ?? 0)?.table;
      if (table === undefined) continue;
      this.change(table, () => table.remove(added[at + 1] ?? 0, added[at + 2] ?? 0));
    }
    added.length = 0;
  }

  /** Removes series that had no data point for an hour, of the applications that have waited longest. */
  sweep(): void {
    const { minute } = this;
    let slots = 0;
    for (const [appId, held] of this.applications) {
      if (slots > sweptAtOnce) break;
      if (held.sweptAt === minute) continue;
      slots += held.table.bytes / 12;
      this.sweepOne(held, minute);
      this.applications.delete(appId);
      // The last to be swept is the last in line.
      if (held.table.held > 0) this.applications.set(appId, held);
    }
    this.options.onHeld(this.heldOfAll);
  }
}

/** A gate whose series leave by a timer. */
export const startSeriesGate = (
  options: SeriesGateOptions,
): { readonly gate: SeriesGate; readonly stop: () => void } => {
  const gate = new SeriesGate(options);
  const timer = setInterval(() => gate.sweep(), sweepEveryMs).unref();
  return { gate, stop: () => clearInterval(timer) };
};
