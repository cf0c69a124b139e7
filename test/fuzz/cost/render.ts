import { randomOf } from '../../support/otlp/plain/mutations.ts';
import type { FieldsPart, NoisePart, Part, RepeatPart } from './parts.ts';

// A part becomes bytes: always the same for a size.

const number = '#';

/** A recipe whose own counts come to far more than there is room for. */
export class TooLarge extends Error {}

/** Bytes that grow. */
class Writer {
  bytes = Buffer.allocUnsafe(64 * 1024);
  length = 0;
  private readonly most: number;

  constructor(most: number) {
    this.most = most;
  }

  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    if (this.length + more > this.most) throw new TooLarge();
    const larger = Buffer.allocUnsafe(2 * (this.length + more));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  text(text: string): void {
    this.reserve(3 * text.length);
    this.length += this.bytes.write(text, this.length);
  }

  add(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Makes room for this many bytes at a place before the end. */
  open(at: number, size: number): void {
    this.reserve(size);
    this.bytes.copyWithin(at + size, at, this.length);
    this.length += size;
  }
}

/** So much more than there is room for may come of a recipe before it is given up. */
const roomsMax = 4;
const freeBytes = 256 * 1024;

/** Whether a part takes as much room as there is. */
const growsNow = (part: Part): boolean => {
  if (typeof part === 'string' || 'hex' in part) return false;
  if ('noise' in part) return part.bytes === undefined;
  if ('all' in part) return part.all.some(grows);
  if ('repeat' in part) return part.times === undefined || grows(part.repeat);
  if ('nest' in part) return part.depth === undefined || grows(part.of);
  return part.depth === 'room' || grows(part.of);
};

/** What was found of parts before. */
const growing = new WeakMap<Exclude<Part, string>, boolean>();
const leasts = new WeakMap<Exclude<Part, string>, number>();

const grows = (part: Part): boolean => {
  if (typeof part === 'string') return false;
  const known = growing.get(part);
  if (known !== undefined) return known;
  const now = growsNow(part);
  growing.set(part, now);
  return now;
};

const leastNow = (part: Exclude<Part, string>): number => {
  if ('hex' in part) return part.hex.length / 2;
  if ('noise' in part) return part.bytes ?? 1;
  if ('all' in part) {
    const between = (part.between ?? '').length * Math.max(0, part.all.length - 1);
    return part.all.reduce((sum, each) => sum + leastOf(each), between);
  }
  if ('repeat' in part) return (part.times ?? 1) * (leastOf(part.repeat) + (part.between ?? '').length);
  if ('nest' in part) return (part.depth ?? 1) * part.nest.join('').length + leastOf(part.of);
  return (part.depth === 'room' ? 1 : (part.depth ?? 1)) * 3 * part.fields.length + leastOf(part.of);
};

/** About how many bytes a part takes at least. */
const leastOf = (part: Part): number => {
  if (typeof part === 'string') return part.length;
  const known = leasts.get(part);
  if (known !== undefined) return known;
  const now = leastNow(part);
  leasts.set(part, now);
  return now;
};

/** Whether the copies of a repeated part may differ. Repetitions within it count for themselves; noise goes on where it was. */
const differs = (part: Part, isWithin = false): boolean => {
  if (typeof part === 'string') return !isWithin && part.includes(number);
  if ('noise' in part) return true;
  if ('all' in part) return part.all.some((each) => differs(each, isWithin));
  if ('repeat' in part) return differs(part.repeat, true);
  return 'of' in part && differs(part.of, isWithin);
};

/** What noise is made of, always the same. */
const random = randomOf(1);
const chances = Uint32Array.from({ length: 65_536 }, () => random(2 ** 32));

const varint = (value: number): number[] => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  bytes.push(rest);
  return bytes;
};

const alphabets = new Map<string, Buffer>();

/** The bytes of an alphabet, in which `a-z` is a range. */
const alphabetOf = (noise: string): Buffer => {
  const known = alphabets.get(noise);
  if (known !== undefined) return known;
  const written = noise.replace(/(.)-(.)/gs, (_, first: string, last: string) => {
    const from = first.charCodeAt(0);
    return String.fromCharCode(
      ...Array.from({ length: 1 + last.charCodeAt(0) - from }, (__, at) => from + at),
    );
  });
  const alphabet = Buffer.from(written, 'latin1');
  alphabets.set(noise, alphabet);
  return alphabet;
};

/** Protobuf's tag of a length-delimited field, and its length. */
const headOf = (field: number, length: number): number[] => [...varint(field * 8 + 2), ...varint(length)];

class Renderer {
  readonly writer: Writer;
  private drawn = 0;

  constructor(room: number) {
    this.writer = new Writer(roomsMax * room + freeBytes);
  }

