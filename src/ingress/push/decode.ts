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

/** So small bodies are parsed for what is wrong with them, credential or not. */
const diagnosedBytesMax = 4096;
/** Largest body that is parsed again to find the place of an error. */
const placedBytesMax = 2 ** 20;

/** Where a body stops being JSON. The engine's message quotes the body, which may hold the token: only the place is told. */
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

/** Looks through a body that is all there. */
export const scanBody = (bytes: Buffer, elementsMax: number): PushScan => {
  const scan = new PushScan(elementsMax);
  scan.feed(bytes);
  return scan;
};

/** The data id as a number; undefined for what is no integer. */
export const dataIdOf = ({ kind, text }: SentDataId): number | undefined => {
  const value = Number(text);
  return kind === 'number' && text !== '' && Number.isInteger(value) ? value : undefined;
};

const startsLikeJson = (byte: number): boolean => '["-0123456789tfnNI'.includes(String.fromCharCode(byte));

/** Whether a small body is JSON; what is larger, or was not read to its end, is taken for JSON by its first byte. */
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
 * Why a body in which no credential was found that could be judged is refused. `bytes` are undefined where it was not read to its
 * end, for what was seen of it is reason enough.
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
 * Why a body is refused whose pair was found valid; undefined where nothing speaks against it, as far as can be told without its
 * points. What its reader finds has to be the pair that was judged.
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
