import { isHeaderValue } from '../config/setting-kinds.ts';
import { Fault } from '../model/fault.ts';

/** A kind of token, and where somebody sets it. */
type TokenKind = { readonly what: string; readonly code: string; readonly place: string };

/** Of the admin API: `TIDEMARK_ADMIN_TOKEN`, its file, or the data folder. */
export const adminToken: TokenKind = {
  what: 'admin token',
  code: 'admin_token_invalid',
  place: 'TIDEMARK_ADMIN_TOKEN',
};

/** Of a data id or an application: the option of a command that sends. */
export const writeToken: TokenKind = { what: 'write token', code: 'write_token_invalid', place: '--token' };

/**
 * The token, where a header may have it. Else a permanent Fault with the code of its kind, which says what is wrong without the token:
 * neither the error of Node nor that of `fetch` may be shown, because they repeat it.
 */
export const usableToken = (token: string, { what, code, place }: TokenKind): string => {
  if (token.trim() === '')
    throw new Fault('permanent', code, `the ${what} is blank: set ${place} to a token`);
  if (isHeaderValue(token)) return token;
  throw new Fault(
    'permanent',
    code,
    `the ${what} holds a character that no header may have, such as a line feed: set ${place} without it`,
  );
};
