import { errorText } from './fault.ts';

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** The first cause of an error of a connection: clients wrap it. */
const firstCause = (error: unknown): unknown => {
  let first = error;
  while (first instanceof Error && first.cause !== undefined) first = first.cause;
  return first;
};

/** Codes of OpenSSL for a certificate of an authority that is not known. */
const untrustedCodes: ReadonlySet<string> = new Set([
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'],
  ...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
]);

/** Codes for an answer without TLS. */
const plainCodes: ReadonlySet<string> = new Set([
  ...['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'ERR_SSL_HTTP_REQUEST'],
]);

/** Where a client has written meanwhile, the code is that of its write. */
const isWrongVersion = (cause: unknown): boolean =>
  codeOf(cause) === 'EPROTO' && errorText(cause).includes('wrong version number');

const cutCodes: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/**
 * What ended a connection, as far as TLS explains it: `untrusted`: an unknown authority; `plain`: the server speaks no TLS; `cut`: the
 * server closed the connection or sent an alert, as where it requires a certificate.
 */
export type TlsTrouble = 'untrusted' | 'plain' | 'cut';

export const tlsTroubleOf = (error: unknown): TlsTrouble | undefined => {
  const cause = firstCause(error);
  const code = codeOf(cause);
  if (untrustedCodes.has(code)) return 'untrusted';
  if (plainCodes.has(code) || isWrongVersion(cause)) return 'plain';
  return cutCodes.has(code) || (code.startsWith('ERR_SSL_') && code.includes('ALERT')) ? 'cut' : undefined;
};

/** The text of the first cause of an error; its code where it has no text, as of several addresses that all refused. */
export const firstCauseText = (error: unknown): string => {
  const cause = firstCause(error);
  return errorText(cause) || codeOf(cause);
};
