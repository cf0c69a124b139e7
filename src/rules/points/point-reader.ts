import { doubleText, quoteText } from '../../wire/line-protocol.ts';
import { runBudget } from './cutting.ts';
import { type PointColumn, PointColumns } from './point-columns.ts';
import {
  backslash,
  braceClose,
  braceOpen,
  colon,
  comma,
  falseWord,
  nullWord,
  type PushCursor,
  quote,
  trueWord,
} from './push-cursor.ts';
import { isLongId, skipValue } from './push-value.ts';
import { RowBuffer } from './row-buffer.ts';

/** Every integer of fewer digits is a double. */
const roundedDigitsMin = 16;

/** A longer integer is beyond the range of doubles. */
const finiteDigitsMax = 400;

/**
 * Whether a number as it was sent is an integer that no double holds, and not the shortest text of a double either: JavaScript
 * writes doubles below 10^21 with zeros in place of the digits that do not count.
 */
const isRounded = (text: string): boolean => {
  if (text.length > finiteDigitsMax || !/^-?\d+$/.test(text)) return false;
  const value = Number(text);
  return String(value) !== text && Number.isFinite(value) && BigInt(text) !== BigInt(value);
};

/** The size of a number, a boolean or a null under the cutting rule. */
const scalarSize = 8;
const partBytes = 16 * 1024;
/** Lists of columns that have grown beyond this are released. */
const listedMax = 1024;

/** A member of a point that counts. */
type Member = { readonly bit: number; readonly name: Uint8Array; readonly quoted: Uint8Array };
const newMember = (name: string, bit: number): Member => ({
  bit,
  name: Buffer.from(name),
  quoted: Buffer.from(`"${name}":`),
});
const metricsBit = 1;
const targetBit = 2;
const dimensionBit = 4;
const timestampBit = 8;
/** The other spelling of dimensions, which counts where `dimension` is absent or null. */
const aliasBit = 16;
const members = [
  newMember('metrics', metricsBit),
  newMember('target', targetBit),
  newMember('dimension', dimensionBit),
  newMember('timestamp', timestampBit),
  newMember('dimensions', aliasBit),
];
const otherMember = 0;
const notAName = -1;
/** Members of a point whose order is remembered. */
const orderMax = 8;

/**
 * Reads one point from its bytes into the parts of its rows, without an object. Members come in any order. Other points are for
 * `readOddPoint`: points that have to be dropped, or that have a name twice.
 */
export class PointReader {
  readonly metrics = new PointColumns();
  readonly dimensions = new PointColumns();
  /** `,target=` with the target, and the dimensions that were read after it. */
  front: RowBuffer;
  /** The other dimensions: `,column=value`. */
  readonly tags = new RowBuffer(partBytes);
  /** In a wide table `,column=value` of each metric; in a narrow one the values, which end at `valueEnds`. */
  readonly fields = new RowBuffer(partBytes);
  /** In a narrow table the first `written` entries of the next three arrays belong to the point. */
  written = 0;
  readonly columns: PointColumn[] = [];
  readonly valueEnds: number[] = [];
  /** Places of the values among the metrics of the point. */
  readonly offsets: number[] = [];
  /** Dimensions without a column: members of JSON, as they stand within the quotes of a text. */
  readonly more = new RowBuffer(1024);
  /** The number of metrics, and of those without a column. */
  metricsCount = 0;
  overCap = 0;
  /** The first `overCap` entries are the names without a column. */
  readonly lost: PointColumn[] = [];
  /** Metrics whose integer no double holds. */
  rounded = 0;
  /** Undefined for a point without a time, NaN for one whose time is no number. */
  time: number | undefined;
  /** The digits of the time in the point's bytes, [start, end); empty where they cannot be copied. */
  timeStart = 0;
  timeEnd = 0;
  /** Sizes under the cutting rule: of target, dimensions and time together, and of the metrics. */
  repeatedSize = 0;
  metricsSize = 0;

  /** The order of the members in earlier points. */
  private readonly order: Member[] = [...members];
  private isNarrow = false;
  private isUnique = false;
  private hasTarget = false;
  /** The point's dimensions were read, under either name. */
  private hasDimension = false;
  private hasAlias = false;

  constructor() {
    this.front = this.tags;
  }

  /** Begins a body. `front` receives the first part of each row. */
  open(isNarrow: boolean, front: RowBuffer): void {
    this.isNarrow = isNarrow;
    this.front = front;
  }

