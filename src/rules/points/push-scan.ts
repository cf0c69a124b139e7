const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const bracketOpen = 0x5b;
const backslash = 0x5c;
const bracketClose = 0x5d;
const braceOpen = 0x7b;
const braceClose = 0x7d;

/** The kinds of bytes outside strings. Colons count between the members of the body alone. */
const kinds = { plain: 0, quote: 1, open: 2, close: 3, comma: 4, colon: 5 } as const;
const deepKinds = new Uint8Array(256);
deepKinds[quote] = kinds.quote;
deepKinds[braceOpen] = deepKinds[bracketOpen] = kinds.open;
deepKinds[braceClose] = deepKinds[bracketClose] = kinds.close;
deepKinds[comma] = kinds.comma;
const topKinds = deepKinds.slice();
topKinds[colon] = kinds.colon;

/** 1 for a byte that ends a run of plain bytes in a string. */
const stringStops = new Uint8Array(256);
stringStops[quote] = 1;
stringStops[backslash] = 1;

/** Names and values of credentials are shorter, even with every character escaped: the end of a longer text is not kept. */
const keptBytesMax = 1024;
/** Objects, arrays, members and elements of a body beside its points: reporters write four members. */
export const elementsAroundMax = 100_000;

const byteOrderMark = [0xef, 0xbb, 0xbf];
const noBytes = Buffer.alloc(0);

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

type Member = 'data_id' | 'access_token' | 'data' | 'other';

/** The names that count, by their lengths. */
const membersByLength = new Map(
  (['data_id', 'access_token', 'data'] as const).map((member) => [
    member.length,
    { member, bytes: Buffer.from(member) },
  ]),
);

const memberOf = (name: string): Member =>
  name === 'data_id' || name === 'access_token' || name === 'data' ? name : 'other';

/** The value of `data_id`: its JSON type, and its text as sent. */
export type SentDataId = {
  readonly kind: 'number' | 'string' | 'boolean' | 'object' | 'null';
  readonly text: string;
};

const escapes = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }),
);

/** The character of an escape that begins behind its backslash; undefined for an escape that JSON does not have. */
const escapedAt = (text: string, at: number): string | undefined => {
  const name = text[at] ?? '';
  if (name !== 'u') return escapes.get(name);
  let unit = 0;
  for (let index = at + 1; index < at + 5; index++) {
    const digit = '0123456789abcdef'.indexOf((text[index] ?? 'none').toLowerCase());
    if (digit < 0) return undefined;
    unit = unit * 16 + digit;
  }
  return String.fromCharCode(unit);
};

/**
 * The JSON value of a text between quotes; the text itself where it is not valid, which its reader reports. Not by JSON.parse: it
 * would throw an error for each of millions of names.
 */
const unescaped = (text: string): string => {
  let result = '';
  let run = 0;
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', run)) {
    const character = escapedAt(text, at + 1);
    if (character === undefined) return text;
    result += text.slice(run, at) + character;
    run = at + (text[at + 1] === 'u' ? 6 : 2);
  }
  return run === 0 ? text : result + text.slice(run);
};

const kindOfWord = (text: string): SentDataId['kind'] => {
  if (text === 'true' || text === 'false') return 'boolean';
  return text === 'null' ? 'null' : 'number';
};

/**
 * Scans the bytes of a push body as they arrive; finds its credential and counts the values that a parser would build, without
 * building any. It reads only strings, brackets and commas, so the result holds for a valid JSON body; the reader of the body
 * decides whether it is one. The last value of each name counts, as with JSON.parse.
 */
export class PushScan {
  /** Objects, arrays, members and elements so far. */
  elements = 0;
  dataId: SentDataId | undefined;
  /** The token as JSON means it; empty for any value but a string. */
  token: string | undefined;
  /** The token between its quotes. */
  tokenStart = 0;
  tokenEnd = 0;
  /** Called at the end of each token: a body may name several. */
  onToken: (() => void) | undefined;
  data: 'absent' | 'array' | 'other' = 'absent';
  /** The first byte that is not a blank; 0 before that. */
  firstByte = 0;
  /** Every open bracket is closed. */
  isClosed = false;
  /** The list of points, between its brackets. */
  dataStart = 0;
  dataEnd = 0;
  private commas = 0;
  /** Elements within the lists of points. */
  private elementsWithin = 0;

