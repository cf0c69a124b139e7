import assert from 'node:assert/strict';
import {
  type EncodedPush,
  encodePush,
  type PushTask,
  type RefusedPush,
} from '../../../src/ingress/push/encode.ts';
import { type Run, shownExamples } from '../../../src/rules/points/encoded-points.ts';
import { tolerantText } from './encode-points.ts';
import { readRows } from './line-protocol-reader.ts';
import { encodePushByObjects } from './objects/push-by-objects.ts';

const shown = ({ text, ...run }: Run) => ({ ...run, rows: readRows(text.toWellFormed()) });

/** All there is of an outcome; numbers of rows as values, for their texts may differ. */
const outcomeOf = (push: EncodedPush | RefusedPush) => {
  if (push.kind === 'refused')
    return push.detail.includes('messages') ? { ...push, detail: 'too many' } : push;
  const { encoded, points, pointAt } = push;
  const { runs } = encoded;
  // As text: a comparison of objects nests as deep as they do.
  const seen = shownExamples(encoded).map(({ index }) => tolerantText(pointAt(index)));
  // An object does not know how its numbers were written.
  return { points, seen, encoded: { ...encoded, valuesRounded: 0, runs: runs.map(shown) } };
};

/** Encodes a body, and compares the result with that of objects. */
export const expectSamePush = (bytes: Buffer, task: PushTask): EncodedPush | RefusedPush => {
  const push = encodePush(bytes, task);
  assert.deepStrictEqual(outcomeOf(push), outcomeOf(encodePushByObjects(bytes, task)));
  return push;
};