  close(): void {
    this.metrics.close();
    this.dimensions.close();
    this.tags.shrink();
    this.fields.shrink();
    this.more.shrink();
    if (this.columns.length > listedMax)
      this.columns.length = this.valueEnds.length = this.offsets.length = 0;
    if (this.lost.length > listedMax) this.lost.length = 0;
  }

  /** Reads the point at the cursor; false where it is odd or invalid. `isUnique`: it has no name twice. */
  read(cursor: PushCursor, isUnique: boolean): boolean {
    this.begin(isUnique);
    if (!cursor.enter(braceOpen)) return false;
    let seen = 0;
    let place = 0;
    do {
      const bit = this.readName(cursor, place++);
      if (bit === notAName) return false;
      if (bit === otherMember) {
        if (!skipValue(cursor)) return false;
      } else if ((seen & bit) !== 0 || !this.readMember(cursor, bit)) return false;
      seen |= bit;
    } while (cursor.more());
    return (seen & metricsBit) !== 0 && cursor.take(braceClose);
  }

  private begin(isUnique: boolean): void {
    this.isUnique = isUnique;
    this.metrics.beginPoint();
    this.dimensions.beginPoint();
    this.tags.length = 0;
    this.fields.length = 0;
    this.more.length = 0;
    this.metricsCount = 0;
    this.overCap = 0;
    this.rounded = 0;
    this.time = undefined;
    this.timeStart = this.timeEnd = 0;
    this.repeatedSize = 0;
    this.metricsSize = 0;
    this.hasTarget = this.hasDimension = this.hasAlias = false;
    this.written = 0;
  }

  /** Reads the name of a member, which most often is the one at the same place of the point before. */
  private readName(cursor: PushCursor, place: number): number {
    const { order } = this;
    let found = place < orderMax ? order[place] : undefined;
    if (found === undefined || !cursor.name(found.quoted)) {
      if (cursor.text() < 0) return notAName;
      if (cursor.hasEscapes) cursor.isStrict = false;
      found = undefined;
      for (const each of members) if (cursor.isLast(each.name)) found = each;
      if (!cursor.take(colon)) return notAName;
      if (found === undefined) return otherMember;
      if (place < orderMax) order[place] = found;
    }
    return found.bit;
  }

  private readMember(cursor: PushCursor, bit: number): boolean {
    switch (bit) {
      case metricsBit:
        return this.readMetrics(cursor);
      case dimensionBit:
        return this.hasAlias ? cursor.word(nullWord) : this.readDimensions(cursor);
      case aliasBit:
        return this.readAlias(cursor);
      case targetBit:
        return this.readTarget(cursor);
      default:
        return this.readTime(cursor);
    }
  }

  private readTarget(cursor: PushCursor): boolean {
    this.hasTarget = true;
    if (cursor.peek() === quote) {
      const size = cursor.tag(this.front, runBudget);
      this.repeatedSize += size;
      return size >= 0 && size <= runBudget;
    }
    this.repeatedSize += scalarSize;
    return cursor.word(nullWord) || this.addNumber(this.front, cursor);
  }

  private readTime(cursor: PushCursor): boolean {
    if (cursor.peek() === quote) {
      const size = cursor.text();
      this.repeatedSize += size;
      this.time = Number.NaN;
      return size >= 0;
    }
    this.repeatedSize += scalarSize;
    const time = cursor.count();
    if (time >= 0) {
      this.time = time;
      this.timeStart = cursor.start;
      this.timeEnd = cursor.end;
    } else if (cursor.word(nullWord)) return true;
    else if (cursor.word(trueWord) || cursor.word(falseWord)) this.time = Number.NaN;
    else if (cursor.number() === 'none') return false;
    else this.time = Number(cursor.shown());
    return true;
  }

  private readMetrics(cursor: PushCursor): boolean {
    const { metrics } = this;
    if (!cursor.enter(braceOpen)) return false;
    metrics.begin();
    do {
      const column = metrics.read(cursor, this.isUnique);
      if (column === undefined) return false;
      const form = cursor.number();
      if (form === 'none') return false;
      this.metricsSize += column.text.length + scalarSize;
      if (cursor.end - cursor.start >= roundedDigitsMin && isRounded(cursor.shown())) this.rounded++;
      let text: string | undefined;
      if (form === 'to_be_read') {
        const value = Number(cursor.shown());
        if (!Number.isFinite(value)) return false;
        text = doubleText(value);
      }
      if (column.column !== undefined || metrics.has(column)) this.addMetric(cursor, column, text);
      else this.lost[this.overCap++] = column;
      this.metricsCount++;
      if (this.metricsSize > runBudget) return false;
    } while (cursor.more());
    return cursor.take(braceClose);
  }

