import type { Incoming } from '../../http/incoming.ts';
import { Refused } from '../refused.ts';

/** The places of credentials in a request. */
export type CredentialNames = {
  /** Header fields, in lower case; the first present one counts. */
  readonly headers: readonly string[];
  /** Resource attributes. */
  readonly attributes: readonly string[];
};

/** The refusal of a request without a valid credential: its detail is the headers that may hold one. */
export const noCredential = ({ headers }: CredentialNames): Refused =>
  new Refused('unauthorized', headers.map((name) => name.toUpperCase()).join(' or '));

/** The length of the longest credential. */
const lengthMax = 1024;

/** A field that came twice is joined by commas: a proxy and an SDK may both set the same token. */
const withoutRepeats = (value: string): string => {
  const trimmed = value.trim();
  if (trimmed.length > lengthMax || !trimmed.includes(',')) return trimmed;
  const [first = '', ...others] = trimmed.split(',').map((each) => each.trim());
  return others.every((each) => each === first) ? first : trimmed;
};

/**
 * The credential of a request as a whole (architecture 4.7): one of the header fields for it, else Authorization: a bearer token,
 * or the bare key, which some clients send. Undefined without any.
 */
export const credentialOf = ({ headers }: Incoming, names: CredentialNames): string | undefined => {
  for (const name of names.headers) {
    const value = headers[name];
    if (typeof value === 'string' && value.trim() !== '') return withoutRepeats(value);
  }
  const { authorization = '' } = headers;
  if (authorization.length > lengthMax) return undefined;
  const [first = '', second, ...more] = authorization.trim().split(/\s+/, 3);
  if (first === '' || more.length > 0) return undefined;
  if (second === undefined) return first.toLowerCase() === 'bearer' ? undefined : first;
  return first.toLowerCase() === 'bearer' ? second : undefined;
};
