import { isUtf8 } from 'node:buffer';
import { Fault } from '../../model/fault.ts';
import { type TimePolicy, validatePointTime } from '../../model/time.ts';
import { timeDistance } from '../../model/time-distance.ts';
import type { UidBase } from '../../model/uid.ts';
import type { ColumnCaps } from '../../wire/column-naming.ts';
import { costOf, pointCost, runBudget, runsMax } from './cutting.ts';
import { DayTally } from './day-tally.ts';
import { type EncodedPoints, newRun, nothingEncoded, type Run } from './encoded-points.ts';
import {
  columnsExceeded,
  type DeferredOdd,
  type Drop,
  deferPoint,
  type OddPointContext,
  ordinalsOf,
  readOddPoint,
} from './odd-point.ts';
import { PointReader } from './point-reader.ts';
import { PointRows } from './point-rows.ts';
import type { PointTable } from './point-table.ts';
import { parseAt, parseStrict } from './push-body.ts';
import { bracketClose, comma, PushCursor } from './push-cursor.ts';
import { skipValue } from './push-value.ts';

/**
 * Members and elements of one point that is built. With more, the point is larger than any message under the cutting rule, which
 * counts at least sixteen for each metric and dimension. (Empty texts and members outside a point's fields do not count there, and
 * do here.)
 */
export const pointElementsMax = runBudget / 16;

const examplesMax = 20;

export type PointContext = {
  readonly source: PointTable;
  readonly base: UidBase;
  readonly arrivedAt: number;
  readonly policy: TimePolicy;
  /** The default retention removes points before this time, ms; undefined: none. */
  readonly expiringBefore?: number | undefined;
  /** The request carries an Idempotency-Key. */
  readonly isKeyed: boolean;
  readonly caps: ColumnCaps;
  /** False on the first pass: unknown names are gathered. True after those of the kept points were registered. */
  readonly namesAreFinal: boolean;
  readonly pointsMax: number;
  /** Objects, arrays, members and elements of the list. */
  readonly elementsMax: number;
  /** Return rows as bytes, not as text. */
  readonly asBytes?: boolean | undefined;
};

/** The encoded points, and the places in the body of those among the examples, by index. */
export type ListedPoints = {
  readonly encoded: EncodedPoints;
  readonly places: ReadonlyMap<number, number>;
};

const count = <K>(map: Map<K, number>, key: K, by = 1): void => {
  map.set(key, (map.get(key) ?? 0) + by);
};

// Reused by each body; no call waits between the first point of a body and its last.
const reader = new PointReader();
const rows = new PointRows();
const tally = new DayTally();
/** Reads a point that was rewritten: as UTF-8, or in the form that the reader accepts. */
const cleanCursor = new PushCursor();

/** Applies the rules of architecture 4.3 to a list of points and makes rows of the kept ones, straight from their bytes. */
class PointEncoder {
  private readonly context: PointContext;
  private oddContext: OddPointContext | undefined;
  private readonly cursor: PushCursor;
  private readonly isNarrow: boolean;
  private readonly expiringBefore: number;
  private run: Run = newRun(0);
  private readonly result: EncodedPoints = nothingEncoded(this.run);
  private readonly places = new Map<number, number>();
  /** Names among the examples of lost values; made for the first one. */
  private shownNames: Set<string> | undefined;
  /** The rows hold more than ASCII. */
  private hasOthers = false;
  private isUtf8: boolean | undefined;
  private spent = 0;
  private index = 0;
  private ordinal = 0;
  /** The start of the current point's rows. */
  private rowsStart = 0;
  /** The place of the current point in the body. */
  private start = 0;
  private end = 0;

  constructor(cursor: PushCursor, context: PointContext) {
    const { source, base, caps } = context;
    const { unknownMetrics, unknownDimensions } = this.result;
    this.context = context;
    this.cursor = cursor;
    this.isNarrow = source.layout === 'narrow';
    this.expiringBefore = context.expiringBefore ?? 0;
    rows.open(source, base);
    reader.open(this.isNarrow, rows.front);
    reader.metrics.open(source.metrics, unknownMetrics, caps.metricsMax);
    reader.dimensions.open(source.dimensions, unknownDimensions, caps.dimensionsMax);
  }

  encode(): ListedPoints | undefined {
    const { cursor, context } = this;
    const elementsBefore = cursor.elements;
    do {
      if (this.index === context.pointsMax || !this.encodePoint()) return undefined;
      if (this.result.isTooMuch) break;
      if (cursor.elements - elementsBefore > context.elementsMax) return undefined;
    } while (cursor.more());
    if (!this.result.isTooMuch && !cursor.take(bracketClose)) return undefined;
    this.endRun(this.result.isTooMuch ? this.rowsStart : rows.rows.length);
    this.result.ordinals = this.ordinal;
    return { encoded: this.result, places: this.places };
  }

