// Deflate as no compressor writes it (RFC 1951): blocks of any size, with tables of their own, or empty.

/** How each block holds its bytes: as they are, by the fixed code, or by a code of its own that the block brings with it. */
export type BlockKind = 'stored' | 'fixed' | 'dynamic';

class BitWriter {
  bytes = Buffer.allocUnsafe(64 * 1024);
  length = 0;
  private bits = 0;
  private count = 0;

  /** Adds this many bits of a number, the lowest first. */
  add(value: number, size: number): void {
    this.bits |= value << this.count;
    this.count += size;
    while (this.count >= 8) this.flush();
  }

  align(): void {
    if (this.count > 0) this.flush();
    this.bits = this.count = 0;
  }

  whole(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  private flush(): void {
    this.reserve(1);
    this.bytes[this.length++] = this.bits & 0xff;
    this.bits >>>= 8;
    this.count = Math.max(0, this.count - 8);
  }

  private reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.length + more));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }
}

type Code = { readonly bits: Uint16Array; readonly sizes: Uint8Array };

/** The canonical code of these lengths, each word with its first bit lowest, as it is written. */
const codeOf = (sizes: Uint8Array): Code => {
  const bits = new Uint16Array(sizes.length);
  let next = 0;
  for (let size = 1; size <= 15; size++) {
    next <<= 1;
    for (const [symbol, length] of sizes.entries()) {
      if (length !== size) continue;
      let word = 0;
      for (let at = 0; at < size; at++) word |= ((next >> at) & 1) << (size - 1 - at);
      bits[symbol] = word;
      next++;
    }
  }
  return { bits, sizes };
};

const endOfBlock = 256;
const fixedCode = codeOf(
  Uint8Array.from({ length: 288 }, (_, at) => (at < 144 ? 8 : at < 256 ? 9 : at < 280 ? 7 : 8)),
);
/** All bytes take eight bits, except one: the shortest table with an entry for each. */
const flatCode = codeOf(Uint8Array.from({ length: 257 }, (_, at) => (at < 255 ? 8 : 9)));

/** Order in which the lengths of the code of lengths are sent. */
const lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** Writes the table of the flat code: one 8, 254 more by "the same again", two 9, and no distances. */
const writeFlatTable = (out: BitWriter): void => {
  const sizes = new Uint8Array(19);
  sizes[16] = 1;
  sizes[8] = 2;
  sizes[9] = sizes[0] = 3;
  const { bits } = codeOf(sizes);
  const symbol = (at: number): void => out.add(bits[at] ?? 0, sizes[at] ?? 0);
  out.add(0, 5);
  out.add(0, 5);
  const sent = lengthOrder.indexOf(9) + 1;
  out.add(sent - 4, 4);
  for (const at of lengthOrder.slice(0, sent)) out.add(sizes[at] ?? 0, 3);
  symbol(8);
  for (let left = 254; left > 0; ) {
    // Never leaves one or two, which "the same again" cannot express.
    const run = left - 6 === 1 || left - 6 === 2 ? 3 : Math.min(6, left);
    symbol(16);
    out.add(run - 3, 2);
    left -= run;
  }
  symbol(9);
  symbol(9);
  symbol(0);
};

const writeBlock = (out: BitWriter, content: Uint8Array, kind: BlockKind): void => {
  if (kind === 'stored') {
    out.add(0, 3);
    out.align();
    const { length } = content;
    out.whole(Uint8Array.of(length & 0xff, length >> 8, ~length & 0xff, (~length >> 8) & 0xff));
    out.whole(content);
    return;
  }
  out.add(kind === 'fixed' ? 2 : 4, 3);
  if (kind === 'dynamic') writeFlatTable(out);
  const { bits, sizes } = kind === 'fixed' ? fixedCode : flatCode;
  for (const byte of content) out.add(bits[byte] ?? 0, sizes[byte] ?? 0);
  out.add(bits[endOfBlock] ?? 0, sizes[endOfBlock] ?? 0);
};

const storedBytesMax = 0xffff;

/** The content as a deflate stream of such blocks, with this many empty ones behind each. */
export const deflateBlocks = (
  content: Uint8Array,
  kind: BlockKind,
  blockBytes: number,
  emptyBlocks: number,
): Buffer => {
  const out = new BitWriter();
  const nothing = content.subarray(0, 0);
  const size = Math.max(1, kind === 'stored' ? Math.min(blockBytes, storedBytesMax) : blockBytes);
  for (let at = 0; at < content.length; at += size) {
    writeBlock(out, content.subarray(at, at + size), kind);
    for (let empty = 0; empty < emptyBlocks; empty++) writeBlock(out, nothing, kind);
  }
  // The last one, which is empty.
  out.add(3, 3);
  out.add(fixedCode.bits[endOfBlock] ?? 0, fixedCode.sizes[endOfBlock] ?? 0);
  out.align();
  return Buffer.from(out.bytes.subarray(0, out.length));
};
