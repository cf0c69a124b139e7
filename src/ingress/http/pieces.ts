/** Pieces shorter than this are copied together: the buffer of a piece costs hundreds of bytes beside its own. */
const smallBytes = 4096;
/** Lengths of the buffers that they are copied to. */
const roomBytesMin = 1024;
const roomBytesMax = 65_536;

const noRoom = Buffer.alloc(0);

/**
 * The pieces of a body in their order. They hold at most 1 KiB more than twice the bytes that were added, however short the pieces
 * are. The first piece, and pieces of 4 KiB and more, are kept without a copy.
 */
export class Pieces {
  /** The bytes that were added. */
  length = 0;
  private readonly kept: Buffer[] = [];
  /** Takes the short pieces, up to `used`. */
  private room = noRoom;
  private used = 0;

  add(piece: Buffer): void {
    if (this.kept.length > 0 && piece.length < smallBytes) this.copy(piece);
    else {
      this.keepCopied();
      this.kept.push(piece);
    }
    this.length += piece.length;
  }

  private copy(piece: Buffer): void {
    for (let from = 0; from < piece.length; ) {
      if (this.used === this.room.length) this.makeRoom();
      const copied = piece.copy(this.room, this.used, from);
      this.used += copied;
      from += copied;
    }
  }

  private makeRoom(): void {
    if (this.used > 0) this.kept.push(this.room);
    this.room = Buffer.allocUnsafeSlow(Math.min(Math.max(this.length, roomBytesMin), roomBytesMax));
    this.used = 0;
  }

  /** What was copied so far keeps its place before a piece that is not; the rest of the room stays for later ones. */
  private keepCopied(): void {
    if (this.used === 0) return;
    const exact = Buffer.allocUnsafeSlow(this.used);
    this.room.copy(exact, 0, 0, this.used);
    this.kept.push(exact);
    this.used = 0;
  }

  /** The bytes in their order, as few buffers. Nothing may be added afterwards. */
  buffers(): readonly Buffer[] {
    return this.used === 0 ? this.kept : [...this.kept, this.room.subarray(0, this.used)];
  }

  /** The bytes as one buffer: the piece itself where there was one. Nothing may be added afterwards. */
  whole(): Buffer {
    const buffers = this.buffers();
    const [only] = buffers;
    return buffers.length === 1 && only !== undefined ? only : Buffer.concat(buffers, this.length);
  }
}