  /** False for an invalid point. */
  private encodePoint(): boolean {
    const { cursor } = this;
    cursor.peek();
    const { at: start, elements: elementsBefore } = cursor;
    this.rowsStart = rows.rows.length;
    cursor.hasOthers = false;
    cursor.isStrict = true;
    rows.begin();
    const isRead = reader.read(cursor, false);
    if (!isRead) {
      cursor.at = start;
      cursor.elements = elementsBefore;
      if (!skipValue(cursor)) return false;
    }
    this.start = start;
    this.end = cursor.at;
    const elements = cursor.elements - elementsBefore + (cursor.peek() === comma ? 1 : 0);
    if (elements > pointElementsMax) this.dropTooLarge();
    else if (!isRead || !this.encodeAsUtf8()) this.encodeOdd();
    this.index++;
    return true;
  }

  /** Encodes the point that was read, rewritten where it is not UTF-8; false where its result makes it an odd point. */
  private encodeAsUtf8(): boolean {
    const { cursor, start, end } = this;
    const { bytes } = cursor;
    if (cursor.hasOthers) this.isUtf8 ??= isUtf8(bytes);
    if (!cursor.hasOthers || this.isUtf8 === true || isUtf8(bytes.subarray(start, end)))
      return this.encodeRead(cursor);
    if (end - start <= runBudget) {
      this.beginClean(bytes.toString('utf8', start, end));
      const isEncoded = reader.read(cleanCursor, false) && this.encodeRead(cleanCursor);
      cleanCursor.close();
      if (isEncoded) return true;
    }
    // The reader has not noted the digits that it read.
    cursor.isStrict = false;
    return false;
  }

  /** Encodes the point that was read from this cursor; false where its result makes it an odd point. */
  private encodeRead(cursor: PushCursor): boolean {
    const { context } = this;
    const { metricsCount, overCap } = reader;
    const cost = costOf(this.isNarrow ? metricsCount : 1, reader.repeatedSize, reader.metricsSize);
    if (cost > runBudget || overCap === metricsCount) return false;
    if (reader.time === undefined && context.isKeyed) return false;
    const reason =
      reader.time === undefined
        ? undefined
        : validatePointTime(reader.time, context.arrivedAt, context.policy);
    const ordinals = this.isNarrow ? metricsCount : 1;
    if (!this.take(cost, ordinals)) return true;
    if (reason === undefined) this.keep(cursor, ordinals);
    else {
      rows.rows.length = this.rowsStart;
      this.defer(deferPoint(this.build(), reason), ordinals);
    }
    return true;
  }

  /** Builds the current point. */
  private build(): unknown {
    const { bytes, isStrict } = this.cursor;
    return isStrict ? parseStrict(bytes, this.start, this.end) : parseAt(bytes, this.start);
  }

  /** Encodes an odd point from its object. */
  private encodeOdd(): void {
    const { isNarrow } = this;
    rows.rows.length = this.rowsStart;
    const point = this.build();
    const cost = pointCost(point, isNarrow);
    const ordinals = ordinalsOf(point, isNarrow);
    if (!this.take(cost, ordinals)) return;
    this.oddContext ??= {
      ...this.context,
      ...{ metrics: reader.metrics, metricsMax: this.context.caps.metricsMax },
    };
    const odd = readOddPoint(point, cost > runBudget, this.oddContext);
    if (odd.kind === 'kept') {
      this.readClean(odd.text);
      this.keep(cleanCursor, ordinals);
      cleanCursor.close();
    } else if (odd.kind === 'dropped') {
      this.places.set(this.index, this.start);
      this.drop(odd);
      this.ordinal += ordinals;
    } else this.defer(odd, ordinals);
  }

  private defer({ reason, timestamp, got, text }: DeferredOdd, ordinals: number): void {
    const { arrivedAt, policy } = this.context;
    this.places.set(this.index, this.start);
    const detail = this.wantsExample(reason) ? timeDistance(reason, timestamp, arrivedAt, policy) : '';
    this.addExample({ reason, field: 'timestamp', detail, got });
    count(this.result.dropped, reason);
    count(this.result.deferred, reason);
    this.run.deferred.push(text);
    this.run.deferredOrdinals.push(this.ordinal);
    this.ordinal += ordinals;
  }

  private beginClean(text: string): void {
    cleanCursor.open(Buffer.from(text), 0);
    rows.rows.length = this.rowsStart;
    rows.begin();
  }

