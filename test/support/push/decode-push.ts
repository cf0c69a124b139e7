import {
  type BodyRefusal,
  checkBody,
  dataIdOf,
  type PushPair,
  placeIn,
  problemWithoutPair,
  scanBody,
} from '../../../src/ingress/push/decode.ts';
import { parseAround } from '../../../src/rules/points/push-body.ts';
import { NotJson } from '../../../src/rules/points/push-value.ts';
import { parseList } from './objects/push-by-objects.ts';

/** A push body with all of its points as objects. */
export type DecodedPush =
  | { readonly kind: 'push'; readonly push: PushPair & { readonly data: unknown } }
  | BodyRefusal;

const elementsMax = 4_000_000;
const tokenLengthMax = 256;

/** Reads a body as the receiver does whose directory takes every credential that is one. */
export const decodePush = (bytes: Buffer): DecodedPush => {
  const scan = scanBody(bytes, elementsMax);
  const dataId = scan.dataId === undefined ? undefined : dataIdOf(scan.dataId);
  const { token = '' } = scan;
  // No data id has an empty token, as which counts what is no string, and none has one so long.
  if (dataId === undefined || token === '' || token.length > tokenLengthMax)
    return problemWithoutPair(bytes, scan, elementsMax);
  const pair = { dataId, token };
  const problem = checkBody(bytes, scan, pair);
  if (problem !== undefined) return problem;
  try {
    const around = Object(parseAround(bytes, scan));
    const data: unknown =
      scan.data === 'array'
        ? scan.pointsIn(bytes) === 0
          ? []
          : parseList(bytes, scan)
        : Object.getOwnPropertyDescriptor(around, 'data')?.value;
    return { kind: 'push', push: { ...pair, data } };
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    return { kind: 'refused', reason: 'body_not_json', detail: placeIn(bytes) };
  }
};
