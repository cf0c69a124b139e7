import type { ByteSource } from '../native/bytes.ts';
import { MalformedBody } from './types.ts';

/** Groups in one another; other readers stop there too. */
const groupsMax = 100;

const truncated = (): MalformedBody => new MalformedBody('the protobuf ends within a field');

/** Walks protobuf bytes. Throws only MalformedBody, where they are not protobuf. */
export class ProtobufCursor {
  readonly body: Uint8Array;
  at = 0;
  /** Halves of the varint or fixed64 read last. */
  low = 0;
  high = 0;
  private readonly view: DataView;

  constructor({ bytes, view }: ByteSource) {
    this.body = bytes;
    this.view = view;
  }

  /** The next field's number and wire type: number × 8 + type. */
  tag(): number {
    const first = this.body[this.at] ?? 0;
    // The caller has checked that a byte is left.
    if (first < 0x80 && first >= 8) {
      this.at++;
      return first;
    }
    this.varint();
    if (this.high !== 0 || this.low < 8)
      throw new MalformedBody(`${this.low >>> 3} is not a valid protobuf field number`);
    // As 32 bits: a double here would make doubles of all tags.
    return this.low | 0;
  }

  /** Reads a varint into `low` and `high`. */
  varint(): void {
    const first = this.body[this.at];
    if (first === undefined) throw truncated();
    if (first < 0x80) {
      this.at++;
      this.low = first;
      this.high = 0;
      return;
    }
    this.longVarint();
  }

  /** Enters a length-delimited field of a message that ends at `end`; returns the end of the field. */
  enter(end: number): number {
    const length = this.body[this.at] ?? 0x80;
    if (length >= 0x80) return this.enterLong(end);
    const stop = ++this.at + length;
    if (stop > end) throw truncated();
    return stop;
  }

  /** Reads 8 bytes into `low` and `high`. */
  fixed64(end: number): void {
    if (this.at + 8 > end) throw truncated();
    this.low = this.view.getUint32(this.at, true);
    this.high = this.view.getUint32(this.at + 4, true);
    this.at += 8;
  }

  /** Reads 4 bytes into `low`. */
  fixed32(end: number): void {
    if (this.at + 4 > end) throw truncated();
    this.low = this.view.getUint32(this.at, true);
    this.at += 4;
  }

  double(end: number): number {
    if (this.at + 8 > end) throw truncated();
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }

  /** Skips a field that was entered by `tag`. */
  skip(tag: number, end: number): void {
    const type = tag & 7;
    if (type === 0) this.varint();
    else if (type === 1) this.at += 8;
    else if (type === 2) this.at = this.enter(end);
    else if (type === 5) this.at += 4;
    else if (type === 3) this.skipGroup(tag, end);
    else throw new MalformedBody(`the protobuf has a field of the unknown wire type ${type}`);
  }

  /** To be called where a message should have ended. */
  expectEnd(end: number): void {
    if (this.at !== end) throw truncated();
  }

  /** OTLP has no groups, but an unknown field may be one. However deep they are nested, no call nests with them. */
  private skipGroup(tag: number, end: number): void {
    const open = [tag];
    while (open.length > 0) {
      if (this.at >= end) throw truncated();
      const inner = this.tag();
      const type = inner & 7;
      if (type === 3) {
        if (open.length === groupsMax)
          throw new MalformedBody(`the protobuf nests groups deeper than the limit of ${groupsMax}`);
        open.push(inner);
      } else if (type !== 4) this.skip(inner, end);
      else if (open.pop() !== inner - 1)
        throw new MalformedBody('the protobuf ends a group without its start');
    }
  }

  private enterLong(end: number): number {
    this.varint();
    if (this.high !== 0 || this.low > end - this.at) throw truncated();
    return this.at + (this.low | 0);
  }

  private longVarint(): void {
    const { body } = this;
    let low = 0;
    let high = 0;
    for (let index = 0; index < 10; index++) {
      const byte = body[this.at];
      if (byte === undefined) throw truncated();
      this.at++;
      const bits = byte & 0x7f;
      if (index < 4) low |= bits << (7 * index);
      else if (index === 4) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (7 * index - 32);
      if (byte < 0x80) {
        if (index === 9 && bits > 1) break;
        this.low = low >>> 0;
        this.high = high >>> 0;
        return;
      }
    }
    throw new MalformedBody('the protobuf has a varint of more than 64 bits');
  }
}
