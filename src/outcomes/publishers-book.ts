import { ownerColumns, type Pipeline } from '../model/signals.ts';
import type { MessageKey } from '../wire/message-key.ts';
import { serialText } from '../wire/message-serial.ts';
import { BookMinute, type Held, type Line, type OwnerItems } from './book-minute.ts';
import type { DoubtfulLine, PublishedLine } from './rows.ts';

export type { OwnerItems } from './book-minute.ts';

/** What the book knows of a message. */
export type BookEntry = {
  /** Arrival of its first request, ms since the epoch. */
  readonly arrivedAt: number;
  readonly key: MessageKey;
  /** An owner once, and none without items. */
  readonly owners: readonly OwnerItems[];
};

/** The place of a message in the book, from before its first try until the result of its publish. */
export type Posting = {
  /** The header field of the message. */
  readonly serial: string;
  /** The stream has it, and had it not before: its PubAck names this sequence. */
  stored(sequence: number): void;
  /** The stream had it before this publish. */
  repeated(): void;
  /** The stream has surely not stored it. */
  notStored(): void;
  /** It may be stored. `told`: its sender is answered 2xx all the same. */
  doubtful(told: boolean): void;
};

/** Lines to be written. They replace those of earlier versions. */
export type BookFlush = {
  readonly life: number;
  readonly version: number;
  readonly doubtful: readonly DoubtfulLine[];
  /** In the order of their writing: a line with owner 0 comes after all lines that its `closed` speaks of. */
  readonly published: readonly PublishedLine[];
};

/**
 * The publishers' book of one process (architecture 10.2), in memory: no message is ever published without it or a count in
 * `onUnbooked`.
 */
export type PublishersBook = {
  /**
   * Gives a message its serial. Undefined where the book has no room, no life yet, or has ended: then the message travels without a
   * serial, and the account knows it from its settlement alone.
   */
  open(stream: string, pipeline: Pipeline, entry: BookEntry): Posting | undefined;
  /** Lines that are due; undefined for none, and while an earlier flush has no result yet. */
  take(): BookFlush | undefined;
  /** The flush is written. */
  written(): void;
  /** The flush may not be written: its lines are due again. */
  failed(): void;
  /** The publishers are closed: what has no result is doubtful, and the next flush is the last one, of all lines. */
  end(): void;
};

export type PublishersBookOptions = {
  /** The first epoch of the process; undefined while there is none. */
  readonly life: () => number | undefined;
  /** Monotonic, ms. */
  readonly now: () => number;
  readonly onUnbooked: (stream: string) => void;
  /** Lines in memory, with those that open postings will need. */
  readonly linesMax?: number;
  /** Postings of a stream between the first one without a result and the last one. */
  readonly postingsMax?: number;
};

const defaults = { linesMax: 100_000, postingsMax: 100_000 };
/** From this number of changed lines on, a flush is taken less often. */
const manyLines = 1_000;
export const manyLinesEveryMs = 5_000;
const heartbeatMs = 10_000;
/** Minutes without memory are remembered up to this number, so that no later message counts in one of them. */
const droppedMax = 10_000;
const minuteMs = 60_000;

type Result = 'open' | 'stored' | 'nothing' | 'doubtful' | 'told';

class StreamPosting implements Posting {
  readonly serial: string;
  readonly number: number;
  readonly minute: BookMinute;
  readonly entry: BookEntry;
  result: Result = 'open';
  sequence = 0;
  private readonly stream: StreamBook;

  constructor(stream: StreamBook, life: number, number: number, minute: BookMinute, entry: BookEntry) {
    this.stream = stream;
    this.number = number;
    this.minute = minute;
    this.entry = entry;
    this.serial = serialText({ life, serial: number, minute: minute.minute });
  }

  stored(sequence: number): void {
    this.sequence = sequence;
    this.settle('stored');
  }

  repeated(): void {
    this.settle('nothing');
  }

  notStored(): void {
    this.settle('nothing');
  }

  doubtful(told: boolean): void {
    this.settle(told ? 'told' : 'doubtful');
  }

  private settle(result: Result): void {
    // The first result stands: a posting that waited too long was taken for doubtful, and its line is true of it with any answer.
    if (this.result !== 'open') return;
    this.result = result;
    this.stream.count();
  }
}

