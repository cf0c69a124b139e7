import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { protobufTraces } from '../../../../src/rules/spans/protobuf-traces.ts';
import { spansTable } from '../../../../src/stores/clickhouse/item-tables.ts';
import { readBlockKeys } from '../../../../src/wire/native/block-keys.ts';
import { type NativeValue, readBlock, UnreadableBlock } from '../../../../src/wire/native/block-reader.ts';
import { ByteSource, sourceOf } from '../../../../src/wire/native/bytes.ts';
import { encodeBlock, nameColumn } from '../../../../src/wire/native/encode-block.ts';
import { MapColumn } from '../../../../src/wire/native/nested-columns.ts';
import { WordColumn } from '../../../../src/wire/native/number-columns.ts';
import { LowTextColumn, TextColumn } from '../../../../src/wire/native/text-columns.ts';
import { anyRow, blockOf, push, rowOf } from '../../../support/otlp/native-rows.ts';
import { encodeOtlpProtobuf } from '../../../support/otlp/protobuf.ts';
import { anyRequest } from '../../../support/otlp/requests.ts';
import { contextWith, encodeProtobuf, goodSpan, requestOf } from '../../../support/otlp/trace-source.ts';
import { withoutRows } from '../../../support/otlp/without-rows.ts';
import { always } from '../../../support/properties.ts';

describe('a block of FORMAT Native', () => {
  it('reads back as the rows it was made of', () => {
    always(
      fc.property(fc.array(anyRow, { minLength: 1, maxLength: 12 }), (rows) => {
        const block = readBlock(blockOf(rows));
        expect(rows.map((_, index) => rowOf(block, index))).toEqual(rows);
      }),
    );
  });

  it('keeps the chosen rows, in their order and with dictionaries of their own', () => {
    always(
      fc.property(
        fc.array(anyRow, { minLength: 1, maxLength: 12 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        (rows, picks) => {
          const chosen = picks.map((pick) => pick % rows.length);
          const selected = readBlock(blockOf(rows)).select(Uint32Array.from(chosen));
          const expected = chosen.map((index) => rows[index]);
          if (chosen.length > 0)
            expect(selected.equals(blockOf(expected.filter((row) => row !== undefined)))).toBe(true);
        },
      ),
    );
  });

  it('is cut into slices that hold its rows, byte for byte as a new encoding of those rows', () => {
    always(
      fc.property(
        fc.array(anyRow, { minLength: 1, maxLength: 20 }),
        fc.array(fc.nat(20), { maxLength: 4 }),
        (rows, cuts) => {
          const block = readBlock(blockOf(rows));
          const edges = [
            0,
            ...cuts.map((cut) => Math.min(cut, rows.length)).sort((a, b) => a - b),
            rows.length,
          ];
          for (const [index, from] of edges.slice(0, -1).entries()) {
            const to = edges[index + 1] ?? rows.length;
            expect(block.slice(from, to).equals(blockOf(rows.slice(from, to)))).toBe(true);
          }
        },
      ),
    );
  });

  it('loses the rows to omit, and is nothing without any', () => {
    const rows = fc.sample(anyRow, { numRuns: 5, seed: 1 });
    const block = blockOf(rows);
    const left = withoutRows(block, new Set([1, 3, 99]));
    expect(left?.equals(blockOf(rows.filter((_, index) => index !== 1 && index !== 3)))).toBe(true);
    expect(withoutRows(block, new Set([0, 1, 2, 3, 4]))).toBeUndefined();
  });

  // The widths of the numbers change at these counts of different texts.
  it.each([1, 255, 256, 257, 65_535, 65_536, 65_537])('numbers %d different texts', (count) => {
    const low = new LowTextColumn();
    for (let index = 0; index < count; index++) push(low, `text ${index}`);
    push(low, 'text 0');
    const block = readBlock(encodeBlock([nameColumn('low', low)], count + 1));
    const texts = block.texts('low');
    expect(texts).toHaveLength(count + 1);
    expect(texts.every((text, index) => text === `text ${index % count}`)).toBe(true);
  });

  it('is built again of columns that were cleared', () => {
    const column = new LowTextColumn();
    const map = new MapColumn(new LowTextColumn(), new TextColumn());
    const build = (texts: readonly string[]): Buffer => {
      column.clear();
      map.clear();
      for (const text of texts) {
        push(column, text);
        push(map.keys, text);
        push(map.values, text);
        map.endRow(1);
      }
      return encodeBlock([nameColumn('c', column), nameColumn('m', map)], texts.length);
    };
    const first = build(['a', 'b', 'a']);
    build(Array.from({ length: 70_000 }, (_, index) => `${index}`));
    expect(build(['a', 'b', 'a']).equals(first)).toBe(true);
  });

  it('holds U+FFFD where a text was not UTF-8, and counts it', () => {
    const tally = { repairs: 0 };
    const text = new TextColumn(tally);
    const low = new LowTextColumn(tally);
    const bad = new ByteSource(
      Buffer.concat([Buffer.from([0xff]), Buffer.alloc(300, 'x'), Buffer.from([0xc3])]),
    );
    for (const column of [text, low]) {
      column.push(bad, 0, 2);
      column.push(bad, 0, bad.bytes.length);
    }
    const block = readBlock(encodeBlock([nameColumn('t', text), nameColumn('l', low)], 2));
    const expected = ['\ufffdx', `\ufffd${'x'.repeat(300)}\ufffd`];
    expect(block.texts('t')).toEqual(expected);
    expect(block.texts('l')).toEqual(expected);
    expect(tally.repairs).toBe(4);
  });

  it('gives single columns where not all are wanted', () => {
    const rows = fc.sample(anyRow, { numRuns: 3, seed: 2 });
    const block = readBlock(blockOf(rows), new Set(['text', 'word']));
    expect(block.names).toEqual(['word', 'text']);
    expect(block.words('word')).toEqual(rows.map(({ word }) => word));
    expect(block.texts('text')).toEqual(rows.map(({ text }) => text));
    expect(block.column('low')).toBeUndefined();
    expect(() => block.texts('low')).toThrow(UnreadableBlock);
    expect(() => block.texts('word')).toThrow(UnreadableBlock);
    expect(() => block.words('text')).toThrow(UnreadableBlock);
  });

  it('of spans gives the keys that the guard compares', () => {
    const [part] =
      encodeProtobuf(requestOf(goodSpan, { ...goodSpan, name: 'other' }, goodSpan)).runs[0]?.parts ?? [];
    expect(readBlockKeys(part?.block ?? Buffer.alloc(0), spansTable.keys)).toEqual({
      names: [
        ['cart', 'GET /'],
        ['cart', 'other'],
      ],
      traces: new Map([
        [
          goodSpan.traceId,
          { min: BigInt(goodSpan.startTimeUnixNano), max: BigInt(goodSpan.startTimeUnixNano) },
        ],
      ]),
    });
  });

  it('give the least and the greatest number of each text, also of negative numbers and of any order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('', 'a', 'b', 'ä'), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n)), {
          maxLength: 40,
        }),
        (rows) => {
          const [texts, words] = [new TextColumn(), new WordColumn('Int64')];
          for (const [text, word] of rows) {
            const source = sourceOf(text);
            texts.push(source, 0, source.bytes.length);
            words.push(Number(BigInt.asUintN(32, word)), Number(BigInt.asUintN(32, word >> 32n)));
          }
          const block = readBlock(encodeBlock([nameColumn('t', texts), nameColumn('w', words)], rows.length));
          const expected = new Map<string, { min: bigint; max: bigint }>();
          for (const [text, word] of rows) {
            const known = expected.get(text);
            if (known === undefined) expected.set(text, { min: word, max: word });
            else if (word < known.min) known.min = word;
            else if (word > known.max) known.max = word;
          }
          if (rows.length > 0) expect(block.extremes('t', 'w')).toEqual(expected);
        },
      ),
      { seed: 20_261_126, numRuns: 300 },
    );
  });
});

