import type { NativeValue } from '../../../src/wire/native/block-reader.ts';
import { spanColumns } from '../../../src/wire/native/span-columns.ts';
import type { EncodedItems } from '../../../src/wire/otlp/types.ts';
import { rowsAsStored } from './sent-rows.ts';

// The rows in blocks of FORMAT Native, in the form of the expected rows of plain-otlp/twin.ts.

/** A row by column; maps are lists of pairs, so that their order is compared too. */
export type SpanRow = Record<string, unknown>;

const asPairs = (value: NativeValue | undefined): unknown => {
  if (value instanceof Map) return [...value];
  return Array.isArray(value) ? value.map(asPairs) : value;
};

/** A block's rows, with what it does not send as ClickHouse fills it. */
export const rowsOfBlock = (bytes: Uint8Array): SpanRow[] =>
  rowsAsStored(bytes, spanColumns).map((row) =>
    Object.fromEntries(spanColumns.map(({ name }) => [name, asPairs(row[name])])),
  );

/** All rows of an encoded request, by uid. */
export const rowsOfTraces = (encoded: EncodedItems): SpanRow[] =>
  encoded.runs
    .flatMap(({ parts }) => parts.flatMap(({ block }) => rowsOfBlock(block)))
    .sort((a, b) => (String(a['uid']).padStart(20) < String(b['uid']).padStart(20) ? -1 : 1));