/** The lines and postings of one stream. */
class StreamBook {
  readonly name: string;
  readonly pipeline: Pipeline;
  readonly minutes = new Map<number, BookMinute>();
  /** The minute that counted a message last. */
  newest: BookMinute | undefined;
  /** Every serial up to this one has its result. */
  closed = 0;
  writtenAt = Number.NEGATIVE_INFINITY;
  private readonly life: number;
  private readonly held: Held;
  private serials = 0;
  /** In the order of their serials, from `first` on. */
  private postings: StreamPosting[] = [];
  private first = 0;
  private readonly dropped = new Set<number>();
  private floor = 0;
  private last: { readonly arrived: number; readonly minute: BookMinute } | undefined;

  constructor(name: string, pipeline: Pipeline, life: number, held: Held) {
    this.name = name;
    this.pipeline = pipeline;
    this.life = life;
    this.held = held;
  }

  open(entry: BookEntry, postingsMax: number): Posting {
    const minute = this.minuteOf(Math.floor(entry.arrivedAt / minuteMs));
    const posting = new StreamPosting(this, this.life, ++this.serials, minute, entry);
    minute.open++;
    this.held.lines += entry.owners.length;
    this.postings.push(posting);
    while (this.postings.length - this.first > postingsMax) this.postings[this.first]?.doubtful(false);
    return posting;
  }

  /** Counts the postings that have a result, in the order of their serials, up to the first one without. */
  count(): void {
    for (
      let posting = this.postings[this.first];
      posting !== undefined && posting.result !== 'open';
      posting = this.postings[this.first]
    ) {
      this.countOne(posting);
      this.first++;
    }
    if (this.first === this.postings.length) this.postings = [];
    else if (this.first > 1_024 && this.first > this.postings.length / 2)
      this.postings = this.postings.slice(this.first);
    else return;
    this.first = 0;
  }

  /** Gives every open posting the result that is true of it without an answer. */
  end(): void {
    for (const posting of this.postings.slice(this.first)) posting.doubtful(false);
  }

  drop(minute: BookMinute): void {
    // The newest minute has a heartbeat after it was dropped.
    if (!this.minutes.delete(minute.minute)) return;
    minute.forget();
    if (this.last?.minute === minute) this.last = undefined;
    this.dropped.add(minute.minute);
    if (this.dropped.size <= droppedMax) return;
    const [oldest = 0] = this.dropped;
    this.dropped.delete(oldest);
    this.floor = Math.max(this.floor, oldest + 1);
  }

  private countOne({ number, minute, entry, result, sequence }: StreamPosting): void {
    this.closed = number;
    this.newest = minute;
    this.held.lines -= entry.owners.length;
    minute.open--;
    minute.isChanged = true;
    if (result === 'stored') minute.add(entry.owners, sequence);
    else if (result !== 'nothing')
      minute.addDoubtful(this.doubtfulLines(number, minute, entry, result === 'told' ? 1 : 0));
  }

  private doubtfulLines(
    serial: number,
    { text }: BookMinute,
    { key, owners }: BookEntry,
    told: 0 | 1,
  ): DoubtfulLine[] {
    const { name: stream, pipeline, life } = this;
    const of = owners.length === 0 ? [{ owner: 0, items: 0 }] : owners;
    return of.map(({ owner, items }) => ({
      stream,
      life,
      serial,
      minute: text,
      ...ownerColumns(pipeline, owner),
      items,
      base: key.base,
      first: key.first,
      told,
    }));
  }

  /** The minute that messages of this arrival count under: a later one where its lines are no longer in memory. */
  private minuteOf(arrived: number): BookMinute {
    if (this.last?.arrived === arrived) return this.last.minute;
    let number = Math.max(arrived, this.floor);
    while (this.dropped.has(number)) number++;
    let minute = this.minutes.get(number);
    if (minute === undefined) {
      minute = new BookMinute(number, this.held);
      this.minutes.set(number, minute);
    }
    this.last = { arrived, minute };
    return minute;
  }
}

/** What a flush has taken of a minute. */
type Taken = {
  readonly stream: StreamBook;
  readonly minute: BookMinute;
  readonly lines: readonly Line[];
  readonly doubtful: readonly DoubtfulLine[];
  readonly isWhole: boolean;
  readonly hadChanged: boolean;
};

class Book implements PublishersBook {
  private readonly options: Required<PublishersBookOptions>;
  private readonly streams = new Map<string, StreamBook>();
  /** With those that open postings will need. */
  private readonly held: Held = { lines: 0 };
  private life: number | undefined;
  private version = 0;
  private takenAt = Number.NEGATIVE_INFINITY;
  private flight: readonly Taken[] | undefined;
  private hasEnded = false;

  constructor(options: PublishersBookOptions) {
    this.options = { ...defaults, ...options };
  }