  /** Adds the number that was read last; `text` is its written form where the bytes are not copied. */
  private addMetric(cursor: PushCursor, column: PointColumn, text: string | undefined): void {
    const { fields } = this;
    const { assignment } = column;
    fields.reserve(assignment.length + (text === undefined ? cursor.end - cursor.start : text.length));
    if (!this.isNarrow) fields.add(assignment, 0, assignment.length);
    if (text === undefined) fields.add(cursor.source, cursor.start, cursor.end);
    else fields.addAscii(text);
    if (!this.isNarrow) return;
    const at = this.written++;
    this.columns[at] = column;
    this.valueEnds[at] = fields.length;
    this.offsets[at] = this.metricsCount;
  }

  private readAlias(cursor: PushCursor): boolean {
    if (this.hasDimension) return skipValue(cursor);
    this.hasAlias = true;
    if (cursor.peek() !== braceOpen) this.repeatedSize += scalarSize;
    return this.readDimensions(cursor);
  }

  private readDimensions(cursor: PushCursor): boolean {
    const { dimensions } = this;
    if (cursor.peek() !== braceOpen) return cursor.word(nullWord);
    // They follow the target in the row.
    const row = this.hasTarget ? this.front : this.tags;
    this.hasDimension = true;
    cursor.enter(braceOpen);
    if (cursor.take(braceClose)) return true;
    dimensions.begin();
    do {
      const column = dimensions.read(cursor, this.isUnique);
      if (column === undefined) return false;
      this.repeatedSize += column.text.length;
      if (!this.readDimension(cursor, column, row) || this.repeatedSize > runBudget) return false;
    } while (cursor.more());
    return cursor.take(braceClose);
  }

  private readDimension(cursor: PushCursor, column: PointColumn, row: RowBuffer): boolean {
    const { assignment } = column;
    const isText = cursor.peek() === quote;
    if (!isText && cursor.word(nullWord)) {
      this.repeatedSize += scalarSize;
      return true;
    }
    if (column.column === undefined && !this.dimensions.has(column)) return this.readMore(cursor, column);
    row.reserve(assignment.length);
    row.add(assignment, 0, assignment.length);
    if (isText) {
      const size = cursor.tag(row, runBudget);
      this.repeatedSize += size;
      return size >= 0;
    }
    return this.readScalar(cursor, row);
  }

  /** Reads a number or a truth value and adds it as a text. */
  private readScalar(cursor: PushCursor, row: RowBuffer): boolean {
    this.repeatedSize += scalarSize;
    if (cursor.word(trueWord)) row.addText('true');
    else if (cursor.word(falseWord)) row.addText('false');
    else return this.addNumber(row, cursor);
    return true;
  }

  /** Reads the value of a dimension without a column. */
  private readMore(cursor: PushCursor, { quoted }: PointColumn): boolean {
    const { more } = this;
    more.reserve(quoted.length + 5);
    if (more.length > 0) more.addByte(comma);
    more.addByte(backslash);
    more.add(quoted, 0, quoted.length - 2);
    more.addByte(backslash);
    more.add(quoted, quoted.length - 2, quoted.length);
    if (cursor.peek() === quote) {
      const size = cursor.text();
      this.repeatedSize += size;
      if (size >= 0 && this.repeatedSize <= runBudget) this.addMore(cursor);
      return size >= 0;
    }
    more.addAscii('\\"');
    if (!this.readScalar(cursor, more)) return false;
    more.reserve(2);
    more.addAscii('\\"');
    return true;
  }

  /** Adds the text that was read last, in quotes. */
  private addMore(cursor: PushCursor): void {
    const { more } = this;
    if (cursor.source !== cursor.bytes) {
      // It has escapes, and may have half pairs, which JSON would keep as escapes.
      more.addText(quoteText(JSON.stringify(cursor.exactText().toWellFormed())).slice(1, -1));
      return;
    }
    more.reserve(cursor.end - cursor.start + 4);
    more.addAscii('\\"');
    more.add(cursor.source, cursor.start, cursor.end);
    more.addAscii('\\"');
  }

  private addNumber(row: RowBuffer, cursor: PushCursor): boolean {
    if (cursor.count() >= 0) {
      row.addTag(cursor.source, cursor.start, cursor.end);
      return true;
    }
    if (cursor.number() === 'none') return false;
    const text = cursor.shown();
    // A fraction of zeros is not shown, and makes it no id.
    row.addText(cursor.at === cursor.end && isLongId(text) ? text : String(Number(text)));
    return true;
  }
}
