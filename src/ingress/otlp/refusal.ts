import { MalformedBody, TooManyElements, TooManyItems, TooManyTokens } from '../../wire/otlp/types.ts';
import type { Reply } from '../http/reply.ts';
import { noLinks, type ReasonLinks } from '../reason-links.ts';
import { type RefusalReason, Refused } from '../refused.ts';
import { type BodyForm, bodyHint } from './hints.ts';
import { type OtlpEncoding, statusReply } from './reply.ts';
import { type OtlpSignal, otlpSignals } from './signals.ts';

const allPaths = Object.values(otlpSignals).map(({ path }) => path);

const paths = `${allPaths.slice(0, -1).join(', ')} or ${allPaths.at(-1)}`;

const withDetail = (text: string, detail: string): string => (detail === '' ? text : `${text}: ${detail}`);

/** The messages of refusals: the error, the limit, and the remedy. A reason without an entry has its detail as message. */
const messages: Partial<Readonly<Record<RefusalReason, (detail: string) => string>>> = {
  body_too_large: (detail) => `the body is too large: ${detail}; send smaller requests`,
  inflate_ratio_exceeded: (detail) =>
    `the body inflates too much: ${detail}; send smaller requests, or no compression`,
  message_too_large: (detail) => `the request makes too large a message: ${detail}; send smaller requests`,
  encoding_unsupported: (detail) =>
    `the Content-Encoding is not supported: ${detail === '' ? 'send identity, gzip, deflate or zstd' : detail}`,
  content_type_unsupported: () =>
    'the Content-Type is neither JSON nor protobuf: send application/json or application/x-protobuf',
  unauthorized: (headers) =>
    `the write token is missing or wrong: send a valid one in the header ${headers}, or in Authorization as a bearer token`,
  application_disabled: () =>
    'the application is disabled or deleted: enable it, or stop sending; a deleted one stays refused',
  rate_limited: (detail) => `too many requests: ${detail}; send fewer, larger requests`,
  too_many_failures: (detail) =>
    `${withDetail('this address sends too many requests without a valid write token', detail)}; check the token, and wait for the seconds in Retry-After`,
  not_stored: (detail) => withDetail('nothing was stored, retry the request', detail),
  unconfirmed: (detail) =>
    `${withDetail('published, but not all of it was confirmed in time', detail)}; retry with the same bytes, they are stored once`,
  path_unknown: (detail) => withDetail('unknown path', detail === '' ? `send to ${paths}` : detail),
  method_not_allowed: (path) => `${path} accepts only POST`,
  protocol_error: (detail) => withDetail('malformed HTTP request', detail),
  aborted: (detail) => withDetail('the connection ended before the body was complete', detail),
  internal: () => "internal error; see the receiver's log",
};

/** The message of a refused request. */
export const refusalMessage = ({ reason, detail, status }: Refused): string =>
  // A status of its own has a text of its own.
  reason === 'protocol_error' && status !== 400 ? detail : (messages[reason]?.(detail) ?? detail);

/** The answer to a refused request; a 400 names the faulty field (OTLP/HTTP, "Bad Data"). */
export const refusedReply = (
  encoding: OtlpEncoding,
  refused: Refused,
  links: ReasonLinks = noLinks,
): Reply => {
  const { status, reason, headers, field } = refused;
  const message = refusalMessage(refused) + links([reason]);
  const isBadData = status === 400 && reason !== 'protocol_error';
  const violations = isBadData ? [{ field, description: message }] : [];
  return { ...statusReply(encoding, status, message, headers, violations), refused };
};

/** The refusal of a body that its reader could not parse, with the probable mistake of its sender. */
const malformed = (
  signal: OtlpSignal,
  { message, field }: MalformedBody,
  form: BodyForm,
  bytes: Uint8Array,
): Refused => {
  const hint = bodyHint(signal, form, bytes);
  const detail = hint === '' ? message : `${message}; ${hint}`;
  return new Refused('body_malformed', detail, { field: field || 'body' });
};

/** The refusal that matches an error of a reader; any other error unchanged. */
export const readerRefusal = (
  signal: OtlpSignal,
  error: unknown,
  form: BodyForm,
  bytes: Uint8Array,
): unknown => {
  if (error instanceof MalformedBody) return malformed(signal, error, form, bytes);
  if (error instanceof TooManyTokens) return new Refused('too_many_tokens', error.message);
  if (error instanceof TooManyElements) return new Refused('too_many_elements', error.message);
  if (error instanceof TooManyItems) return new Refused(signal.tooManyItems, error.message);
  return error;
};