  open(name: string, pipeline: Pipeline, entry: BookEntry): Posting | undefined {
    this.life ??= this.options.life();
    if (this.life === undefined || this.hasEnded || !this.hasRoom(entry)) {
      this.options.onUnbooked(name);
      return undefined;
    }
    let stream = this.streams.get(name);
    if (stream === undefined) {
      stream = new StreamBook(name, pipeline, this.life, this.held);
      this.streams.set(name, stream);
    }
    return stream.open(entry, this.options.postingsMax);
  }

  take(): BookFlush | undefined {
    const { life } = this;
    if (life === undefined || this.flight !== undefined) return undefined;
    const now = this.options.now();
    if (!this.hasEnded && this.changedLines() > manyLines && now - this.takenAt < manyLinesEveryMs)
      return undefined;
    const taken = [...this.streams.values()].flatMap((stream) => this.takeOf(stream, now));
    if (taken.length === 0) return undefined;
    this.flight = taken;
    this.takenAt = now;
    const version = ++this.version;
    const ofOwners = taken.flatMap(({ stream, minute, lines }) =>
      lines.map((line) => this.lineOf(stream, minute, line)),
    );
    const ofMessages = taken.map(({ stream, minute }) => this.lineOf(stream, minute, minute.messages));
    return {
      life,
      version,
      doubtful: taken.flatMap(({ doubtful }) => doubtful),
      published: [...ofOwners, ...ofMessages],
    };
  }

  written(): void {
    const now = this.options.now();
    for (const { stream, minute, isWhole, hadChanged } of this.flight ?? []) {
      stream.writtenAt = now;
      minute.written(now, isWhole, hadChanged);
      if (minute.isDone) stream.drop(minute);
    }
    this.flight = undefined;
    this.makeRoom();
  }

  failed(): void {
    for (const { minute, lines, doubtful, hadChanged } of this.flight ?? [])
      minute.giveBack(lines, doubtful, hadChanged);
    this.flight = undefined;
  }

  end(): void {
    for (const stream of this.streams.values()) stream.end();
    this.hasEnded = true;
  }

  private takeOf(stream: StreamBook, now: number): Taken[] {
    const taken: Taken[] = [];
    for (const minute of stream.minutes.values()) {
      const isWhole = this.hasEnded || minute.isDueAgain(now);
      if (!isWhole && !minute.isChanged) continue;
      const hadChanged = minute.isChanged;
      taken.push({ stream, minute, isWhole, hadChanged, ...minute.take(isWhole) });
    }
    const { newest, writtenAt } = stream;
    // The newest minute may have left `minutes`; its line with owner 0 still says how far the stream is closed.
    if (newest !== undefined && taken.every(({ minute }) => minute !== newest)) {
      const isDue = this.hasEnded || (taken.length === 0 && now - writtenAt >= heartbeatMs);
      const nothing = { lines: [], doubtful: [], isWhole: false, hadChanged: false };
      if (isDue) taken.push({ stream, minute: newest, ...nothing });
    }
    return taken;
  }

  private lineOf({ name, pipeline, closed }: StreamBook, { text }: BookMinute, line: Line): PublishedLine {
    const { owner, messages, items, rows, bytes, dropped, sequenceFirst, sequenceLast } = line;
    return {
      stream: name,
      life: this.life ?? 0,
      minute: text,
      ...ownerColumns(pipeline, owner),
      messages,
      items,
      rows,
      bytes,
      dropped: dropped === undefined ? {} : Object.fromEntries(dropped),
      sequence_first: sequenceFirst,
      sequence_last: sequenceLast,
      closed,
      ended: this.hasEnded ? 1 : 0,
      version: this.version,
    };
  }

  private changedLines(): number {
    let lines = 0;
    for (const { minutes } of this.streams.values())
      for (const minute of minutes.values()) lines += minute.changedLines;
    return lines;
  }

  private hasRoom({ owners }: BookEntry): boolean {
    return this.held.lines + owners.length <= this.options.linesMax;
  }

  /** Near its limit the book gives up the second writing of lines that are written, the oldest first. */
  private makeRoom(): void {
    const enough = this.options.linesMax / 2;
    if (this.held.lines <= enough) return;
    const written = [...this.streams.values()]
      .flatMap((stream) => [...stream.minutes.values()].map((minute) => ({ stream, minute })))
      .filter(({ minute }) => minute.isWritten)
      .toSorted((a, b) => a.minute.writtenAt - b.minute.writtenAt);
    for (const { stream, minute } of written) {
      if (this.held.lines <= enough) return;
      stream.drop(minute);
    }
  }
}

export const createPublishersBook = (options: PublishersBookOptions): PublishersBook => new Book(options);
