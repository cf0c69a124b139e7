import { isUtf8 } from 'node:buffer';
import { validatePointTime } from '../../model/time.ts';
import { uidText } from '../../model/uid.ts';
import { doubleText, escapeTag } from '../../wire/line-protocol.ts';
import { runBudget, runsMax } from './cutting.ts';
import { type EncodedPoints, newRun, nothingEncoded, type Run } from './encoded-points.ts';
import { PlainColumns } from './plain-columns.ts';
import { PlainCursor, quote } from './plain-cursor.ts';
import type { PointContext } from './point-encoder.ts';
import { RowBuffer } from './row-buffer.ts';

const comma = 0x2c;
const colon = 0x3a;
const braceOpen = 0x7b;
const braceClose = 0x7d;
const bracketClose = 0x5d;
const rowOverhead = 256;
const scalarSize = 8;

/** Parts of a row that are longer than this are not plain. */
const partBytesMax = 16 * 1024;
/** `,uid=`, 19 digits, `i `, a time and the line feed. */
const rowEndBytesMax = 64;
const billion = 1_000_000_000;
const uidTag = Buffer.from(',uid=');
const targetTag = Buffer.from(',target=');
const [metricsName, targetName, dimensionName, timestampName] = [
  Buffer.from('metrics'),
  Buffer.from('target'),
  Buffer.from('dimension'),
  Buffer.from('timestamp'),
];
const metricsBit = 1;
const targetBit = 2;
const dimensionBit = 4;
const timestampBit = 8;

export type PlainContext = Pick<
  PointContext,
  'source' | 'base' | 'arrivedAt' | 'policy' | 'caps' | 'asBytes'
> & {
  readonly pointsMax: number;
};

/** The least a point takes in a body: `{"metrics":{"a":1}},`. */
const pointBytesMin = 20;

/** A body of this length holds no more points that are kept. */
export const plainPointsMax = (bodyLength: number): number => Math.ceil(bodyLength / pointBytesMin) + 1;

/**
 * Turns the points of a wide table into rows straight from the bytes of the body, without a value becoming an object. It takes what
 * reporters write and nothing else: unusual, unknown or invalid parts are left to `encodePoints`, its plain twin.
 */
class PlainPoints {
  private readonly cursor = new PlainCursor();
  private readonly rows = new RowBuffer(256 * 1024);
  private readonly fields = new RowBuffer(partBytesMax + 256);
  private readonly tags = new RowBuffer(partBytesMax + 256);
  private readonly metrics = new PlainColumns();
  private readonly dimensions = new PlainColumns();
  private prefix: Uint8Array = uidTag;
  private asBytes = false;
  private cost = 0;
  private time = 0;
  /** Of its digits in the body; none for a point that has no time of its own. */
  private timeStart = 0;
  private timeEnd = 0;
  private hasTarget = false;
  private high = 0;
  private highDigits = '0';

  encode(bytes: Buffer, at: number, context: PlainContext): EncodedPoints | undefined {
    const { cursor, metrics, dimensions } = this;
    cursor.open(bytes, at);
    metrics.open(context.source.metrics);
    dimensions.open(context.source.dimensions);
    try {
      return this.readAll(context);
    } finally {
      cursor.close();
    }
  }

  private readAll(context: PlainContext): EncodedPoints | undefined {
    const { cursor, rows } = this;
    const { pointsMax } = context;
    this.prefix = Buffer.from(escapeTag(context.source.tableId));
    this.asBytes = context.asBytes === true;
    let run: Run = newRun(0);
    const result = nothingEncoded(run);
    let spent = 0;
    let ordinal = 0;
    rows.length = 0;
    do {
      const rowAt = rows.length;
      if (ordinal === pointsMax || !this.readPoint(ordinal + 1, context.arrivedAt)) return undefined;
      if (validatePointTime(this.time, context.arrivedAt, context.policy) !== undefined) return undefined;
      if (this.cost > runBudget) return undefined;
      if (spent + this.cost > runBudget) {
        if (result.runs.length === runsMax) return undefined;
        this.endRun(run, rowAt);
        run = newRun(ordinal);
        result.runs.push(run);
        spent = 0;
      }
      spent += this.cost;
      this.endRow(context, ordinal);
      run.last = ordinal++;
      run.points = run.last - run.first + 1;
      if (this.time < run.timeMin) run.timeMin = this.time;
      if (this.time > run.timeMax) run.timeMax = this.time;
    } while (cursor.take(comma));
    if (!this.isEnd()) return undefined;
    this.endRun(run, rows.length);
    result.accepted = ordinal;
    result.ordinals = ordinal;
    return result;
  }

  /** The list and the body end here, and the body was UTF-8. */
  private isEnd(): boolean {
    const { cursor } = this;
    if (!cursor.take(bracketClose) || !cursor.take(braceClose)) return false;
    cursor.peek();
    return cursor.at === cursor.bytes.length && (!cursor.hasOthers || isUtf8(cursor.bytes));
  }

  /** The rows up to `end` are those of the run. */
  private endRun(run: Run, end: number): void {
    const { rows, cursor } = this;
    run.rows = run.points;
    if (this.asBytes) run.bytes = Uint8Array.from(rows.bytes.subarray(0, end));
    else run.text = rows.bytes.toString(cursor.hasOthers ? 'utf8' : 'latin1', 0, end);
    rows.keepFrom(end);
  }

