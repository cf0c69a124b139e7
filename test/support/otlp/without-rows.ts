import { readBlock } from '../../../src/wire/native/block-reader.ts';

/** The block without the rows that have one of these numbers (from 0); undefined when none is left. */
export const withoutRows = (bytes: Uint8Array, dropped: ReadonlySet<number>): Buffer | undefined => {
  const block = readBlock(bytes);
  const kept = Uint32Array.from({ length: block.rows }, (_, row) => row).filter((row) => !dropped.has(row));
  return kept.length === 0 ? undefined : block.select(kept);
};
