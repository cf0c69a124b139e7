import { checkBody, placeIn, scanBody } from '../../../../src/ingress/push/decode.ts';
import {
  type EncodedPush,
  listProblem,
  type PushTask,
  type RefusedPush,
} from '../../../../src/ingress/push/encode.ts';
import type { PushScan } from '../../../../src/rules/points/push-scan.ts';
import { NotJson } from '../../../../src/rules/points/push-value.ts';
import { encodeObjects } from './point-encoder.ts';
import { parseTolerantJson } from './tolerant-json.ts';

/** Builds the points of a body with a list. Throws NotJson. */
export const parseList = (bytes: Buffer, scan: PushScan): readonly unknown[] => {
  const { dataStart, dataEnd } = scan;
  try {
    const list: unknown = parseTolerantJson(`[${bytes.toString('utf8', dataStart, dataEnd)}]`);
    // Of commas with nothing between them the scan counts two.
    if (Array.isArray(list) && list.length === scan.pointsIn(bytes)) return list;
  } catch {}
  throw new NotJson();
};

/** The same; undefined for a list that is not valid. */
const validList = (bytes: Buffer, scan: PushScan): readonly unknown[] | undefined => {
  try {
    return parseList(bytes, scan);
  } catch {
    return undefined;
  }
};

/** What `encodePush` has to make of a body, by way of objects. */
export const encodePushByObjects = (bytes: Buffer, task: PushTask): EncodedPush | RefusedPush => {
  const { pair, table: source, pointsMax, elementsMax } = task;
  const scan = scanBody(bytes, elementsMax);
  const points = scan.pointsIn(bytes);
  const broken = checkBody(bytes, scan, pair);
  if (broken !== undefined) return { ...broken, points };
  const problem = listProblem(scan, points, pointsMax);
  if (problem !== undefined) return problem;
  const data = validList(bytes, scan);
  if (data === undefined)
    return { kind: 'refused', reason: 'body_not_json', detail: placeIn(bytes), points: 0 };
  const encoded = encodeObjects(data, { ...task, source });
  if (encoded.isTooMuch) return { kind: 'refused', reason: 'too_many_points', detail: 'too many', points };
  return { kind: 'encoded', encoded, points, pointAt: (index) => data[index] };
};
