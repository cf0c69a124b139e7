import type { RequestReason } from '../../model/reasons.ts';
import { parseAround, parseBody } from '../../rules/points/push-body.ts';
import { elementsAroundMax, PushScan, type SentDataId } from '../../rules/points/push-scan.ts';
import { NotJson } from '../../rules/points/push-value.ts';

/** The credential of a push as its body gives it. */
export type PushPair = { readonly dataId: number; readonly token: string };

export type BodyRefusal = {
  readonly kind: 'refused';
  readonly reason: RequestReason;
  readonly detail: string;
};

const refused = (reason: RequestReason, detail = ''): BodyRefusal => ({ kind: 'refused', reason, detail });

/** Bodies up to this size are parsed to find what is wrong with them, with or without a credential. */
const diagnosedBytesMax = 4096;
/** Largest body that is parsed again to find the place of an error. */
const placedBytesMax = 2 ** 20;

/** Where a body stops being JSON. The engine's message quotes the body, which may hold the token: only the place is returned. */
export const placeIn = (bytes: Buffer): string => {
  if (bytes.length > placedBytesMax) return '';
  try {
    JSON.parse(bytes.toString('utf8'));
    return '';
  } catch (error) {
    const position = error instanceof SyntaxError ? /position (\d+)/.exec(error.message.slice(-100)) : null;
    return position === null ? '' : `at character ${position[1]}`;
  }
};

const tooManyElements = (elementsMax: number): BodyRefusal =>
  refused('too_many_elements', `the limit is ${elementsMax} in data and ${elementsAroundMax} outside data`);

/** Scans a body that has arrived whole. */
export const scanBody = (bytes: Buffer, elementsMax: number): PushScan => {
  const scan = new PushScan(elementsMax);
  scan.feed(bytes);
  return scan;
};

/** The data id as a number; undefined for any value but an integer. */
export const dataIdOf = ({ kind, text }: SentDataId): number | undefined => {
  const value = Number(text);
  return kind === 'number' && text !== '' && Number.isInteger(value) ? value : undefined;
};

const startsLikeJson = (byte: number): boolean => '["-0123456789tfnNI'.includes(String.fromCharCode(byte));

/** Whether a small body is JSON; the first byte decides for a larger body, and for one that was not read to its end. */
const isJson = (bytes: Buffer | undefined, { firstByte, isObject }: PushScan): boolean => {
  if (bytes === undefined || bytes.length > diagnosedBytesMax) return isObject || startsLikeJson(firstByte);
  try {
    parseBody(bytes);
    return true;
  } catch {
    return false;
  }
};

/**
 * Why a body without a usable credential is refused. `bytes` are undefined where the body was not read to its end, because the part
 * that was read is reason enough.
 */
export const problemWithoutPair = (
  bytes: Buffer | undefined,
  scan: PushScan,
  elementsMax: number,
): BodyRefusal => {
  if (bytes?.length === 0) return refused('body_empty');
  if (scan.isTooMuch) return tooManyElements(elementsMax);
  // A scan that stopped at the pair has not seen the end.
  const isCut = bytes !== undefined && scan.isObject && !scan.isClosed && !scan.hasPair;
  if (isCut || !isJson(bytes, scan))
    return refused('body_not_json', bytes === undefined ? '' : placeIn(bytes));
  if (!scan.isObject) return refused('body_not_object');
  const { dataId } = scan;
  if (dataId === undefined) return refused('data_id_invalid', 'data_id is missing');
  return dataIdOf(dataId) === undefined
    ? refused('data_id_invalid', `got a value of type ${dataId.kind}, expected an integer`)
    : refused('unauthorized');
};

/**
 * Why a body with a valid pair is refused; undefined where the scan finds no reason, as far as it can without the points. The pair
 * that the reader finds has to be the validated one.
 */
export const checkBody = (bytes: Buffer, scan: PushScan, pair: PushPair): BodyRefusal | undefined => {
  if (scan.isTooMuch) return tooManyElements(scan.elementsMax);
  try {
    const body = parseAround(bytes, scan);
    const read = (name: string): unknown => Reflect.get(Object(body), name);
    const isSame = read('data_id') === pair.dataId && read('access_token') === pair.token;
    return isSame ? undefined : refused('credentials_differ');
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    return refused('body_not_json', placeIn(bytes));
  }
};