  readonly elementsMax: number;
  private readonly stopsAtPair: boolean;
  private chunk: Buffer = noBytes;
  /** The number of bytes before the chunk. */
  private before = 0;
  private depth = 0;
  private isInString = false;
  private isEscaped = false;
  private isInData = false;
  private expectsName = true;
  /** The text of the current name or value was read: another text in its place is not JSON, and a body has room for millions. */
  private hasText = false;
  private member: Member = 'other';
  /** Bytes of the current name or value: those of earlier chunks, and the start of the rest in this chunk. */
  private kept = noBytes;
  private keptLength = 0;
  private isKeeping = false;
  private keepsFrom = 0;

  /** `stopsAtPair`: the scan stops at the first pair and reads nothing behind it. */
  constructor(elementsMax: number, stopsAtPair = false) {
    this.elementsMax = elementsMax;
    this.stopsAtPair = stopsAtPair;
  }

  /** Whether the scan has found data id and token. */
  get hasPair(): boolean {
    return this.dataId !== undefined && this.token !== undefined;
  }

  /** Whether the body holds more than its limit; the scan stopped there. */
  get isTooMuch(): boolean {
    return this.elements > this.elementsMax || this.elements - this.elementsWithin > elementsAroundMax;
  }

  get isObject(): boolean {
    return this.firstByte === braceOpen;
  }

  /** Scans the next bytes. */
  feed(bytes: Buffer): void {
    this.chunk = bytes;
    this.keepsFrom = 0;
    let at = this.firstByte === 0 ? this.begin() : 0;
    while (at < bytes.length && this.depth > 0 && !this.isTooMuch && !(this.stopsAtPair && this.hasPair)) {
      if (this.depth > 1) at = this.passDeep(at);
      else at = this.isInString ? this.passString(at) : this.passTop(at);
    }
    if (this.isKeeping) this.keep(bytes.length);
    this.before += bytes.length;
    this.chunk = noBytes;
  }

  /** Points in the list of this body, which was fed whole; counts each comma as one between two points. */
  pointsIn(body: Uint8Array): number {
    if (this.data !== 'array') return 0;
    if (this.commas > 0) return this.commas + 1;
    for (let at = this.dataStart; at < this.dataEnd; at++) if (!isBlank(body[at] ?? 0)) return 1;
    return 0;
  }

