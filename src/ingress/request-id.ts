import type { UidBase } from '../model/uid.ts';
import type { BaseCounter } from './identity.ts';
import type { Headers } from './refused.ts';

/**
 * The id of a request is the uid base of its items, in decimal: the uid of an item, in its row and in its dead letter, is this
 * number plus the item's place in the request. A repeat of a request with an identity has the same id. Empty before the receiver
 * has an epoch.
 */
export type RequestId = string;

const headerName = 'X-Request-Id';

/** What knows the id of its request. */
type Named = { requestId: RequestId };

/** The base of the items becomes the id of the request. */
export const named = (request: Named, base: UidBase): UidBase => {
  request.requestId = base.text;
  return base;
};

/** The id of a request that is answered; one that was refused before it had a base takes an id of its own. */
export const idOf = (request: Named, bases: BaseCounter): RequestId => {
  if (request.requestId === '') request.requestId = bases.take(1)?.text ?? '';
  return request.requestId;
};

export const idHeaders = (id: RequestId): Headers => (id === '' ? {} : { [headerName]: id });

/** The id of a request that never reaches its line. */
export const ownIdHeaders = (bases: BaseCounter): Headers => idHeaders(bases.take(1)?.text ?? '');

const ofDefects = new WeakMap<object, RequestId>();

/** Remembers of which request a defect is, for the log and the answer. */
export const noteDefect = (error: unknown, id: RequestId): void => {
  if (typeof error === 'object' && error !== null && id !== '') ofDefects.set(error, id);
};

/** The id of the request in which this defect showed; empty where it is not known. */
export const idOfDefect = (error: unknown): RequestId =>
  typeof error === 'object' && error !== null ? (ofDefects.get(error) ?? '') : '';
