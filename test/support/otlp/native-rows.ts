import fc from 'fast-check';
import type { NativeBlock } from '../../../src/wire/native/block-reader.ts';
import { sourceOf } from '../../../src/wire/native/bytes.ts';
import { encodeBlock, nameColumn } from '../../../src/wire/native/encode-block.ts';
import { ArrayColumn, MapColumn } from '../../../src/wire/native/nested-columns.ts';
import { WordColumn } from '../../../src/wire/native/number-columns.ts';
import { LowTextColumn, TextColumn } from '../../../src/wire/native/text-columns.ts';
import { anyText } from '../properties.ts';

/** Appends a text to a column. */
export const push = (column: TextColumn | LowTextColumn, text: string): void => {
  const source = sourceOf(text);
  column.push(source, 0, source.bytes.length);
};

/** A row of each type that spans have. */
export type Row = { word: bigint; text: string; low: string; pairs: [string, string][]; list: string[] };

/** Any such row. */
export const anyRow: fc.Arbitrary<Row> = fc.record({
  word: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  text: fc.oneof(
    anyText(),
    fc.integer({ min: 100, max: 700 }).map((length) => 'é'.repeat(length)),
  ),
  low: fc.constantFrom('', 'a', 'b', 'GET', '😀'),
  pairs: fc.uniqueArray(fc.tuple(anyText(4), anyText()), { maxLength: 4, selector: ([key]) => key }),
  list: fc.array(anyText(6), { maxLength: 3 }),
});

/** A block of these rows. */
export const blockOf = (rows: readonly Row[]): Buffer => {
  const word = new WordColumn('Int64');
  const text = new TextColumn();
  const low = new LowTextColumn();
  const pairs = new MapColumn(new LowTextColumn(), new LowTextColumn());
  const offsets = new WordColumn('UInt64');
  const list = new ArrayColumn(new LowTextColumn(), offsets);
  let items = 0;
  for (const row of rows) {
    const bits = BigInt.asUintN(64, row.word);
    word.push(Number(bits & 0xffffffffn), Number(bits >> 32n));
    push(text, row.text);
    push(low, row.low);
    for (const [key, value] of row.pairs) {
      push(pairs.keys, key);
      push(pairs.values, value);
    }
    pairs.endRow(row.pairs.length);
    for (const item of row.list) push(list.items, item);
    items += row.list.length;
    offsets.push(items, 0);
  }
  const columns = [
    nameColumn('word', word),
    nameColumn('text', text),
    nameColumn('low', low),
    nameColumn('pairs', pairs),
    nameColumn('list', list),
  ];
  return encodeBlock(columns, rows.length);
};

/** The row of that number, as `anyRow` makes it. */
export const rowOf = (block: NativeBlock, index: number): unknown => {
  const { pairs, ...rest } = block.row(index);
  return { ...rest, pairs: pairs instanceof Map ? [...pairs] : pairs };
};
