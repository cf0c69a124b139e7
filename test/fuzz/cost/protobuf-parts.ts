import type { Part } from './parts.ts';

/** The eight bytes of a decimal number, as hexadecimal digits. */
export const fixed64Hex = (decimal: string): string => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(decimal));
  return bytes.toString('hex');
};

/** A field that is length-delimited. */
export const field = (number: number, of: Part): Part => ({ fields: [number], of });

export const hex = (digits: string): Part => ({ hex: digits });
