import { isUtf8 } from 'node:buffer';
import { type ByteSource, copyBytes, isSame, notAscii } from '../native/bytes.ts';
import { doubleText, nestingMax } from './any-value.ts';
import { stopsIn, stringStops } from './json-bytes.ts';
import { Scratch } from './scratch.ts';

/** What a value holds so far; a scalar is nothing to add to. */
export const holds = { scalar: 0, list: 1, entries: 2 } as const;
export type Holds = (typeof holds)[keyof typeof holds];

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const opening = [0, 0x5b, 0x7b];
const closing = [0, 0x5d, 0x7d];

/** The letters of the short escapes of JSON, by the character. */
const shortEscapes = new Uint8Array(128);
for (const [code, letter] of [
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0c, 'f'],
  [0x0d, 'r'],
  [quote, '"'],
  [backslash, '\\'],
] as const)
  shortEscapes[code] = letter.charCodeAt(0);

/** Room for an escape, two quotes, a comma, and the rest of a word. */
const slack = 16;

/** Numbers that are kept of an entry, by their place: 0 in place of the end of its key where a later one replaced it. */
const fields = 4;
const entryStart = 0;
const keyEnd = 1;
const keyHash = 2;
const cutsWithin = 3;

/** Lists of entries that have grown beyond this are released. */
const keptEntriesMax = 1024;

/** As many entries are compared with one another: with more, a map of their keys takes less time. */
const comparedMax = 32;

/** An array or a list of keys and values that lies within another value, as the text of a row. */
type Level = {
  holds: Holds;
  start: number;
  cutsBefore: number;
  /** Where its entries begin among those of all levels. */
  base: number;
  hasReplaced: boolean;
  byKey: Map<string, number> | undefined;
};

const newLevel = (): Level => ({
  ...{ holds: holds.scalar, start: 0, cutsBefore: 0, base: 0 },
  ...{ hasReplaced: false, byKey: undefined },
});

/**
 * Writes an array or a list of keys and values as compact JSON from the bytes of a body, without an object: entries in
 * the order sent, the last of equal keys. The level of a value is the number of arrays and lists around it. Each value is
 * written between `begin` and `finish`; until then parts can be added to it, or another kind replaces it.
 */
export class NestedWriter {
  /** Values that were nested too deep, among those written. */
  cuts = 0;
  private readonly out = new Scratch();
  private readonly levels: readonly Level[] = Array.from({ length: nestingMax + 1 }, newLevel);
  private entries = new Int32Array(fields * 64);
  /** The entries of all open lists. */
  private count = 0;

  /** The length of the text so far. */
  get length(): number {
    return this.out.length;
  }

  holdsAt(level: number): Holds {
    return this.levelAt(level).holds;
  }

  begin(level: number): void {
    if (level === 0) this.count = this.cuts = this.out.length = 0;
    const state = this.levelAt(level);
    state.holds = holds.scalar;
    state.start = this.out.length;
    state.cutsBefore = this.cuts;
  }

  /** Takes back what the value has so far: another kind follows. */
  replace(level: number): void {
    const state = this.levelAt(level);
    if (state.holds === holds.entries) {
      this.count = state.base;
      state.byKey = undefined;
    }
    state.holds = holds.scalar;
    this.undo(state.start, state.cutsBefore);
  }

  /** Begins an array or a list. */
  open(level: number, kind: Holds): void {
    this.replace(level);
    const state = this.levelAt(level);
    state.holds = kind;
    state.base = this.count;
    state.hasReplaced = false;
    state.byKey = undefined;
    this.put(opening[kind] ?? 0);
  }

  /** Ends the value; one without a kind is null. */
  finish(level: number): void {
    const { out } = this;
    const state = this.levelAt(level);
    if (state.holds === holds.scalar) {
      if (out.length === state.start) out.add('null');
      return;
    }
    if (state.holds === holds.entries) {
      if (state.hasReplaced) this.removeReplaced(state.base);
      this.count = state.base;
      state.byKey = undefined;
    }
    if (out.source.bytes[out.length - 1] === comma) out.length--;
    this.put(closing[state.holds] ?? 0);
  }

  /** Takes back what was written from this length on. */
  undo(length: number, cuts: number): void {
    this.out.length = length;
    this.cuts = cuts;
  }

  /** Keeps the item of an array that was written last. */
  keepItem(): void {
    this.put(comma);
  }

