/**
 * Columns of a block under construction, in ClickHouse's FORMAT Native. They are cleared and filled again for the next
 * block: their buffers grow to the size of a block, and a row costs no objects. Sizes are exact, so that a block is
 * allocated once.
 */
export type Column = WritableColumn & {
  readonly type: string;
  clear(): void;
};

/** A column that knows whether every row has the default of its type. */
export type OmittableColumn = Column & { readonly isDefault: boolean };

/** The interface of a column for the writer of a block. */
export type WritableColumn = {
  /** Bytes that `writePrefix` and `write` take together. */
  size(): number;
  /** Writes the prefix of the type before its data; nested types write theirs in order. Returns the end. */
  writePrefix(target: Buffer, at: number): number;
  /** Writes the rows. Returns their end. */
  write(target: Buffer, at: number): number;
};

/**
 * A column with the bytes that introduce it in a block: its name and its type. `omittable` is the same column where a block leaves
 * it out when every row has the default of its type, which ClickHouse then fills in.
 */
export type NamedColumn<C extends WritableColumn = Column> = {
  readonly head: Buffer;
  readonly column: C;
  readonly omittable?: OmittableColumn;
};

// Small, because a request may touch many days, each with a block; the usual block is a reused one.
export const rowsStart = 16;
/** The next block frees buffers that one block made larger than this. */
export const keptBytesMax = 512 * 1024;

export const isZero = (numbers: Uint8Array | Uint32Array, length: number): boolean => {
  for (let index = 0; index < length; index++) if (numbers[index] !== 0) return false;
  return true;
};
