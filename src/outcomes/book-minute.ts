import type { DoubtfulLine } from './rows.ts';
import { minuteText } from './times.ts';

/** The items of one owner in a message. */
export type OwnerItems = {
  /** Data id or application. */
  readonly owner: number;
  /** Accepted, deferred, and dropped by the receiver. */
  readonly items: number;
  /** Rows for the store. */
  readonly rows: number;
  /** Bytes of its sections of the message. */
  readonly bytes: number;
  /** Dropped by the receiver, by reason. */
  readonly dropped: Readonly<Record<string, number>> | undefined;
};

/** The counts of one owner in one minute; of owner 0 all messages, and no items. */
export type Line = {
  readonly owner: number;
  messages: number;
  items: number;
  rows: number;
  bytes: number;
  dropped: Map<string, number> | undefined;
  sequenceFirst: number;
  sequenceLast: number;
};

/** Lines in the memory of a book. */
export type Held = { lines: number };

/** After the last change was written, its lines are written twice more: a stream of lines that loses its end loses none of them. */
const againAfterMs = [45_000, 300_000] as const;

const newLine = (owner: number): Line => ({
  owner,
  messages: 0,
  items: 0,
  rows: 0,
  bytes: 0,
  dropped: undefined,
  sequenceFirst: 0,
  sequenceLast: 0,
});

const countMessage = (line: Line, sequence: number): void => {
  line.messages++;
  // An answer without a sequence says nothing of the place.
  if (sequence <= 0) return;
  if (line.sequenceFirst === 0 || sequence < line.sequenceFirst) line.sequenceFirst = sequence;
  if (sequence > line.sequenceLast) line.sequenceLast = sequence;
};

const countItems = (line: Line, { items, rows, bytes, dropped }: OwnerItems): void => {
  line.items += items;
  line.rows += rows;
  line.bytes += bytes;
  if (dropped === undefined) return;
  line.dropped ??= new Map();
  for (const reason of Object.keys(dropped))
    line.dropped.set(reason, (line.dropped.get(reason) ?? 0) + (dropped[reason] ?? 0));
};

/** The lines of one minute of one stream, and what of them has to be written. */
export class BookMinute {
  /** Since 1970. */
  readonly minute: number;
  readonly text: string;
  /** The line with owner 0. */
  readonly messages = newLine(0);
  /** Postings of this minute without a result. */
  open = 0;
  /** Changed since the last flush. The line with owner 0 changes with any result. */
  isChanged = false;
  /** When its last change was written; later than any time before that. */
  writtenAt = Number.POSITIVE_INFINITY;
  private timesAgain = 0;
  private readonly owners = new Map<number, Line>();
  private readonly changed = new Set<Line>();
  private doubtful: DoubtfulLine[] = [];
  private changedDoubtful: DoubtfulLine[] = [];
  private readonly held: Held;

  constructor(minute: number, held: Held) {
    this.minute = minute;
    this.held = held;
    held.lines++;
    this.text = minuteText(minute * 60_000);
  }

  get changedLines(): number {
    return this.changed.size + this.changedDoubtful.length;
  }

  /** Everything of it is written, and nothing more is expected. */
  get isWritten(): boolean {
    return !this.isChanged && this.open === 0 && Number.isFinite(this.writtenAt);
  }

  get isDone(): boolean {
    return this.isWritten && this.timesAgain === againAfterMs.length;
  }

  isDueAgain(now: number): boolean {
    const afterMs = againAfterMs[this.timesAgain];
    return afterMs !== undefined && !this.isChanged && now - this.writtenAt >= afterMs;
  }

  add(owners: readonly OwnerItems[], sequence: number): void {
    countMessage(this.messages, sequence);
    for (const one of owners) {
      let line = this.owners.get(one.owner);
      if (line === undefined) {
        line = newLine(one.owner);
        this.owners.set(one.owner, line);
        this.held.lines++;
      }
      countMessage(line, sequence);
      countItems(line, one);
      this.changed.add(line);
    }
  }

  addDoubtful(lines: readonly DoubtfulLine[]): void {
    this.doubtful.push(...lines);
    this.held.lines += lines.length;
    this.changedDoubtful.push(...lines);
  }

  /** The lines of a flush beside the one with owner 0: all, or those that changed. */
  take(isWhole: boolean): { readonly lines: readonly Line[]; readonly doubtful: readonly DoubtfulLine[] } {
    const taken = isWhole
      ? { lines: [...this.owners.values()], doubtful: [...this.doubtful] }
      : { lines: [...this.changed], doubtful: this.changedDoubtful };
    this.changed.clear();
    this.changedDoubtful = [];
    this.isChanged = false;
    return taken;
  }

  /** A flush is written: of its changes, or of all lines once more. */
  written(now: number, isWhole: boolean, hadChanged: boolean): void {
    if (hadChanged) {
      this.writtenAt = now;
      this.timesAgain = 0;
    } else if (isWhole) this.timesAgain++;
  }

  /** A flush may not be written. */
  giveBack(lines: readonly Line[], doubtful: readonly DoubtfulLine[], hadChanged: boolean): void {
    // Lines that were written before are due again by their times.
    if (!hadChanged) return;
    this.isChanged = true;
    for (const line of lines) this.changed.add(line);
    this.changedDoubtful = [...doubtful, ...this.changedDoubtful];
  }

  /** Gives up the memory of everything but the line with owner 0. */
  forget(): void {
    this.held.lines -= this.owners.size + this.doubtful.length + 1;
    this.owners.clear();
    this.doubtful = [];
  }
}
