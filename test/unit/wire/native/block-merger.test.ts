import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countedBase } from '../../../../src/model/uid.ts';
import { mergeBlocks } from '../../../../src/wire/native/block-merger.ts';
import { readBlock } from '../../../../src/wire/native/block-reader.ts';
import { encodeBlock, nameColumn } from '../../../../src/wire/native/encode-block.ts';
import { WordColumn } from '../../../../src/wire/native/number-columns.ts';
import { LowTextColumn, TextColumn } from '../../../../src/wire/native/text-columns.ts';
import { anyMetricsRequest } from '../../../support/otlp/metric-requests.ts';
import { encodeMetricsOfProtobuf } from '../../../support/otlp/metric-source.ts';
import { anyRow, blockOf, push, type Row, rowOf } from '../../../support/otlp/native-rows.ts';
import { contextWith } from '../../../support/otlp/trace-source.ts';
import { always } from '../../../support/properties.ts';

const wide = { rowsMax: 1_000_000, bytesMax: 2 ** 30 };

const rowsOf = (blocks: readonly Uint8Array[]): unknown[] =>
  blocks.flatMap((bytes) => {
    const block = readBlock(bytes);
    return Array.from({ length: block.rows }, (_, index) => rowOf(block, index));
  });

const someRows = fc.array(anyRow, { minLength: 1, maxLength: 6 });

/** A block of one column, so that only the number of columns identifies its like. */
const textBlock = (...texts: string[]): Buffer => {
  const column = new TextColumn();
  for (const text of texts) push(column, text);
  return encodeBlock([nameColumn('text', column)], texts.length);
};

const lowBlock = (from: number, count: number): Buffer => {
  const column = new LowTextColumn();
  for (let index = 0; index < count; index++) push(column, `text ${from + index}`);
  return encodeBlock([nameColumn('low', column)], count);
};

describe('merged blocks', () => {
  it('are byte for byte the block that all rows make', () => {
    always(
      fc.property(fc.array(someRows, { minLength: 2, maxLength: 6 }), (groups) => {
        const [merged, ...others] = mergeBlocks(groups.map(blockOf), wide);
        expect(others).toEqual([]);
        expect(Buffer.compare(merged ?? Buffer.alloc(0), blockOf(groups.flat()))).toBe(0);
      }),
    );
  });

  // The widths of the numbers change where the dictionaries together pass these counts.
  it.each([
    [200, 56],
    [200, 57],
    [300, 300],
    [65_000, 536],
    [65_000, 537],
    [70_000, 70_000],
  ])('number the texts of dictionaries of %d and %d, of which some are in both', (first, second) => {
    const overlap = 20;
    const [merged] = mergeBlocks([lowBlock(0, first), lowBlock(first - overlap, second + overlap)], wide);
    const texts = readBlock(merged ?? Buffer.alloc(0)).texts('low');
    const expected = [
      ...Array.from({ length: first }, (_, index) => `text ${index}`),
      ...Array.from({ length: second + overlap }, (_, index) => `text ${first - overlap + index}`),
    ];
    expect(texts).toEqual(expected);
  });

  it('stay below their bounds, and hold every row once', () => {
    const rows = fc.sample(anyRow, { numRuns: 60, seed: 4 });
    const blocks = Array.from({ length: 20 }, (_, index) => blockOf(rows.slice(3 * index, 3 * index + 3)));
    const merged = mergeBlocks(blocks, { rowsMax: 10, bytesMax: 2 ** 30 });
    expect(merged.map((block) => readBlock(block).rows)).toEqual([9, 9, 9, 9, 9, 9, 6]);
    expect(rowsOf(merged)).toEqual(rowsOf(blocks));
    const bytesMax = Math.max(...blocks.map(({ length }) => length)) * 2;
    const bytewise = mergeBlocks(blocks, { rowsMax: 1000, bytesMax });
    expect(bytewise.length).toBeLessThan(blocks.length);
    for (const block of bytewise) expect(block.length).toBeLessThanOrEqual(bytesMax);
    expect(rowsOf(bytewise)).toEqual(rowsOf(blocks));
  });

  it('are only of blocks with the same columns', () => {
    const rows: Row[] = fc.sample(anyRow, { numRuns: 4, seed: 5 });
    const [a, b] = [blockOf(rows.slice(0, 2)), blockOf(rows.slice(2))];
    const merged = mergeBlocks([a, textBlock('x'), b, textBlock('y', 'z')], wide);
    expect(merged).toHaveLength(2);
    expect(rowsOf(merged.slice(0, 1))).toEqual(rows);
    expect(readBlock(merged[1] ?? Buffer.alloc(0)).texts('text')).toEqual(['x', 'y', 'z']);
  });

  it('are not made of blocks that differ in name or type: these are given back', () => {
    const words = new WordColumn('Int64');
    words.push(1, 0);
    const blocks = [textBlock('x'), encodeBlock([nameColumn('text', words)], 1), lowBlock(0, 1)];
    expect(mergeBlocks(blocks, wide)).toEqual(blocks);
  });

  it('are not made of malformed bytes, wherever they break off: those are inserted unchanged and refused', () => {
    const [good, other] = [blockOf(fc.sample(anyRow, { numRuns: 4, seed: 3 })), textBlock('x')];
    for (let length = 0; length < good.length; length++) {
      const broken = good.subarray(0, length);
      const merged = mergeBlocks([good, broken, other], wide);
      expect(new Set(merged)).toEqual(new Set([good, broken, other]));
    }
    const followed = Buffer.concat([good, Buffer.from([0])]);
    expect(mergeBlocks([good, followed], wide)).toEqual([good, followed]);
  });

  it('hold the rows of the single ones, with any bytes changed in them', () => {
    always(
      fc.property(
        someRows,
        someRows,
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 3 }),
        (one, other, changes) => {
          const block = blockOf(one);
          for (const [at, byte] of changes) block[at % block.length] = byte;
          const blocks = [block, blockOf(other)];
          const merged = mergeBlocks(blocks, wide);
          if (merged.length === 1) expect(rowsOf(merged)).toEqual(rowsOf(blocks));
          else expect(new Set(merged)).toEqual(new Set(blocks));
        },
      ),
      500,
    );
  });
});

// Senders of one table leave out different columns: a block without the scope's name does not tell where another one has it.
describe('blocks of many senders', () => {
  it.each([1, 2, 3])('become one, in whichever order they lack columns (%i)', (seed) => {
    const requests = fc.sample(anyMetricsRequest, { numRuns: 200, seed });
    const blocks = new Map<string, Uint8Array[]>();
    for (const [index, request] of requests.entries())
      for (const { parts } of encodeMetricsOfProtobuf(request, contextWith({ base: countedBase(9, index) }))
        .runs)
        for (const { itemTable, block } of parts)
          blocks.set(itemTable ?? '', [...(blocks.get(itemTable ?? '') ?? []), block]);
    expect(blocks.size).toBe(5);
    for (const [table, of] of blocks)
      expect(mergeBlocks(of, { rowsMax: 10_000, bytesMax: 2 ** 24 }), table).toHaveLength(1);
  });
});
