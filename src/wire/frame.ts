/**
 * The layout of every message: header length (u32, little endian), header (JSON), then sections whose lengths are in
 * the header. The header is in the payload because NATS headers end at 64 KB.
 */

/** The version of the frame and of all headers that this program writes, and the newest it reads. */
export const envelopeVersion = 1;

/** The result of reading a frame: a header and the bytes after it, a newer program's message, or malformed bytes. */
export type Frame =
  | { readonly kind: 'frame'; readonly header: Readonly<Record<string, unknown>>; readonly body: Buffer }
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'unreadable'; readonly why: string };

const lengthBytes = 4;

/** A part of a message: bytes, or text that goes as UTF-8. */
export type Section = Uint8Array | string;

/** Bytes that these take together. */
export const sectionsLength = (sections: readonly Section[]): number => {
  let length = 0;
  for (const section of sections)
    length += typeof section === 'string' ? Buffer.byteLength(section) : section.length;
  return length;
};

/** The parts of a frame, one after the other: the bytes before the sections, and the sections unchanged. */
export const frameParts = (header: object, sections: readonly Section[]): Section[] => {
  const text = JSON.stringify(header);
  const length = Buffer.byteLength(text);
  const head = Buffer.allocUnsafe(lengthBytes + length);
  head.writeUInt32LE(length, 0);
  head.write(text, lengthBytes);
  return [head, ...sections];
};

/** The same in one piece. */
export const encodeFrame = (header: object, sections: readonly Section[]): Buffer =>
  Buffer.concat(
    frameParts(header, sections).map((part) => (typeof part === 'string' ? Buffer.from(part) : part)),
  );

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

const unreadable = (why: string): Frame => ({ kind: 'unreadable', why });

/**
 * Reads a frame; never throws. `versionInHeader` is the NATS header's version where there is one: it identifies a newer
 * message even if the layout of its payload has changed.
 */
export const decodeFrame = (payload: Uint8Array, versionInHeader: number | undefined): Frame => {
  if (versionInHeader !== undefined && versionInHeader > envelopeVersion) {
    return { kind: 'newer', version: versionInHeader };
  }
  if (payload.length < lengthBytes) return unreadable('the message is shorter than its length field');
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const headerEnd = lengthBytes + bytes.readUInt32LE(0);
  if (headerEnd > bytes.length) return unreadable('the header is longer than the message');
  let header: unknown;
  try {
    header = JSON.parse(bytes.toString('utf8', lengthBytes, headerEnd));
  } catch {
    return unreadable('the header is not JSON');
  }
  if (!isObject(header) || !isCount(header['version'])) return unreadable('the header has no version');
  if (header['version'] > envelopeVersion) return { kind: 'newer', version: header['version'] };
  return { kind: 'frame', header, body: bytes.subarray(headerEnd) };
};

/** Cuts the body into views of these lengths; undefined when they do not add up to it. */
export const cutSections = (body: Buffer, lengths: readonly number[]): Uint8Array[] | undefined => {
  let offset = 0;
  const sections = lengths.map((length) => {
    offset += length;
    return body.subarray(offset - length, offset);
  });
  return offset === body.length ? sections : undefined;
};
