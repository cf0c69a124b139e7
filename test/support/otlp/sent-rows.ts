import { type NativeBlock, type NativeValue, readBlock } from '../../../src/wire/native/block-reader.ts';

const defaultOf = (type: string): NativeValue => {
  if (type.startsWith('Map(')) return new Map();
  if (type.startsWith('Array(')) return [];
  if (type.startsWith('Nullable(')) return null;
  if (type === 'Float64') return 0;
  if (type === 'Bool') return false;
  return type.endsWith('String') || type === 'LowCardinality(String)' ? '' : 0n;
};

/** The rows of a block, with what it does not send as ClickHouse fills it in a table of these columns. */
export const rowsAsStored = (
  bytes: Uint8Array,
  columns: readonly { readonly name: string; readonly type: string }[],
): Record<string, NativeValue>[] => {
  const block: NativeBlock = readBlock(bytes);
  const defaults = Object.fromEntries(columns.map(({ name, type }) => [name, defaultOf(type)]));
  return Array.from({ length: block.rows }, (_, index) => ({ ...defaults, ...block.row(index) }));
};