  /** Reads a point's members and writes its row as far as the tags. `stamp` is another number for each point of a body. */
  private readPoint(stamp: number, arrivedAt: number): boolean {
    const { cursor, rows, tags, prefix } = this;
    this.cost = rowOverhead;
    this.time = arrivedAt;
    this.timeStart = 0;
    this.timeEnd = 0;
    this.hasTarget = false;
    tags.length = 0;
    rows.reserve(prefix.length + targetTag.length);
    rows.add(prefix, 0, prefix.length);
    rows.add(targetTag, 0, targetTag.length);
    if (!cursor.take(braceOpen)) return false;
    let seen = 0;
    do {
      const bit = this.readName();
      if ((seen & bit) !== 0 || !cursor.take(colon) || !this.readMember(bit, stamp)) return false;
      seen |= bit;
    } while (cursor.take(comma));
    return (seen & metricsBit) !== 0 && cursor.take(braceClose);
  }

  /** Which member begins here; 0 for an unknown one. */
  private readName(): number {
    const { cursor } = this;
    switch (cursor.text()) {
      case metricsName.length:
        return cursor.isLast(metricsName) ? metricsBit : 0;
      case targetName.length:
        return cursor.isLast(targetName) ? targetBit : 0;
      case dimensionName.length:
        if (cursor.isLast(dimensionName)) return dimensionBit;
        return cursor.isLast(timestampName) ? timestampBit : 0;
      default:
        return 0;
    }
  }

  private readMember(bit: number, stamp: number): boolean {
    switch (bit) {
      case metricsBit:
        return this.readMetrics(stamp);
      case dimensionBit:
        // They stand behind the target in the row.
        return this.readDimensions(stamp, this.hasTarget ? this.rows : this.tags);
      case targetBit:
        return this.readTarget();
      case timestampBit:
        return this.readTime();
      default:
        return false;
    }
  }

  private readTarget(): boolean {
    const { cursor, rows } = this;
    const length = cursor.text();
    if (length < 0 || cursor.end - cursor.start > partBytesMax) return false;
    this.cost += 2 * length;
    this.hasTarget = true;
    rows.reserve(2 * (cursor.end - cursor.start));
    rows.addTag(cursor.bytes, cursor.start, cursor.end);
    return true;
  }

  private readTime(): boolean {
    const { cursor } = this;
    this.time = cursor.count();
    this.timeStart = cursor.start;
    this.timeEnd = cursor.end;
    this.cost += 2 * scalarSize;
    return this.time >= 0;
  }

  private readMetrics(stamp: number): boolean {
    const { cursor, fields, metrics } = this;
    fields.length = 0;
    if (!cursor.take(braceOpen)) return false;
    metrics.begin();
    do {
      const length = cursor.text();
      if (length < 0) return false;
      const column = metrics.find(cursor, stamp);
      if (column === undefined || !cursor.take(colon)) return false;
      const form = cursor.number();
      const valueLength = cursor.end - cursor.start;
      if (form === 'none' || fields.length + column.length + valueLength > partBytesMax) return false;
      if (fields.length > 0) fields.addByte(comma);
      fields.add(column, 0, column.length);
      if (form === 'as_is') fields.add(cursor.bytes, cursor.start, cursor.end);
      else {
        const value = Number(cursor.shown());
        if (!Number.isFinite(value)) return false;
        fields.addAscii(doubleText(value));
      }
      this.cost += 2 * (length + scalarSize);
    } while (cursor.take(comma));
    return cursor.take(braceClose);
  }

  private readDimensions(stamp: number, row: RowBuffer): boolean {
    const { cursor, dimensions } = this;
    if (!cursor.take(braceOpen)) return false;
    dimensions.begin();
    do {
      const nameLength = cursor.text();
      if (nameLength < 0) return false;
      const column = dimensions.find(cursor, stamp);
      if (column === undefined || !cursor.take(colon)) return false;
      let size = scalarSize;
      if (cursor.peek() === quote) size = cursor.text();
      else if (cursor.count() < 0) return false;
      const { start, end } = cursor;
      if (size < 0 || end - start > partBytesMax) return false;
      row.reserve(column.length + 2 * (end - start) + 1);
      row.addByte(comma);
      row.add(column, 0, column.length);
      row.addTag(cursor.bytes, start, end);
      this.cost += 2 * (nameLength + size);
    } while (cursor.take(comma));
    return cursor.take(braceClose);
  }

  /** Writes the rest of a row. */
  private endRow({ base }: PlainContext, ordinal: number): void {
    const { rows, tags, fields, timeStart, timeEnd } = this;
    rows.reserve(tags.length + fields.length + rowEndBytesMax);
    rows.add(tags.bytes, 0, tags.length);
    rows.addByte(0x20);
    rows.add(fields.bytes, 0, fields.length);
    rows.add(uidTag, 0, uidTag.length);
    const low = base.low + ordinal;
    if (base.high > 0 && low < billion) {
      rows.addAscii(this.highText(base.high));
      rows.addNineDigits(low);
    } else rows.addAscii(uidText(base, ordinal));
    rows.addByte(0x69);
    rows.addByte(0x20);
    if (timeEnd > timeStart) rows.add(this.cursor.bytes, timeStart, timeEnd);
    else rows.addAscii(String(this.time));
    rows.addByte(0x0a);
  }

  /** The same for all points of a body. */
  private highText(high: number): string {
    if (high !== this.high) {
      this.high = high;
      this.highDigits = String(high);
    }
    return this.highDigits;
  }
}

const plainPoints = new PlainPoints();

/** Encodes the points whose list begins at `at` (behind its bracket); undefined when not all of them are plain and kept. */
export const encodePlainPoints = (
  bytes: Buffer,
  at: number,
  context: PlainContext,
): EncodedPoints | undefined => plainPoints.encode(bytes, at, context);
