/**
 * The base of a request's uids (architecture 5.1), split so that adding an ordinal and writing the decimal text costs no
 * BigInt: value = high × 10⁹ + low.
 */
export type UidBase = { readonly high: number; readonly low: number; readonly text: string };

const billion = 1_000_000_000;
/** The bit of a base that only those of requests with an identity have. */
export const identityBit = 1n << 62n;
const counterBits = 32n;

/** Most ordinals one request can have; a hashed base leaves room for them below 2⁶³. */
export const ordinalsMax = 2 ** 30;

/** Splits a base. */
export const uidBase = (value: bigint): UidBase => ({
  high: Number(value / 1_000_000_000n),
  low: Number(value % 1_000_000_000n),
  text: value.toString(),
});

/** Base of a request without identity: epoch (30 bits, unique per process start) and counter (32 bits). */
export const countedBase = (epoch: number, counter: number): UidBase =>
  uidBase((BigInt(epoch) << counterBits) | BigInt(counter));

/** One past the last counter value of an epoch. */
export const counterEnd = 2 ** 32;

/** Base of a request with identity: bit 62 set, below it the first bits of the identity's SHA-256. */
export const hashedBase = (sha256: Uint8Array): UidBase => {
  let hash = 0n;
  for (let i = 0; i < 8; i++) hash = (hash << 8n) | BigInt(sha256[i] ?? 0);
  return uidBase(identityBit | ((hash >> 2n) % (identityBit - BigInt(ordinalsMax))));
};

/** Decimal text of base + ordinal. */
export const uidText = (base: UidBase, ordinal: number): string => {
  let low = base.low + ordinal;
  let high = base.high;
  if (low >= billion) {
    const carry = Math.floor(low / billion);
    high += carry;
    low -= carry * billion;
  }
  return high === 0 ? String(low) : high + String(low + billion).slice(1);
};

/** The place of an item as received: its request's uid base (decimal) and its ordinal there. */
export type ItemPlace = { readonly base: string; readonly ordinal: number };

/** A base of which this item is the first. */
export const baseAtItem = ({ base, ordinal }: ItemPlace): UidBase => uidBase(BigInt(base) + BigInt(ordinal));
