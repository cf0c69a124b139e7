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

/** Ends of the codes for alerts of a server that misses a certificate of the client. */
const certificateAlerts = ['CERTIFICATE_REQUIRED', 'BAD_CERTIFICATE', 'HANDSHAKE_FAILURE'].map(
  (name) => `ALERT_${name}`,
);

const isCertificateAlert = (code: string): boolean =>
  code.startsWith('ERR_SSL_') && certificateAlerts.some((alert) => code.endsWith(alert));

/**
 * What ended a connection, as far as TLS explains it: `untrusted`: an unknown authority; `plain`: the server speaks no TLS;
 * `certificate`: it requires one of the client; `cut`: it closed the connection, and why is not known.
 */
export type TlsTrouble = 'untrusted' | 'plain' | 'certificate' | 'cut';

export const tlsTroubleOf = (error: unknown): TlsTrouble | undefined => {
  const cause = firstCause(error);
  const code = codeOf(cause);
  if (untrustedCodes.has(code)) return 'untrusted';
  if (plainCodes.has(code) || isWrongVersion(cause)) return 'plain';
  if (isCertificateAlert(code)) return 'certificate';
  return cutCodes.has(code) ? 'cut' : undefined;
};

const unfoundCodes: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
]);

/** Whether there is no server at the address of a connection, or no such host. */
export const isUnfound = (error: unknown): boolean => unfoundCodes.has(codeOf(firstCause(error)));

/** The text of the first cause of an error; its code where it has no text, as of several addresses that all refused. */
export const firstCauseText = (error: unknown): string => {
  const cause = firstCause(error);
  return errorText(cause) || codeOf(cause);
};
