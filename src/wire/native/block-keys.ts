import { readBlock } from './block-reader.ts';

/**
 * The keys that the guard compares, and the rows of the lookup of traces. Times are nanoseconds since the epoch, one
 * for each row, as trace ids are.
 */
export type BlockKeys = {
  /** The different pairs of ServiceName and SpanName; of columns without dictionaries one a row. */
  readonly names: [service: string, span: string][];
  readonly times: bigint[];
  readonly traceIds: string[];
};

const keyColumns = new Set(['Timestamp', 'ServiceName', 'SpanName', 'TraceId']);

/** Those of a block of spans. Throws UnreadableBlock. */
export const readBlockKeys = (bytes: Uint8Array): BlockKeys => {
  const block = readBlock(bytes, keyColumns);
  return {
    names: block.pairs('ServiceName', 'SpanName'),
    times: block.words('Timestamp'),
    traceIds: block.texts('TraceId'),
  };
};
