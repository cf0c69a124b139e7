import type { ApplicationSource } from '../../directory/applications.ts';
import type { BodyTokens } from '../../wire/otlp/types.ts';

/** Applications by token of a resource; undefined stands for the credential of the header fields. */
export type Applications = ReadonlyMap<string | undefined, ApplicationSource>;

/** Without the application of the header where it owns no item; all of them where no token of the body is valid. */
export const ownersOf = (applications: Applications, tokens: BodyTokens): Applications => {
  if (tokens.includes(undefined)) return applications;
  const owners = new Map([...applications].filter(([token]) => token !== undefined));
  return owners.size === 0 ? applications : owners;
};

/** The header of a request: its credential, and the application of that. */
export type Head = {
  readonly credential: string | undefined;
  readonly own: ApplicationSource | undefined;
};

/**
 * The first token of the header's application, where that owns a resource; else empty, for the tokens are in the body: whether a header
 * that owns nothing is there, is valid or has ended makes no other request. Of a body with one token either all items have an owner or
 * none, so only there may the application of that token have its first token in the identity, as earlier programs gave it.
 */
export const identityCredentialOf = (
  { credential, own }: Head,
  applications: Applications,
  tokens: BodyTokens,
): string => {
  // As sent where it is not valid: a first token that has ended, or cannot be looked up now, leaves the identity that it gave.
  const first = own?.identityCredential ?? credential ?? '';
  if (tokens.includes(undefined)) return first;
  const owner = tokens.length === 1 ? applications.get(tokens[0]) : undefined;
  const isOwner =
    owner !== undefined && (owner.appId === own?.appId || owner.identityCredential === credential);
  return isOwner ? first : '';
};
