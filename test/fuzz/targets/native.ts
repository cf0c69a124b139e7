import assert from 'node:assert/strict';
import fc from 'fast-check';
import { jsonTraces } from '../../../src/rules/spans/json-traces.ts';
import { spansTable } from '../../../src/stores/clickhouse/item-tables.ts';
import { readBlockKeys } from '../../../src/wire/native/block-keys.ts';
import { type NativeBlock, readBlock, UnreadableBlock } from '../../../src/wire/native/block-reader.ts';
import { contextOfMany } from '../../support/otlp/plain/agreement.ts';
import { encodeOtlpJson } from '../../support/otlp/protobuf.ts';
import { anyRequest } from '../../support/otlp/requests.ts';
import { withoutRows } from '../../support/otlp/without-rows.ts';
import { mutatedBytes, withLength } from '../bytes.ts';
import type { Target } from '../target.ts';

const rowsShown = 20;

const shown = (block: NativeBlock): unknown =>
  Array.from({ length: Math.min(block.rows, rowsShown) }, (_, row) => block.row(row));

const check = (bytes: Buffer): string => {
  let block: NativeBlock;
  try {
    block = readBlock(bytes);
  } catch (error) {
    if (error instanceof UnreadableBlock) return 'unreadable';
    throw error;
  }
  // A row is at least a byte of each column: a reader of the rows never goes further than the bytes.
  assert.ok(block.rows <= bytes.length, `${block.rows} rows in ${bytes.length} bytes`);
  const all = Uint32Array.from({ length: block.rows }, (_, row) => row);
  assert.deepStrictEqual(shown(readBlock(block.select(all))), shown(block));
  const rest = withoutRows(bytes, new Set([0]));
  assert.equal(rest === undefined ? 0 : readBlock(rest).rows, Math.max(0, block.rows - 1));
  try {
    const { traces } = readBlockKeys(bytes, spansTable.keys);
    assert.deepStrictEqual([...traces.keys()].toSorted(), [...new Set(block.texts('TraceId'))].toSorted());
  } catch (error) {
    if (!(error instanceof UnreadableBlock)) throw error;
    return 'no spans';
  }
  return 'read';
};

/** Blocks of FORMAT Native. */
export const nativeTarget: Target = {
  name: 'native',
  corpus: (seed) =>
    fc
      .sample(anyRequest, { seed, numRuns: 150 })
      .flatMap((request) => jsonTraces.encode(encodeOtlpJson(request), contextOfMany()).runs)
      .flatMap(({ parts }) => parts)
      .map(({ block }) => Buffer.from(block)),
  mutate: (random, valid, other) =>
    random(3) === 0 ? withLength(random, valid) : mutatedBytes(random, valid, other),
  check,
  checkCut: (cut) => {
    assert.throws(() => readBlock(cut), UnreadableBlock);
  },
};
