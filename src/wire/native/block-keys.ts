import { readBlock } from './block-reader.ts';

/** The columns of a block that its keys are read from, beside the times. */
export type KeyColumns = {
  /** The text columns that the table is ordered by first. */
  readonly names: readonly [string] | readonly [string, string];
  /** Whether its trace ids have a lookup. */
  readonly hasTraces: boolean;
};

/** The keys that the guard compares, and the rows of the lookup of traces. */
export type BlockKeys = {
  /** The different texts of the columns `names`; of columns without dictionaries one a row. */
  readonly names: readonly (readonly string[])[];
  /** Least and greatest start of each trace, nanoseconds since the epoch. Empty without a lookup. */
  readonly traces: ReadonlyMap<string, { readonly min: bigint; readonly max: bigint }>;
};

/** Those of a block. Throws UnreadableBlock. */
export const readBlockKeys = (
  bytes: Uint8Array,
  { names: [one, other], hasTraces }: KeyColumns,
): BlockKeys => {
  const wanted = [
    one,
    ...(other === undefined ? [] : [other]),
    ...(hasTraces ? ['Timestamp', 'TraceId'] : []),
  ];
  const block = readBlock(bytes, new Set(wanted));
  return {
    names: other === undefined ? block.pairs(one, one).map(([text]) => [text]) : block.pairs(one, other),
    traces: hasTraces ? block.extremes('TraceId', 'Timestamp') : new Map(),
  };
};
