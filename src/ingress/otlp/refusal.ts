import { Fault } from '../../model/fault.ts';
import type { TraceRequestReason } from '../../model/reasons.ts';
import { type MalformedBody, TooManyElements, TooManySpans, TooManyTokens } from '../../wire/otlp/types.ts';
import type { BodyProblem } from '../http/body.ts';
import { bodyHint } from './hints.ts';
import { type OtlpEncoding, type OtlpReply, type OtlpStatus, statusReply } from './reply.ts';

type Headers = Readonly<Record<string, string>>;

/** A refusal of a whole request on its way out of the checks. */
export class Refused extends Error {
  readonly status: Exclude<OtlpStatus, 200>;
  readonly reason: TraceRequestReason;
  readonly headers: Headers;
  /** Path of the field that is to blame for a 400; `body` when it is the body as a whole. */
  readonly field: string;
  constructor(
    status: Exclude<OtlpStatus, 200>,
    reason: TraceRequestReason,
    message: string,
    headers: Headers = {},
    field = 'body',
  ) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.headers = headers;
    this.field = field;
  }
}

/** How long the client should wait, in whole seconds. */
export const retryAfter = (seconds: number): Record<string, string> => ({ 'Retry-After': String(seconds) });

/** 503 for a request of which nothing was stored. */
export const overloaded = (why: string): Refused =>
  new Refused(503, 'not_stored', `nothing was stored, retry the request: ${why}`, retryAfter(1));

/** 401 for a request whose spans belong to nobody. */
export const unauthorized = (): Refused =>
  new Refused(
    401,
    'unauthorized',
    'the write token is missing or wrong: send a valid one as X-MON-TOKEN or Authorization: Bearer',
  );

/** 429 for a request of an address that has sent too many without a valid credential. */
export const tooManyFailures = (waitSeconds: number): Refused =>
  new Refused(
    429,
    'too_many_failures',
    'this address sends more requests without a valid write token than the limit: check the token, and wait for the seconds in Retry-After',
    retryAfter(waitSeconds),
  );

/** 403 for a request whose spans belong to disabled applications alone. */
export const applicationDisabled = (): Refused =>
  new Refused(403, 'application_disabled', 'the application is disabled: enable it, or stop sending');

/** The refusal of a request whose body could not be had. */
export const bodyRefusal = ({ reason, detail }: BodyProblem): Refused => {
  switch (reason) {
    case 'body_too_large':
      return new Refused(413, reason, `the body is too large: ${detail}; send smaller requests`);
    case 'inflate_ratio_exceeded':
      return new Refused(
        413,
        reason,
        `the body inflates too much: ${detail}; send smaller requests, or no compression`,
      );
    case 'encoding_unsupported':
      return new Refused(415, reason, `the Content-Encoding is not supported: ${detail}`);
    case 'encoding_corrupt':
    case 'aborted':
      return new Refused(400, reason, detail);
    default:
      return overloaded(detail);
  }
};

/** The refusal of a body that its reader could not make sense of, with what its sender probably did. */
export const malformedRefusal = (
  { message, field }: MalformedBody,
  encoding: OtlpEncoding,
  bytes: Uint8Array,
): Refused => {
  const hint = bodyHint(encoding, bytes);
  return new Refused(
    400,
    'body_malformed',
    hint === '' ? message : `${message}; ${hint}`,
    {},
    field || 'body',
  );
};

/** The refusal that an error stands for. Throws the error again when it is a defect. */
export const refusalOf = (error: unknown): Refused => {
  if (error instanceof Refused) return error;
  if (error instanceof TooManyTokens) return new Refused(413, 'too_many_tokens', error.message);
  if (error instanceof TooManyElements) return new Refused(413, 'too_many_elements', error.message);
  if (error instanceof TooManySpans) return new Refused(413, 'too_many_spans', error.message);
  if (error instanceof Fault && error.kind !== 'internal') {
    const isUnconfirmed = error.code === 'unconfirmed';
    return new Refused(
      503,
      isUnconfirmed ? 'unconfirmed' : 'not_stored',
      isUnconfirmed
        ? 'published, but not confirmed in time: retry with the same bytes, they are stored once'
        : 'nothing was stored, retry the request',
      retryAfter(isUnconfirmed ? 2 : 1),
    );
  }
  throw error;
};

/** The answer to a refused request. */
export const refusalReply = (
  encoding: OtlpEncoding,
  { status, message, headers, field }: Refused,
): OtlpReply =>
  statusReply(encoding, status, message, headers, status === 400 ? [{ field, description: message }] : []);
