import { pick, type Random } from '../support/otlp/plain/mutations.ts';

// Mutations without knowledge of the format.

export const randomBytes = (random: Random, length: number): Buffer =>
  Buffer.from(Array.from({ length }, () => random(256)));

const flipped = (random: Random, bytes: Buffer): Buffer => {
  const changed = Buffer.from(bytes);
  for (let flips = 1 + random(4); flips > 0 && changed.length > 0; flips--) {
    const at = random(changed.length);
    changed[at] = (changed[at] ?? 0) ^ (1 << random(8));
  }
  return changed;
};

const spliced = (random: Random, one: Buffer, other: Buffer): Buffer =>
  Buffer.concat([one.subarray(0, random(one.length + 1)), other.subarray(random(other.length + 1))]);

const repeated = (random: Random, bytes: Buffer): Buffer => {
  const from = random(bytes.length + 1);
  const to = Math.min(bytes.length, from + 1 + random(40));
  const piece = bytes.subarray(from, to);
  const pieces = Array.from({ length: 1 + random(30) }, () => piece);
  return Buffer.concat([bytes.subarray(0, from), ...pieces, bytes.subarray(from)]);
};

const without = (random: Random, bytes: Buffer): Buffer => {
  const from = random(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + 1 + random(12))]);
};

/** Numbers that stand at the edges of what lengths and counts may be. */
const edges = [0, 1, 0x7f, 0x80, 0xff, 0x3fff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 2 ** 35, 2 ** 53, -1];

/** Somewhere in the bytes a number at an edge, as one byte, as a varint, or as 32 or 64 bits. */
export const withLength = (random: Random, bytes: Buffer): Buffer => {
  const value = BigInt(edges[random(edges.length)] ?? 0);
  const written = pick(random, [
    () => Buffer.from([Number(BigInt.asUintN(8, value))]),
    () => {
      const digits: number[] = [];
      for (let rest = BigInt.asUintN(64, value); rest > 0n || digits.length === 0; rest >>= 7n)
        digits.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
      return Buffer.from(digits);
    },
    () => {
      const word = Buffer.alloc(4);
      word.writeUInt32LE(Number(BigInt.asUintN(32, value)));
      return word;
    },
    () => {
      const word = Buffer.alloc(8);
      word.writeBigUInt64LE(BigInt.asUintN(64, value));
      return word;
    },
  ])();
  const at = random(bytes.length + 1);
  const after = random(2) === 0 ? at + written.length : at;
  return Buffer.concat([bytes.subarray(0, at), written, bytes.subarray(after)]);
};

/** The bytes with one to three of the mutations, or others in their place. */
export const mutatedBytes = (random: Random, bytes: Buffer, other: Buffer): Buffer => {
  if (random(60) === 0) return randomBytes(random, random(200));
  let changed = bytes;
  for (let times = 1 + random(3); times > 0; times--) {
    changed = pick(random, [
      () => flipped(random, changed),
      () => flipped(random, changed),
      () => withLength(random, changed),
      () => withLength(random, changed),
      () => spliced(random, changed, other),
      () => changed.subarray(0, random(changed.length + 1)),
      () => repeated(random, changed),
      () => without(random, changed),
    ])();
  }
  return changed;
};
