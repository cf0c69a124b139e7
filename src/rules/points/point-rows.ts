import { type UidBase, uidText } from '../../model/uid.ts';
import { escapeTag } from '../../wire/line-protocol.ts';
import type { PointReader } from './point-reader.ts';
import type { PointTable } from './point-table.ts';
import type { PushCursor } from './push-cursor.ts';
import { RowBuffer } from './row-buffer.ts';

const blank = 0x20;
const letterI = 0x69;
const lineFeed = 0x0a;
const billion = 1_000_000_000;
/** `,metric=`, ` value=` and `,uid=`, 19 digits, `i `, a time and the line feed. */
const fixedBytesMax = 128;
const [targetTag, metricTag, valueField, moreField, uidField] = [
  Buffer.from(',target='),
  Buffer.from(',metric='),
  Buffer.from(' value='),
  Buffer.from(',more_dimensions="{'),
  Buffer.from(',uid='),
];

/** Writes the rows of points in line protocol, from the parts that a reader found. */
export class PointRows {
  readonly rows = new RowBuffer(256 * 1024);
  /** The sum of the ordinals of the rows that were last written. */
  ordinals = 0;
  /** In a narrow table, the tags that the rows of a point share. */
  private readonly shared = new RowBuffer(16 * 1024);
  private readonly more = new RowBuffer(1024);
  private tableId = '';
  private prefix: Uint8Array = uidField;
  /** The beginning of each row of a wide table. */
  private start: Uint8Array = uidField;
  private isNarrow = false;
  private base: UidBase = { high: 0, low: 0, text: '0' };
  /** `,uid=` and the common first digits of all uids of a body. */
  private uidStart = uidField;
  private high = -1;

  open({ tableId, layout }: PointTable, base: UidBase): void {
    if (tableId !== this.tableId) {
      this.tableId = tableId;
      this.prefix = Buffer.from(escapeTag(tableId));
      this.start = Buffer.concat([this.prefix, targetTag]);
    }
    this.isNarrow = layout === 'narrow';
    this.base = base;
    if (base.high !== this.high) {
      this.high = base.high;
      this.uidStart = Buffer.from(`,uid=${base.high}`);
    }
    this.rows.length = 0;
  }

  close(): void {
    this.rows.shrink();
    this.shared.shrink();
    this.more.shrink();
  }

  /** The buffer into which the reader of a point writes its target, and the dimensions behind it. */
  get front(): RowBuffer {
    return this.isNarrow ? this.shared : this.rows;
  }

  /** Call it before a point is read. */
  begin(): void {
    const { front, isNarrow } = this;
    const start = isNarrow ? targetTag : this.start;
    if (isNarrow) front.length = 0;
    front.reserve(start.length);
    front.add(start, 0, start.length);
  }

  /** Writes the rows of the point that was read; returns their number. */
  write(reader: PointReader, cursor: PushCursor, ordinal: number, time: number): number {
    const { rows, more } = this;
    const { tags, fields, offsets, written } = reader;
    more.length = 0;
    if (reader.more.length > 0) {
      more.reserve(moreField.length + reader.more.length + 2);
      more.add(moreField, 0, moreField.length);
      more.add(reader.more.bytes, 0, reader.more.length);
      more.addAscii('}"');
    }
    if (this.isNarrow) {
      let sum = 0;
      for (let index = 0; index < written; index++) {
        const own = ordinal + (offsets[index] ?? 0);
        this.writeNarrow(reader, index);
        this.end(reader, cursor, own, time);
        sum += own;
      }
      this.ordinals = sum;
      return written;
    }
    rows.reserve(tags.length + fields.length + more.length + fixedBytesMax);
    rows.add(tags.bytes, 0, tags.length);
    rows.addByte(blank);
    // Without the comma of the first field.
    rows.add(fields.bytes, 1, fields.length);
    this.end(reader, cursor, ordinal, time);
    this.ordinals = ordinal;
    return 1;
  }

  private writeNarrow({ tags, fields, columns, valueEnds }: PointReader, index: number): void {
    const { rows, shared, prefix, more } = this;
    const name = columns[index]?.quoted ?? prefix;
    const from = valueEnds[index - 1] ?? 0;
    const to = valueEnds[index] ?? 0;
    rows.reserve(
      prefix.length + name.length + shared.length + tags.length + to - from + more.length + fixedBytesMax,
    );
    rows.add(prefix, 0, prefix.length);
    rows.add(metricTag, 0, metricTag.length);
    // Without its quotes and its colon.
    rows.add(name, 1, name.length - 2);
    rows.add(shared.bytes, 0, shared.length);
    rows.add(tags.bytes, 0, tags.length);
    rows.add(valueField, 0, valueField.length);
    rows.add(fields.bytes, from, to);
  }

  /** Writes the rest of a row. */
  private end(
    { timeStart, timeEnd }: PointReader,
    { bytes }: PushCursor,
    ordinal: number,
    time: number,
  ): void {
    const { rows, base, more, uidStart } = this;
    if (more.length > 0) rows.add(more.bytes, 0, more.length);
    const low = base.low + ordinal;
    if (base.high > 0 && low < billion) {
      rows.add(uidStart, 0, uidStart.length);
      rows.addNineDigits(low);
    } else {
      rows.add(uidField, 0, uidField.length);
      rows.addAscii(uidText(base, ordinal));
    }
    rows.addByte(letterI);
    rows.addByte(blank);
    if (timeEnd > timeStart) rows.add(bytes, timeStart, timeEnd);
    else rows.addAscii(String(time));
    rows.addByte(lineFeed);
  }
}