  /**
   * Keeps the entry of the list of this level that was written last, from `start` on, its key and a colon up to `end`;
   * `cuts` are those before it. It replaces an earlier one with its key.
   */
  keepEntry(level: number, start: number, end: number, cuts: number): void {
    this.put(comma);
    const state = this.levelAt(level);
    const hash = hashOf(this.out.source, start, end);
    const cutsInEntry = this.cuts - cuts;
    const earlier =
      this.count - state.base < comparedMax
        ? this.findCompared(state.base, start, end, hash)
        : this.findByKey(state, start, end);
    if (earlier >= 0) {
      this.cuts -= this.entries[earlier + cutsWithin] ?? 0;
      this.entries[earlier + keyEnd] = 0;
      state.hasReplaced = true;
    }
    const at = this.count++ * fields;
    if (at === this.entries.length) {
      const larger = new Int32Array(2 * at);
      larger.set(this.entries);
      this.entries = larger;
    }
    this.entries[at + entryStart] = start;
    this.entries[at + keyEnd] = end;
    this.entries[at + keyHash] = hash;
    this.entries[at + cutsWithin] = cutsInEntry;
  }

  /** Adds bytes that are JSON already. */
  copy(source: ByteSource, start: number, end: number): void {
    const { out } = this;
    out.reserve(end - start);
    copyBytes(source, start, end - start, out.source, out.length);
    out.length += end - start;
  }

  /** Adds a value that is no text; a text here is bytes in base64. What JSON has no number for is in quotes. */
  scalar(value: string | number | bigint | boolean): void {
    const text = typeof value === 'number' ? doubleText(value) : String(value);
    const isQuoted = typeof value === 'string' || (typeof value === 'number' && !Number.isFinite(value));
    this.out.add(isQuoted ? `"${text}"` : text);
  }

  /** Adds a whole number from 0 to 2³¹ − 1. */
  addCount(value: number): void {
    this.out.addCount(value);
  }

  /** Adds null for a value that is nested too deep. */
  cut(): void {
    this.out.add('null');
    this.cuts++;
  }

  /** Adds null, of a value without a kind. */
  addNull(): void {
    this.out.add('null');
  }

  /** Adds the key of the entry that begins at `start` and has none, before its value; returns its end. */
  addEmptyKey(start: number): number {
    const { length } = this.out;
    this.out.add('"":');
    return this.putKeyFirst(start, start, length);
  }

  colon(): void {
    this.put(colon);
  }

  /**
   * Moves the key that was written last, from `start` on, before its value, which begins at `valueStart`, and over what
   * lies between `entry` and it. Returns the end of the key.
   */
  putKeyFirst(entry: number, valueStart: number, start: number): number {
    const { out } = this;
    const end = out.length;
    const size = start - valueStart;
    out.reserve(size);
    const { bytes } = out.source;
    bytes.copyWithin(end, valueStart, start);
    bytes.copyWithin(entry, start, end + size);
    const first = entry + end - start;
    out.length = first + size;
    return first;
  }

  /** Adds a text as a string of JSON; what is not UTF-8 in it becomes U+FFFD. */
  text(source: ByteSource, start: number, end: number): void {
    const { out } = this;
    const from = out.length;
    let others = notAscii;
    this.put(quote);
    for (let at = start; at < end; ) {
      out.reserve(end - at + slack);
      at = this.run(source, at, end, others);
      if (at === end) break;
      const byte = source.bytes[at] ?? 0;
      if (byte < 0x80) at = this.escapes(source, at, end);
      else if (isUtf8(source.bytes.subarray(at, end))) others = 0;
      else {
        out.length = from;
        const { buffer, byteOffset } = source.bytes;
        out.add(JSON.stringify(Buffer.from(buffer, byteOffset + start, end - start).toString('utf8')));
        return;
      }
    }
    this.put(quote);
  }

  /** Makes the text of the whole value, which is finished, one of the scratch; its end is `~scratch.length`. Returns its start. */
  moveTo(scratch: Scratch): number {
    const { out } = this;
    const start = scratch.length;
    scratch.reserve(out.length);
    copyBytes(out.source, 0, out.length, scratch.source, start);
    scratch.length += out.length;
    return ~start;
  }

  /** Frees the memory that one unusual body needed. */
  shrink(): void {
    this.out.shrink();
    for (const level of this.levels) level.byKey = undefined;
    if (this.entries.length > fields * keptEntriesMax) this.entries = new Int32Array(fields * 64);
  }