describe('bytes that are not a block', () => {
  const read = (bytes: Uint8Array): NativeValue[] => {
    try {
      const block = readBlock(bytes);
      return Array.from({ length: Math.min(block.rows, 50) }, (_, row) =>
        Object.values(block.row(row)),
      ).flat();
    } catch (error) {
      if (error instanceof UnreadableBlock) return [];
      throw error;
    }
  };

  it('are unreadable wherever a block breaks off', () => {
    const block = blockOf(fc.sample(anyRow, { numRuns: 4, seed: 3 }));
    for (let length = 0; length < block.length; length++)
      expect(() => readBlock(block.subarray(0, length))).toThrow(UnreadableBlock);
    expect(() => readBlock(Buffer.concat([block, Buffer.from([0])]))).toThrow(UnreadableBlock);
  });

  // The dead letters return bytes that were stored long ago; no bytes may end the program.
  it('are read or unreadable, and nothing else', () => {
    always(
      fc.property(
        fc.array(anyRow, { minLength: 1, maxLength: 3 }),
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 3 }),
        (rows, changes) => {
          const block = blockOf(rows);
          for (const [at, byte] of changes) block[at % block.length] = byte;
          read(block);
        },
      ),
      2000,
    );
    always(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        read(bytes);
      }),
      2000,
    );
  });

  it.each([
    ['an unknown type', [1, 1, 1, 0x63, 5, ...Buffer.from('UInt7'), 0, 0, 0, 0]],
    ['a type nested beyond use', [1, 1, 1, 0x63, 199, 1, ...Buffer.from(`${'Array('.repeat(33)}x`), 0]],
    ['more rows than there is room for', [1, 0xff, 0xff, 0xff, 0x7f, 1, 0x63, 6, ...Buffer.from('String')]],
  ])('are unreadable: %s', (_, bytes) => {
    expect(() => readBlock(Uint8Array.from(bytes))).toThrow(UnreadableBlock);
  });
});

describe('the blocks of a request', () => {
  it('survive being read and written again', () => {
    always(
      fc.property(anyRequest, (request) => {
        const { runs } = protobufTraces.encode(encodeOtlpProtobuf(request), contextWith());
        for (const { block, rows } of runs.flatMap(({ parts }) => parts)) {
          const all = Uint32Array.from({ length: rows }, (_, row) => row);
          const again = readBlock(block).select(all);
          // Keys that came twice leave unused entries in a dictionary, so bytes may differ; rows may not.
          expect(readBlock(again).rows).toBe(rows);
          for (let row = 0; row < rows; row++)
            expect(readBlock(again).row(row)).toEqual(readBlock(block).row(row));
        }
      }),
      100,
    );
  });
});