  private readClean(text: string): void {
    this.beginClean(text);
    if (!reader.read(cleanCursor, true))
      throw new Fault('internal', 'odd_point', 'a valid point was not read');
  }

  private dropTooLarge(): void {
    rows.rows.length = this.rowsStart;
    if (this.spent > 0 && !this.beginRun()) return;
    this.spent = runBudget + 1;
    this.run.last = this.ordinal;
    const detail = `the point has more than ${pointElementsMax} members and elements`;
    this.drop({ reason: 'item_too_large', field: '', detail, got: '' });
    this.ordinal++;
  }

  /** Finds room for the next point, in another run if need be; false: the request needs more messages than the limit. */
  private take(cost: number, ordinals: number): boolean {
    if (this.spent + cost > runBudget && this.spent > 0 && !this.beginRun()) return false;
    this.spent += cost;
    this.run.last = this.ordinal + ordinals - 1;
    return true;
  }

  private beginRun(): boolean {
    const { result } = this;
    if (result.runs.length === runsMax) {
      result.isTooMuch = true;
      return false;
    }
    this.endRun(this.rowsStart);
    this.rowsStart = 0;
    this.run = newRun(this.ordinal);
    result.runs.push(this.run);
    this.spent = 0;
    return true;
  }

  /** The rows up to `end` are those of the run. */
  private endRun(end: number): void {
    const { run } = this;
    const { rows: buffer } = rows;
    if (this.context.asBytes === true) run.bytes = new Uint8Array(buffer.bytes.subarray(0, end));
    else run.text = buffer.bytes.toString(this.hasOthers ? 'utf8' : 'latin1', 0, end);
    buffer.keepFrom(end);
    run.days = tally.take();
  }

  private keep(cursor: PushCursor, ordinals: number): void {
    const { run, result, context } = this;
    const { metrics, dimensions, overCap } = reader;
    if (context.namesAreFinal && metrics.newNames.length + dimensions.newNames.length > 0)
      throw new Fault('internal', 'name_unregistered', 'an accepted point has a name without a column');
    const time = reader.time ?? context.arrivedAt;
    const written = rows.write(reader, cursor, this.ordinal, time);
    tally.add(time, written, rows.ordinals);
    run.rows += written;
    run.points++;
    if (time < run.timeMin) run.timeMin = time;
    if (time > run.timeMax) run.timeMax = time;
    if (time < this.expiringBefore) result.pointsExpiring++;
    if (cursor.hasOthers) this.hasOthers = true;
    result.accepted++;
    if (overCap > 0) this.lose(overCap);
    result.valuesRounded += reader.rounded;
    metrics.keepPoint();
    dimensions.keepPoint();
    this.ordinal += ordinals;
  }

  /** Counts the values of the current point that have no column, and shows the names that were not shown yet. */
  private lose(values: number): void {
    const { lostExamples, exampleOrdinals, valuesDropped } = this.result;
    const reason = 'metric_columns_exceeded';
    count(valuesDropped, reason, values);
    for (let at = 0; at < values && lostExamples.length < examplesMax; at++) {
      const name = reader.lost[at]?.text ?? '';
      this.shownNames ??= new Set();
      if (this.shownNames.has(name)) continue;
      this.shownNames.add(name);
      const detail = columnsExceeded(this.context.caps.metricsMax);
      lostExamples.push({ index: this.index, reason, field: `metrics.${name}`, detail, got: '' });
      exampleOrdinals.set(this.index, this.ordinal);
      this.places.set(this.index, this.start);
    }
  }

  private drop({ reason, field, detail, got }: Drop): void {
    this.addExample({ reason, field, detail, got });
    count(this.result.dropped, reason);
    count(this.run.dropped, reason);
  }

  private wantsExample(reason: Drop['reason']): boolean {
    const { examples, dropped } = this.result;
    return examples.length < examplesMax || !dropped.has(reason);
  }

  /** Call it before the point is counted. */
  private addExample(drop: Drop): void {
    const { examples, lateExamples, exampleOrdinals } = this.result;
    if (!this.wantsExample(drop.reason)) {
      this.places.delete(this.index);
      return;
    }
    (examples.length < examplesMax ? examples : lateExamples).push({ index: this.index, ...drop });
    exampleOrdinals.set(this.index, this.ordinal);
  }
}

/**
 * Encodes the points of the list that the cursor has entered, and leaves it. Undefined for an invalid list, an empty one, and one
 * with more points or elements than the limit. Never throws for any bytes of a sender.
 */
export const encodeList = (cursor: PushCursor, context: PointContext): ListedPoints | undefined => {
  try {
    return new PointEncoder(cursor, context).encode();
  } finally {
    reader.close();
    rows.close();
    tally.clear();
  }
};
