import assert from 'node:assert/strict';
import type { Source } from '../../../src/directory/directory.ts';
import { readPlainHead } from '../../../src/ingress/push/plain-head.ts';
import type { Run } from '../../../src/rules/points/encoded-points.ts';
import { encodePlainPoints } from '../../../src/rules/points/plain-points.ts';
import { encodePoints } from '../../../src/rules/points/point-encoder.ts';
import { decodePush } from './decode-push.ts';
import { readRows } from './line-protocol-reader.ts';
import { contextWith } from './source.ts';

const shown = ({ text, ...run }: Run) => ({ ...run, rows: readRows(text) });

/**
 * Takes a body the short way, and where that way takes it compares all it makes with the way of all bodies. False: it was left to
 * the other way. Throws where the two differ.
 */
export const expectPlainWay = (bytes: Buffer, source: Source): boolean => {
  const head = readPlainHead(bytes);
  if (head === undefined) return false;
  const context = contextWith(source, { bodyLength: bytes.length });
  const plain = encodePlainPoints(bytes, head.pointsAt, { ...context, pointsMax: source.rules.pointsMax });
  if (plain === undefined) return false;
  const decoded = decodePush(bytes);
  assert.ok(decoded.kind === 'push', 'the short way took a body that is refused');
  const { push } = decoded;
  assert.deepStrictEqual([head.dataId, head.token], [push.dataId, push.token]);
  assert.ok(Array.isArray(push.data));
  const twin = encodePoints(push.data, context);
  assert.deepStrictEqual({ ...plain, runs: plain.runs.map(shown) }, { ...twin, runs: twin.runs.map(shown) });
  return true;
};
