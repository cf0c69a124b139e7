import {
  applicationPipelines,
  byPipeline,
  isOfApplications,
  ownerColumns,
  type Pipeline,
  pipelines,
} from '../model/signals.ts';
import type { Redaction } from './redaction.ts';
import type { UsageLine } from './rows.ts';
import { sampleBytesMax } from './samples.ts';
import { minuteText, momentText } from './times.ts';

/** Who sent a request, as it came: it is redacted and truncated where a line is made of it. */
export type UsageSender = {
  readonly address: string;
  /** The SDK's name as the sender gives it. */
  readonly sdk: string;
  /** Credentials of the request. */
  readonly secrets: readonly string[];
};

/** Counts the usage of each owner by the minute of arrival, in bounded memory. */
export type UsageBook = {
  /** A request that was answered with success, and the bytes of its body that are this owner's. `arrivedAt` in ms since the epoch. */
  add(
    pipeline: Pipeline,
    owner: number,
    arrivedAt: number,
    wireBytes: number,
    inflatedBytes: number,
    sender: UsageSender,
  ): void;
  /** The lines that changed; none before the next flush is due, and while an earlier one has no result yet. */
  take(): readonly UsageLine[];
  /** The lines taken last are written. */
  written(): void;
  /** They may not be written: they are due again. */
  failed(): void;
  /** The next flush is due at once. */
  end(): void;
};

export type UsageBookOptions = {
  /** The first epoch of the process; undefined while there is none. */
  readonly life: () => number | undefined;
  readonly redaction: Redaction;
  /** Ms since the epoch. */
  readonly now: () => number;
  /** Lines in memory; beyond this number of them, owner 0 counts. */
  readonly linesMax?: number;
};

const minuteMs = 60_000;
/** Nobody waits for usage: lines of a busy owner are written more seldom than those of the publishers' book. */
const everyMs = 5_000;
/** A minute stays in memory this long after its end, for requests that wait for their publish. */
const keepMs = 30_000;
const linesMaxDefault = 50_000;

const nobody: UsageSender = { address: '', sdk: '', secrets: [] };

/** One owner in one minute. */
class Counted {
  readonly pipeline: Pipeline;
  readonly owner: number;
  readonly minute: number;
  readonly line: number;
  requests = 0;
  wireBytes = 0;
  inflatedBytes = 0;
  secondMax = 0;
  lastAt = 0;
  sender = nobody;
  isChanged = false;
  /** Requests of the owner by second, of all its pipelines together: its lines of a minute share them. */
  readonly seconds: Uint32Array;
  private shownOf = nobody;
  private shown = { sender: '', sdk: '' };

  constructor(pipeline: Pipeline, owner: number, minute: number, line: number, seconds: Uint32Array) {
    this.pipeline = pipeline;
    this.owner = owner;
    this.minute = minute;
    this.line = line;
    this.seconds = seconds;
  }

  countSecond(arrivedAt: number): void {
    const second = Math.floor((arrivedAt % minuteMs) / 1000);
    const requests = (this.seconds[second] ?? 0) + 1;
    this.seconds[second] = requests;
    if (requests > this.secondMax) this.secondMax = requests;
  }

  /** A sender that repeats itself is redacted once. */
  shownSender(redaction: Redaction): { readonly sender: string; readonly sdk: string } {
    const { sender: now, shownOf: before } = this;
    if (now.address !== before.address || now.sdk !== before.sdk) {
      const { address, sdk, secrets } = now;
      this.shown = {
        sender: redaction.text(address, sampleBytesMax.sender, secrets),
        sdk: redaction.name(sdk, sampleBytesMax.sdk, secrets),
      };
    }
    this.shownOf = now;
    return this.shown;
  }
}

type Minute = Record<Pipeline, Map<number, Counted>>;

/** Those that the owner's other pipelines count in. */
const secondsOf = (minute: Minute, pipeline: Pipeline, owner: number): Uint32Array => {
  const others = isOfApplications(pipeline) ? applicationPipelines : [];
  for (const other of others) {
    const known = minute[other].get(owner);
    if (known !== undefined) return known.seconds;
  }
  return new Uint32Array(60);
};