  private levelAt(level: number): Level {
    const state = this.levels[level];
    if (state === undefined) throw new RangeError(`level ${level} is beyond the limit of ${nestingMax}`);
    return state;
  }

  private put(byte: number): void {
    const { out } = this;
    out.reserve(1);
    out.source.bytes[out.length++] = byte;
  }

  /** Copies the plain characters from `from` on; returns their end. There is room for all up to `end` and a word. */
  private run(source: ByteSource, from: number, end: number, others: number): number {
    const { out } = this;
    const { view, bytes } = out.source;
    let at = from;
    let to = out.length;
    for (; at <= end - 4; at += 4, to += 4) {
      const word = source.view.getInt32(at, true);
      view.setInt32(to, word, true);
      const stops = stopsIn(word) | (word & others);
      if (stops === 0) continue;
      const plain = (31 - Math.clz32(stops & -stops)) >> 3;
      out.length = to + plain;
      return at + plain;
    }
    for (; at < end; at++, to++) {
      const byte = source.bytes[at] ?? 0;
      if (stringStops[byte] !== 0 || (byte & others) !== 0) break;
      bytes[to] = byte;
    }
    out.length = to;
    return at;
  }

  /** Writes the characters from `from` on that need an escape; returns their end. */
  private escapes(source: ByteSource, from: number, end: number): number {
    const { bytes } = source;
    let at = from;
    do {
      this.out.reserve(slack);
      this.escape(bytes[at++] ?? 0);
    } while (at < end && stringStops[bytes[at] ?? 0] !== 0);
    return at;
  }

  private escape(byte: number): void {
    const { out } = this;
    const { bytes } = out.source;
    const letter = shortEscapes[byte] ?? 0;
    let to = out.length;
    bytes[to++] = backslash;
    if (letter === 0) {
      const low = byte & 15;
      bytes[to++] = 0x75;
      bytes[to++] = 0x30;
      bytes[to++] = 0x30;
      bytes[to++] = 0x30 + (byte >> 4);
      bytes[to++] = low < 10 ? 0x30 + low : 0x57 + low;
    } else bytes[to++] = letter;
    out.length = to;
  }

  /** The place of an earlier entry with the key; −1 for none. */
  private findCompared(base: number, start: number, end: number, hash: number): number {
    const { entries } = this;
    const { source } = this.out;
    for (let at = base * fields; at < this.count * fields; at += fields) {
      if (entries[at + keyHash] !== hash) continue;
      const from = entries[at + entryStart] ?? 0;
      const size = (entries[at + keyEnd] ?? 0) - from;
      if (size === end - start && isSame(source, from, source, start, size)) return at;
    }
    return -1;
  }

  private findByKey(state: Level, start: number, end: number): number {
    const { entries } = this;
    if (state.byKey === undefined) {
      state.byKey = new Map();
      for (let at = state.base * fields; at < this.count * fields; at += fields) {
        const to = entries[at + keyEnd] ?? 0;
        if (to > 0) state.byKey.set(this.keyText(entries[at + entryStart] ?? 0, to), at);
      }
    }
    const key = this.keyText(start, end);
    const earlier = state.byKey.get(key) ?? -1;
    state.byKey.set(key, this.count * fields);
    return earlier;
  }

  private keyText(start: number, end: number): string {
    const { buffer, byteOffset } = this.out.source.bytes;
    return Buffer.from(buffer, byteOffset + start, end - start).toString('latin1');
  }

  /** Closes the gaps of entries that a later one replaced, all at once: one after the other, each would move the rest. */
  private removeReplaced(base: number): void {
    const { entries, out } = this;
    const { bytes } = out.source;
    let to = entries[base * fields + entryStart] ?? 0;
    for (let at = base * fields; at < this.count * fields; at += fields) {
      const start = entries[at + entryStart] ?? 0;
      const next = at + fields;
      const end = next < this.count * fields ? (entries[next + entryStart] ?? 0) : out.length;
      if (entries[at + keyEnd] === 0) continue;
      if (to !== start) bytes.copyWithin(to, start, end);
      to += end - start;
    }
    out.length = to;
  }
}

const hashOf = ({ view, bytes }: ByteSource, start: number, end: number): number => {
  let hash = end - start;
  let at = start;
  for (; at <= end - 4; at += 4) hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1);
  for (; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x85ebca6b);
  return hash | 0;
};