  /** Skips blanks and a byte order mark, and the body's first byte. */
  private begin(): number {
    const { chunk, before } = this;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (isBlank(byte) || byteOrderMark[before + at] === byte) continue;
      this.firstByte = byte;
      if (byte === braceOpen) {
        this.depth = 1;
        this.elements = 1;
      }
      return at + 1;
    }
    return chunk.length;
  }

  /** Moves past the next byte that matters for the members of the body. */
  private passTop(from: number): number {
    const { chunk } = this;
    let at = from;
    while (at < chunk.length && topKinds[chunk[at] ?? 0] === kinds.plain) at++;
    if (at === chunk.length) return at;
    const kind = topKinds[chunk[at] ?? 0];
    if (kind === kinds.quote) {
      this.isInString = true;
      if (!this.hasText && (this.expectsName || this.isCredential())) this.beginKeeping(at + 1);
      if (!this.expectsName && !this.hasText && this.member === 'access_token')
        this.tokenStart = this.before + at + 1;
    } else if (kind === kinds.colon) {
      if (!this.expectsName) return at + 1;
      this.expectsName = this.hasText = false;
      if (this.member === 'data') this.data = 'other';
      else if (this.isCredential()) this.beginKeeping(at + 1);
    } else if (kind === kinds.open) this.open(at);
    else this.endMember(at, kind === kinds.comma);
    return at + 1;
  }

  private open(at: number): void {
    this.depth = 2;
    this.elements++;
    if (this.isCredential()) {
      this.isKeeping = false;
      this.note({ kind: 'object', text: '' }, '');
    } else if (this.member === 'data' && this.chunk[at] === bracketOpen) {
      this.data = 'array';
      this.isInData = true;
      this.dataStart = this.before + at + 1;
      this.commas = 0;
    }
  }

  private endMember(at: number, isComma: boolean): void {
    if (this.isKeeping) {
      const text = this.takeKept(at).trim();
      this.note({ kind: kindOfWord(text), text }, '');
    }
    this.member = 'other';
    this.expectsName = true;
    this.hasText = false;
    if (isComma) {
      this.elements++;
    } else {
      this.depth = 0;
      this.isClosed = true;
    }
  }

  /** Moves past the current string of a member of the body. */
  private passString(from: number): number {
    const { chunk } = this;
    let at = this.isEscaped ? from + 1 : from;
    this.isEscaped = false;
    for (;;) {
      while (at < chunk.length && stringStops[chunk[at] ?? 0] === 0) at++;
      if (at >= chunk.length) return chunk.length;
      if (chunk[at] !== backslash) break;
      if (at + 1 === chunk.length) {
        this.isEscaped = true;
        return at + 1;
      }
      at += 2;
    }
    this.isInString = false;
    if (!this.isKeeping) return at + 1;
    this.hasText = true;
    if (this.expectsName) {
      this.member = this.memberInChunk(at) ?? memberOf(unescaped(this.takeKept(at)));
      this.isKeeping = false;
    } else {
      const text = unescaped(this.takeKept(at));
      this.note({ kind: 'string', text }, text);
      if (this.member === 'access_token') {
        this.tokenEnd = this.before + at;
        this.onToken?.();
      }
    }
    return at + 1;
  }

  /** Skips the bytes that lie deeper than the members of the body. */
  private passDeep(from: number): number {
    const { chunk, isInData, elementsMax } = this;
    const end = chunk.length;
    let { depth, elements, isInString } = this;
    let at = from;
    if (this.isEscaped) at++;
    while (at < end) {
      let kind: number | undefined = kinds.quote;
      if (!isInString) {
        kind = deepKinds[chunk[at++] ?? 0];
        while (kind === kinds.plain && at < end) kind = deepKinds[chunk[at++] ?? 0];
      }
      if (kind === kinds.quote) {
        let byte = backslash;
        while (byte === backslash && at < end) {
          byte = chunk[at++] ?? 0;
          while (stringStops[byte] === 0 && at < end) byte = chunk[at++] ?? 0;
          if (byte === backslash) at++;
        }
        isInString = byte !== quote;
      } else if (kind === kinds.comma) {
        if (++elements > elementsMax) break;
        if (depth === 2 && isInData) this.commas++;
      } else if (kind === kinds.open) {
        depth++;
        elements++;
      } else if (kind === kinds.close && --depth === 1) break;
    }
    this.depth = depth;
    if (isInData) this.elementsWithin += elements - this.elements;
    this.elements = elements;
    this.isInString = isInString;
    // A backslash at the end of the chunk escapes the first byte of the next one.
    this.isEscaped = isInString && at === end + 1;
    if (depth === 1) this.endList(at - 1);
    return Math.min(at, end);
  }

  private endList(at: number): void {
    if (!this.isInData) return;
    this.isInData = false;
    this.dataEnd = this.before + at;
  }

  private isCredential(): boolean {
    return this.member === 'data_id' || this.member === 'access_token';
  }

  /** Notes the current value of the credential. */
  private note(dataId: SentDataId, token: string): void {
    if (this.member === 'data_id') this.dataId = dataId;
    else this.token = token;
  }

  private beginKeeping(at: number): void {
    this.isKeeping = true;
    this.keepsFrom = at;
    this.keptLength = 0;
  }

  /** The member whose name is the bytes up to here; undefined for another name, or one with escapes or in two chunks. */
  private memberInChunk(end: number): Member | undefined {
    const { chunk, keepsFrom } = this;
    const expected = this.keptLength > 0 ? undefined : membersByLength.get(end - keepsFrom);
    if (expected === undefined) return undefined;
    const { member, bytes } = expected;
    for (let index = 0; index < bytes.length; index++)
      if (chunk[keepsFrom + index] !== bytes[index]) return undefined;
    return member;
  }

  private keep(end: number): void {
    if (this.kept.length === 0) this.kept = Buffer.allocUnsafe(keptBytesMax);
    const room = this.kept.length - this.keptLength;
    const bytes = this.chunk.subarray(this.keepsFrom, Math.min(end, this.keepsFrom + room));
    this.kept.set(bytes, this.keptLength);
    this.keptLength += bytes.length;
  }

  private takeKept(end: number): string {
    this.isKeeping = false;
    if (this.keptLength === 0)
      return this.chunk.toString('utf8', this.keepsFrom, Math.min(end, this.keepsFrom + keptBytesMax));
    this.keep(end);
    return this.kept.toString('utf8', 0, this.keptLength);
  }
}