class Book implements UsageBook {
  private readonly options: Required<UsageBookOptions>;
  private readonly minutes = new Map<number, Minute>();
  private newest: { readonly number: number; readonly minute: Minute } | undefined;
  private changed: Counted[] = [];
  private flight: readonly Counted[] | undefined;
  private lines = 0;
  private held = 0;
  private version = 0;
  private life: number | undefined;
  private takenAt: number;
  private hasEnded = false;

  constructor(options: UsageBookOptions) {
    this.options = { linesMax: linesMaxDefault, ...options };
    this.takenAt = options.now();
  }

  add(
    pipeline: Pipeline,
    owner: number,
    arrivedAt: number,
    wireBytes: number,
    inflatedBytes: number,
    sender: UsageSender,
  ): void {
    const counted = this.countedOf(pipeline, owner, Math.floor(arrivedAt / minuteMs));
    counted.requests++;
    counted.wireBytes += wireBytes;
    counted.inflatedBytes += inflatedBytes;
    counted.countSecond(arrivedAt);
    if (arrivedAt >= counted.lastAt) {
      counted.lastAt = arrivedAt;
      counted.sender = sender;
    }
    if (counted.isChanged) return;
    counted.isChanged = true;
    this.changed.push(counted);
  }

  take(): readonly UsageLine[] {
    this.life ??= this.options.life();
    const { life } = this;
    const now = this.options.now();
    // A clock that was set back makes it due, too.
    const isDue = this.hasEnded || Math.abs(now - this.takenAt) >= everyMs;
    if (life === undefined || this.flight !== undefined || !isDue) return [];
    this.takenAt = now;
    if (this.changed.length === 0) {
      this.forget(now);
      return [];
    }
    this.flight = this.changed;
    this.changed = [];
    this.version++;
    for (const counted of this.flight) counted.isChanged = false;
    return this.flight.map((counted) => this.lineOf(life, counted));
  }

  written(): void {
    this.flight = undefined;
    this.forget(this.options.now());
  }

  failed(): void {
    for (const counted of this.flight ?? []) {
      if (counted.isChanged) continue;
      counted.isChanged = true;
      this.changed.push(counted);
    }
    this.flight = undefined;
  }

  end(): void {
    this.hasEnded = true;
  }

  private countedOf(pipeline: Pipeline, owner: number, number: number): Counted {
    const minute = this.minuteOf(number);
    const owners = minute[pipeline];
    const known = owners.get(owner);
    if (known !== undefined) return known;
    if (this.held >= this.options.linesMax && owner !== 0) return this.countedOf(pipeline, 0, number);
    const seconds = secondsOf(minute, pipeline, owner);
    const counted = new Counted(pipeline, owner, number, ++this.lines, seconds);
    owners.set(owner, counted);
    this.held++;
    return counted;
  }

  private minuteOf(number: number): Minute {
    if (this.newest?.number === number) return this.newest.minute;
    const minute = this.minutes.get(number) ?? byPipeline(() => new Map());
    this.minutes.set(number, minute);
    this.newest = { number, minute };
    return minute;
  }

  private lineOf(life: number, counted: Counted): UsageLine {
    const { pipeline, owner, minute, line, requests, wireBytes, inflatedBytes, secondMax, lastAt } = counted;
    return {
      pipeline,
      ...ownerColumns(pipeline, owner),
      minute: minuteText(minute * minuteMs),
      life,
      line,
      requests,
      wire_bytes: wireBytes,
      inflated_bytes: inflatedBytes,
      second_max: secondMax,
      last_at: momentText(lastAt),
      ...counted.shownSender(this.options.redaction),
      version: this.version,
    };
  }

  /** Gives up minutes that are over and written; a late request begins another line of its minute. */
  private forget(now: number): void {
    for (const [number, minute] of this.minutes) {
      const all = pipelines.flatMap((pipeline) => [...minute[pipeline].values()]);
      const isOver = Math.abs(now - number * minuteMs) >= minuteMs + keepMs;
      if (!isOver || all.some(({ isChanged }) => isChanged)) continue;
      this.minutes.delete(number);
      this.held -= all.length;
      if (this.newest?.number === number) this.newest = undefined;
    }
  }
}

export const createUsageBook = (options: UsageBookOptions): UsageBook => new Book(options);
