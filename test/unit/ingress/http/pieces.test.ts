import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Pieces } from '../../../../src/ingress/http/pieces.ts';
import { always } from '../../../support/properties.ts';

const piecesOf = (lengths: readonly number[]) => {
  const pieces = new Pieces();
  const sent = lengths.map((length, index) => Buffer.alloc(length, index + 1));
  for (const piece of sent) pieces.add(piece);
  return { pieces, sent };
};

/** The memory behind buffers. */
const heldBytes = (buffers: readonly Buffer[]): number =>
  [...new Set(buffers.map(({ buffer }) => buffer))].reduce((sum, { byteLength }) => sum + byteLength, 0);

const lengths = fc.array(
  fc.oneof(fc.constantFrom(0, 1, 4095, 4096, 4097), fc.nat({ max: 100 }), fc.nat({ max: 70_000 })),
  { maxLength: 60 },
);

describe('the pieces of a body', () => {
  it('are its bytes in their order, at any split', () => {
    always(
      fc.property(lengths, (each) => {
        const { pieces, sent } = piecesOf(each);
        const bytes = Buffer.concat(sent);
        expect(pieces.length).toBe(bytes.length);
        expect(Buffer.concat(pieces.buffers()).equals(bytes)).toBe(true);
        expect(pieces.whole().equals(bytes)).toBe(true);
      }),
    );
  });

  it('hold at most twice the bytes that arrived and 1 KiB, at any split', () => {
    always(
      fc.property(lengths, (each) => {
        // A buffer of Buffer.alloc is as long as its piece, unlike one of a pool.
        const { pieces } = piecesOf(each);
        expect(heldBytes(pieces.buffers())).toBeLessThanOrEqual(2 * pieces.length + 1024);
      }),
    );
  });

  it('are few buffers, however many there are', () => {
    const { pieces } = piecesOf(Array.from({ length: 300_000 }, () => 1));
    expect(pieces.buffers().length).toBeLessThan(20);
    const mixed = piecesOf(Array.from({ length: 2_000 }, (_, index) => (index % 20 === 0 ? 4096 : 1)));
    expect(mixed.pieces.buffers().length).toBeLessThanOrEqual(201);
  });

  it('are not copied where there is one, or where they are long', () => {
    for (const each of [[3], [5000], [1, 5000, 4096]]) {
      const { pieces, sent } = piecesOf(each);
      const kept = pieces.buffers();
      expect(kept.length === sent.length && kept.every((buffer, index) => buffer === sent[index])).toBe(true);
    }
  });
});
