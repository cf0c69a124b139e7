import type { RequestReason } from '../../model/reasons.ts';
import { parseTolerantJson } from '../../wire/tolerant-json.ts';

/** The body of specification 2.5, its fields checked as far as finding the data id demands; `data` is as sent. */
export type PushBody = { readonly dataId: number; readonly token: string; readonly data: unknown };

export type DecodedPush =
  | { readonly kind: 'push'; readonly push: PushBody }
  | { readonly kind: 'refused'; readonly reason: RequestReason; readonly detail: string };

const refused = (reason: RequestReason, detail = ''): DecodedPush => ({ kind: 'refused', reason, detail });

/** The engine's message quotes the body, which may hold the token: only the place is told. */
const placeIn = (error: unknown): string => {
  const position = error instanceof SyntaxError ? /position (\d+)/.exec(error.message) : null;
  return position === null ? '' : `at character ${position[1]}`;
};

const byteOrderMark = '\uFEFF';

const parse = (bytes: Buffer): { value: unknown } | { problem: unknown } => {
  const text = bytes.toString('utf8');
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    try {
      return { value: parseTolerantJson(text.startsWith(byteOrderMark) ? text.slice(1) : text) };
    } catch {
      return { problem: error };
    }
  }
};

/** Decodes a push body. Bare NaN and Infinity are read as the numbers they name; unknown keys are ignored. */
export const decodePush = (bytes: Buffer): DecodedPush => {
  const parsed = parse(bytes);
  if ('problem' in parsed) return refused('body_not_json', placeIn(parsed.problem));
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refused('body_not_object');
  const dataId: unknown = Reflect.get(value, 'data_id');
  const token: unknown = Reflect.get(value, 'access_token');
  if (typeof dataId !== 'number' || !Number.isInteger(dataId)) {
    return refused(
      'data_id_invalid',
      dataId === undefined ? 'it is absent' : `got a value of type ${typeof dataId}`,
    );
  }
  const data: unknown = Object.hasOwn(value, 'data') ? Reflect.get(value, 'data') : undefined;
  return { kind: 'push', push: { dataId, token: typeof token === 'string' ? token : '', data } };
};
