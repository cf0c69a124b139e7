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

/**
 * The names of attributes that hold write tokens. An attribute whose name ends in `.data.token` is never stored,
 * sampled or dead-lettered.
 */
export class TokenKeys {
  private readonly keys: readonly ByteSource[];
  /** The bytes without which a body has no such attribute. */
  private readonly marks: readonly Buffer[];
  /** Whether a name may end in this byte, which rules out nearly every other name. */
  private readonly lastBytes = new Uint8Array(256);

  constructor(keys: readonly string[] = [defaultKey]) {
    this.keys = keys.map(sourceOf);
    const others = keys.filter((key) => !key.endsWith(credentialSuffix));
    this.marks = [credentialSuffix, ...others].map((mark) => Buffer.from(mark));
    for (const mark of this.marks) this.lastBytes[mark.at(-1) ?? 0] = 1;
  }

  /** Whether the bytes may contain one of the names, written without escapes. */
  mayBeIn(bytes: Buffer): boolean {
    return this.marks.some((mark) => bytes.includes(mark));
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