  write(part: Part, room: number, index: number): void {
    const { writer } = this;
    if (typeof part === 'string') {
      if (!part.includes(number)) writer.text(part);
      else writer.text(part.replaceAll(number, String(index)));
    } else if ('hex' in part) writer.add(Buffer.from(part.hex, 'hex'));
    else if ('noise' in part) this.noise(part, room);
    else if ('all' in part) this.all(part.all, part.between ?? '', room, index);
    else if ('repeat' in part) this.repeat(part, room);
    else if ('nest' in part) this.nest(part.nest, part.depth, part.of, room, index);
    else this.fields(part, room, index);
  }

  private noise({ noise, bytes }: NoisePart, room: number): void {
    const { writer } = this;
    const alphabet = alphabetOf(noise);
    const size = bytes ?? Math.max(1, room);
    writer.reserve(size);
    for (let done = 0; done < size; done++) {
      const chance = (chances[this.drawn++ & 0xffff] ?? 0) ^ (this.drawn >>> 16);
      writer.bytes[writer.length++] = alphabet[(chance >>> 0) % alphabet.length] ?? 0;
    }
  }

  /** What always takes the same room first, in thought: the others share what is left. */
  private all(parts: readonly Part[], between: string, room: number, index: number): void {
    const { writer } = this;
    let left = room - between.length * (parts.length - 1);
    let shares = 0;
    for (const part of parts) {
      if (grows(part)) shares += shareOf(part);
      else left -= leastOf(part);
    }
    for (const [place, part] of parts.entries()) {
      if (place > 0) writer.text(between);
      this.write(part, grows(part) ? Math.max(0, Math.floor((left * shareOf(part)) / shares)) : 0, index);
    }
  }

  private repeat(part: RepeatPart, room: number): void {
    const { writer } = this;
    const { repeat: item, times = Number.POSITIVE_INFINITY } = part;
    const from = writer.length;
    const each =
      part.times === undefined ? (part.each ?? 0) : Math.floor(room / Math.max(1, part.times || 1));
    const separator = Buffer.from(part.between ?? '');
    if (times === 0) return;
    this.write(item, each, 0);
    const size = writer.length - from;
    if (size + separator.length === 0) return;
    const most = part.times === undefined ? room : Number.POSITIVE_INFINITY;
    if (!differs(item)) {
      const count = Math.min(times, 1 + Math.floor((most - size) / (size + separator.length)));
      this.copies(from, size, separator, count - 1);
      return;
    }
    for (let index = 1; index < times && writer.length - from + size + separator.length <= most; index++) {
      writer.add(separator);
      this.write(item, Math.min(each, most - (writer.length - from)), index);
    }
  }

  /** The bytes from a place on, this many times more. */
  private copies(from: number, size: number, separator: Buffer, count: number): void {
    if (count <= 0) return;
    const { writer } = this;
    const item = Buffer.concat([separator, writer.bytes.subarray(from, from + size)]);
    writer.reserve(count * item.length);
    writer.bytes.fill(item, writer.length, writer.length + count * item.length);
    writer.length += count * item.length;
  }

  private nest(
    [open, close]: readonly [string, string],
    depth: number | undefined,
    inside: Part,
    room: number,
    index: number,
  ): void {
    const pair = Buffer.byteLength(open) + Buffer.byteLength(close);
    const own = leastOf(inside);
    const times = depth ?? Math.max(1, Math.floor((room - own) / Math.max(1, pair)));
    for (let at = 0; at < times; at++) this.write(open, 0, at);
    this.write(inside, room - times * pair, index);
    for (let at = times - 1; at >= 0; at--) this.write(close, 0, at);
  }

  private fields({ fields, of: inside, depth }: FieldsPart, room: number, index: number): void {
    const { writer } = this;
    const from = writer.length;
    this.write(inside, depth === 'room' ? 0 : room - 3 * fields.length, index);
    let length = writer.length - from;
    const heads: number[][] = [];
    let headBytes = 0;
    const times = depth === 'room' ? Number.POSITIVE_INFINITY : (depth ?? 1);
    for (let time = 0; time < times && (depth !== 'room' || length < room); time++) {
      for (const field of fields.toReversed()) {
        const head = headOf(field, length);
        heads.push(head);
        headBytes += head.length;
        length += head.length;
      }
    }
    writer.open(from, headBytes);
    writer.bytes.set(heads.reverse().flat(), from);
  }
}

const shareOf = (part: Part): number => (typeof part === 'string' ? 1 : (part.share ?? 1));

/** The bytes of a part that has so much room: about as many, where it takes as much as there is. Throws TooLarge. */
export const render = (part: Part, room: number): Buffer => {
  const renderer = new Renderer(room);
  renderer.write(part, room, 0);
  return Buffer.from(renderer.writer.bytes.subarray(0, renderer.writer.length));
};
