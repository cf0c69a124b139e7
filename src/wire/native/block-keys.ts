import { readBlock } from './block-reader.ts';

/** What the guard compares by and the lookup of traces is made of. Times are nanoseconds since the epoch, one a row as trace ids are. */
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
