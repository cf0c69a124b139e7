import { type ByteSource, isSame, sourceOf } from '../native/bytes.ts';

/** The resource attribute that names the application of its spans (architecture 4.7). */
const defaultKey = 'mon.data.token';

/** The end of the names of attributes with credentials of this system or of one like it. */
const credentialSuffix = '.data.token';
const suffix = sourceOf(credentialSuffix);

const endsWith = (source: ByteSource, start: number, end: number, part: ByteSource): boolean => {
  const size = part.bytes.length;
  return end - start >= size && isSame(source, end - size, part, 0, size);
};

type Mark = { readonly bytes: Buffer; readonly ending: Buffer };

/** Names have dots, and texts have words of any kind: the ending of a mark is rarer, and short texts are found much faster. */
const endingBytes = 4;

const markOf = (text: string): Mark => {
  const bytes = Buffer.from(text);
  return { bytes, ending: bytes.subarray(-endingBytes) };
};

/** Endings without the mark before the whole mark is searched at once: a body full of endings must not cost more than another. */
const endingsMax = 64;

const isIn = (bytes: Buffer, mark: Mark): boolean => {
  const before = mark.bytes.length - mark.ending.length;
  let at = bytes.indexOf(mark.ending, before);
  for (let tried = 0; at >= 0; tried++) {
    const start = at - before;
    if (tried === endingsMax) return bytes.includes(mark.bytes, start);
    if (bytes.compare(mark.bytes, 0, mark.bytes.length, start, start + mark.bytes.length) === 0) return true;
    at = bytes.indexOf(mark.ending, at + 1);
  }
  return false;
};

/**
 * The names of attributes that hold write tokens. An attribute whose name ends in `.data.token` is never stored,
 * sampled or dead-lettered.
 */
export class TokenKeys {
  private readonly keys: readonly ByteSource[];
  /** The bytes without which a body has no such attribute. */
  private readonly marks: readonly Mark[];
  /** Whether a name may end in this byte, which rules out nearly every other name. */
  private readonly lastBytes = new Uint8Array(256);

  constructor(keys: readonly string[] = [defaultKey]) {
    this.keys = keys.map(sourceOf);
    const others = keys.filter((key) => !key.endsWith(credentialSuffix));
    this.marks = [credentialSuffix, ...others].map(markOf);
    for (const { bytes } of this.marks) this.lastBytes[bytes.at(-1) ?? 0] = 1;
  }

  /** Whether the bytes may contain one of the names, written without escapes. */
  mayBeIn(bytes: Buffer): boolean {
    return this.marks.some((mark) => isIn(bytes, mark));
  }

  /** Whether the name in [start, end) is that of a write token. */
  has(source: ByteSource, start: number, end: number): boolean {
    if (this.lastBytes[source.bytes[end - 1] ?? 0] === 0) return false;
    return this.keys.some(
      (key) => key.bytes.length === end - start && isSame(source, start, key, 0, end - start),
    );
  }

  /** Whether the value under the name in [start, end) must not be kept. */
  isSecret(source: ByteSource, start: number, end: number): boolean {
    if (this.lastBytes[source.bytes[end - 1] ?? 0] === 0) return false;
    return endsWith(source, start, end, suffix) || this.has(source, start, end);
  }
}

export const defaultTokenKeys = new TokenKeys();
