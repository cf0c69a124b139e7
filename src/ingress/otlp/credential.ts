import type { IncomingMessage } from 'node:http';

/** Where credentials of requests may stand. */
export type CredentialNames = {
  /** Header fields, lower-cased, the first that is there counts. */
  readonly headers: readonly string[];
  /** Resource attributes. */
  readonly attributes: readonly string[];
};

/** No credential is longer. */
const lengthMax = 1024;

/**
 * The credential of a request as a whole (architecture 4.7): one of the header fields for it, else Authorization: a bearer token, or the
 * bare key, as some clients send it. Undefined when there is none.
 */
export const credentialOf = ({ headers }: IncomingMessage, names: CredentialNames): string | undefined => {
  for (const name of names.headers) {
    const value = headers[name];
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
  }
  const { authorization = '' } = headers;
  if (authorization.length > lengthMax) return undefined;
  const [first = '', second, ...more] = authorization.trim().split(/\s+/, 3);
  if (first === '' || more.length > 0) return undefined;
  if (second === undefined) return first.toLowerCase() === 'bearer' ? undefined : first;
  return first.toLowerCase() === 'bearer' ? second : undefined;
};
