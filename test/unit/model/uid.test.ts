import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countedBase,
  counterEnd,
  hashedBase,
  ordinalsMax,
  uidBase,
  uidText,
} from '../../../src/model/uid.ts';
import { always } from '../../support/properties.ts';

const bit62 = 2n ** 62n;
const end = 2n ** 63n;
const epochMax = 2 ** 30 - 1;
const ordinal = fc.integer({ min: 0, max: ordinalsMax - 1 });

// Two rows of one uid and one timestamp overwrite each other: arithmetic that is off by one carry loses points silently.
describe('the uid of a row', () => {
  it('is base + ordinal, digit for digit', () => {
    const bases = fc.oneof(
      fc.bigInt({ min: 0n, max: end - BigInt(ordinalsMax) - 1n }),
      // Around the places where the low part of nine digits carries over.
      fc
        .tuple(fc.bigInt({ min: 1n, max: 9_000_000_000n }), fc.bigInt({ min: -3n, max: 3n }))
        .map(([billions, near]) => billions * 1_000_000_000n + near),
    );
    const ordinals = fc.oneof(ordinal, fc.integer({ min: 0, max: 5 }));
    always(
      fc.property(bases, ordinals, (base, add) => {
        expect(uidText(uidBase(base), add)).toBe(String(base + BigInt(add)));
        expect(uidBase(base).text).toBe(String(base));
      }),
      3000,
    );
  });

  it.each([
    [0n, 0, '0'],
    [0n, 999_999_999, '999999999'],
    [0n, 1_000_000_000, '1000000000'],
    [999_999_999n, 1, '1000000000'],
    [999_999_999n, 1_000_000_002, '2000000001'],
    [1_999_999_999n, 1, '2000000000'],
    [end - 2n, 1, '9223372036854775807'],
  ])('carries: %d + %d', (base, add, text) => {
    expect(uidText(uidBase(base), add)).toBe(text);
  });
});

describe('the base of a request without identity', () => {
  it('is epoch and counter side by side, with bit 62 clear', () => {
    always(
      fc.property(
        fc.integer({ min: 0, max: epochMax }),
        fc.integer({ min: 0, max: counterEnd - 1 }),
        (epoch, counter) => {
          const value = BigInt(epoch) * 2n ** 32n + BigInt(counter);
          expect(countedBase(epoch, counter).text).toBe(String(value));
          expect(value < bit62).toBe(true);
        },
      ),
    );
  });

  // A process that starts again must not repeat a uid of its predecessor, however far that one had counted.
  it('is above everything the epoch before it can reach', () => {
    expect(BigInt(countedBase(8, 0).text)).toBe(BigInt(countedBase(7, counterEnd - 1).text) + 1n);
  });
});

describe('the base of a request with identity', () => {
  const digest = (text: string): Uint8Array => createHash('sha256').update(text).digest();

  it('has bit 62 set and room for every ordinal below 2^63', () => {
    const digests = fc.oneof(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.constantFrom(new Uint8Array(32), new Uint8Array(32).fill(0xff)),
    );
    always(
      fc.property(digests, (sha256) => {
        const base = BigInt(hashedBase(sha256).text);
        expect(base >= bit62).toBe(true);
        expect(base + BigInt(ordinalsMax) <= end).toBe(true);
      }),
      1000,
    );
  });

  // The base may depend on the digest alone: a retry has to be given the same uids by any process at any time.
  it('is the first 62 bits of the digest, in every process', () => {
    always(
      fc.property(fc.string(), (identity) => {
        const sha256 = digest(identity);
        const bits = BigInt(`0x${Buffer.from(sha256).toString('hex').slice(0, 16)}`) >> 2n;
        expect(hashedBase(sha256).text).toBe(String(bit62 + (bits % (bit62 - BigInt(ordinalsMax)))));
      }),
    );
    expect(hashedBase(digest('a')).text).not.toBe(hashedBase(digest('b')).text);
  });
});
