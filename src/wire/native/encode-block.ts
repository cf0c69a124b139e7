import { sourceOf, varintSize, writeVarint } from './bytes.ts';
import type { Column, NamedColumn, WritableColumn } from './column.ts';
import { TextColumn } from './text-columns.ts';

export const nameColumn = (name: string, column: Column): NamedColumn => {
  const texts = new TextColumn();
  for (const text of [name, column.type]) texts.push(sourceOf(text), 0, Buffer.byteLength(text));
  const head = Buffer.alloc(texts.size());
  texts.write(head, 0);
  return { head, column };
};

/** One block: the named columns with this number of rows each. Blocks one after the other are one INSERT's body. */
export const encodeBlock = (columns: readonly NamedColumn<WritableColumn>[], rows: number): Buffer => {
  const sent = columns.filter(({ omittable }) => omittable?.isDefault !== true);
  let size = varintSize(sent.length) + varintSize(rows);
  for (const { head, column } of sent) size += head.length + column.size();
  const block = Buffer.allocUnsafeSlow(size);
  let at = writeVarint(block, writeVarint(block, 0, sent.length), rows);
  for (const { head, column } of sent) {
    block.set(head, at);
    at = column.write(block, column.writePrefix(block, at + head.length));
  }
  return block;
};
