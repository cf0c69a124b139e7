import { type ByteSource, sourceOf } from '../native/bytes.ts';
import { nestedSizeMax } from './any-value.ts';
import type { JsonCursor } from './json-cursor.ts';
import type { NestedWriter } from './nested-writer.ts';
import type { ReadState } from './read-state.ts';

const beforeKey = sourceOf('{"key":"');
const beforeText = sourceOf('","value":{"stringValue":"');
const afterEntry = sourceOf('"}}');
const beforeItem = sourceOf('{"stringValue":"');
const afterItem = sourceOf('"}');

/**
 * Reads the parts of arrays and lists that are texts in the form that exporters write: without white space and without
 * escapes. Each is false for any other form, and then nothing is read.
 */
export class PlainNested {
  /** The amount that the cutting rule counts for the last part, beside that for each entry. */
  size = 0;
  private readonly cursor: JsonCursor;
  private readonly state: ReadState;
  private readonly nested: NestedWriter;
  private readonly body: ByteSource;

  constructor(cursor: JsonCursor, state: ReadState) {
    this.cursor = cursor;
    this.state = state;
    this.nested = state.nested;
    this.body = state.body;
  }

  /** Reads an entry; `sizeBefore` counts what precedes it in its value. */
  entry(level: number, sizeBefore: number): boolean {
    const { cursor, nested, body } = this;
    if (!cursor.stands(beforeKey, cursor.at)) return false;
    const key = cursor.at + beforeKey.bytes.length;
    const keyEnd = cursor.plainEnd(key);
    if (!cursor.stands(beforeText, keyEnd)) return false;
    const text = keyEnd + beforeText.bytes.length;
    const textEnd = cursor.plainEnd(text);
    if (!cursor.stands(afterEntry, textEnd)) return false;
    cursor.at = textEnd + afterEntry.bytes.length;
    this.size = keyEnd - key + textEnd - text;
    if (sizeBefore + this.size > nestedSizeMax || this.state.isSecretName(key, keyEnd)) return true;
    const { length, cuts } = nested;
    nested.copy(body, key - 1, keyEnd + 1);
    nested.colon();
    const end = nested.length;
    nested.copy(body, text - 1, textEnd + 1);
    nested.keepEntry(level, length, end, cuts);
    return true;
  }

  /** Reads an item of an array. */
  item(sizeBefore: number): boolean {
    const { cursor, nested } = this;
    if (!cursor.stands(beforeItem, cursor.at)) return false;
    const text = cursor.at + beforeItem.bytes.length;
    const end = cursor.plainEnd(text);
    if (!cursor.stands(afterItem, end)) return false;
    cursor.at = end + afterItem.bytes.length;
    this.size = end - text;
    if (sizeBefore + this.size > nestedSizeMax) return true;
    nested.copy(this.body, text - 1, end + 1);
    nested.keepItem();
    return true;
  }
}
