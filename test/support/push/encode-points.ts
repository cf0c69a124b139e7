import assert from 'node:assert/strict';
import type { EncodedPoints, Run } from '../../../src/rules/points/encoded-points.ts';
import { encodeList, type PointContext } from '../../../src/rules/points/point-encoder.ts';
import { PushCursor } from '../../../src/rules/points/push-cursor.ts';
import { doubleText } from '../../../src/wire/line-protocol.ts';
import { encodeObjects } from './objects/point-encoder.ts';
import { parseTolerantJson } from './objects/tolerant-json.ts';

export type EncodeContext = Omit<PointContext, 'pointsMax' | 'elementsMax'>;

/** JSON with NaN and infinities as bare words; however deep, no call nests with it. */
export const tolerantText = (value: unknown): string => {
  const open: (string | { readonly value: unknown })[] = [{ value }];
  let text = '';
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') text += next;
    else if (typeof next.value === 'number') text += doubleText(next.value);
    else if (typeof next.value !== 'object' || next.value === null)
      text += JSON.stringify(next.value) ?? 'null';
    else {
      const isList = Array.isArray(next.value);
      const members = Object.entries(next.value).filter(([, member]) => isList || member !== undefined);
      open.push(isList ? ']' : '}');
      for (const [index, [name, member]] of [...members.entries()].reverse())
        open.push({ value: member }, `${index > 0 ? ',' : ''}${isList ? '' : `${JSON.stringify(name)}:`}`);
      open.push(isList ? '[' : '{');
    }
  }
  return text;
};

/** Halves of pairs are stored as U+FFFD. */
const asStored = ({ text, ...run }: Run): Run => ({ ...run, text: text.toWellFormed() });

/** Encodes points from their bytes, and holds them against the same points as objects. */
export const encodePoints = (data: readonly unknown[], context: EncodeContext): EncodedPoints => {
  if (data.length === 0) return encodeObjects(data, context);
  const text = tolerantText(data);
  const cursor = new PushCursor();
  cursor.open(Buffer.from(text), 1);
  const listed = encodeList(cursor, {
    ...context,
    pointsMax: Number.MAX_SAFE_INTEGER,
    elementsMax: Number.MAX_SAFE_INTEGER,
  });
  assert.ok(listed !== undefined, 'the list was not read');
  const { encoded } = listed;
  const read: unknown = parseTolerantJson(text);
  assert.ok(Array.isArray(read));
  const expected = encodeObjects(read, context);
  // An object does not know how its numbers were written.
  const compared = { ...encoded, valuesRounded: 0 };
  if (!encoded.isTooMuch)
    assert.deepStrictEqual(compared, { ...expected, runs: expected.runs.map(asStored) });
  return encoded;
};
