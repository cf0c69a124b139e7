import { isTooLarge } from '../bus/too-large.ts';
import { recordUnreadable } from '../directory/directory.ts';
import { tooManyLookUps } from '../directory/find-once.ts';
import { Fault } from '../model/fault.ts';
import type { TraceRequestReason } from '../model/reasons.ts';

/** Why a receiver refuses a request as a whole: a code of the closed table. */
export type RefusalReason = TraceRequestReason;

/** Statuses that the receivers answer with. */
export type ReceiverStatus =
  | 200
  | 400
  | 401
  | 403
  | 404
  | 405
  | 408
  | 413
  | 415
  | 417
  | 429
  | 431
  | 500
  | 503;

/** HTTP status of each refusal, the same on both receivers (architecture 4.2). */
export const refusalStatuses: Readonly<Record<RefusalReason, Exclude<ReceiverStatus, 200>>> = {
  body_empty: 400,
  body_not_json: 400,
  body_not_object: 400,
  body_malformed: 400,
  data_id_invalid: 400,
  data_missing: 400,
  data_not_array: 400,
  data_empty: 400,
  unsupported_type: 400,
  protocol_error: 400,
  aborted: 400,
  credentials_differ: 400,
  encoding_corrupt: 400,
  unauthorized: 401,
  data_source_disabled: 403,
  application_disabled: 403,
  path_unknown: 404,
  method_not_allowed: 405,
  body_too_large: 413,
  inflate_ratio_exceeded: 413,
  too_many_elements: 413,
  too_many_points: 413,
  too_many_spans: 413,
  too_many_records: 413,
  too_many_data_points: 413,
  too_many_tokens: 413,
  message_too_large: 413,
  content_type_unsupported: 415,
  encoding_unsupported: 415,
  rate_limited: 429,
  too_many_failures: 429,
  internal: 500,
  not_stored: 503,
  unconfirmed: 503,
};

export type Headers = Readonly<Record<string, string>>;

export const noHeaders: Headers = {};

/** The time that the sender should wait, in whole seconds. */
export const retryAfter = (seconds: number): Headers => ({ 'Retry-After': String(seconds) });

/** What a 401 names (RFC 9110 section 11.6.1). A member `access_token` of the body belongs to the same scheme (RFC 6750 section 2.2). */
const challenge: Headers = { 'WWW-Authenticate': 'Bearer realm="tidemark"' };

type Circumstances = {
  readonly headers?: Headers;
  /** Path of the faulty field; `body` for the body as a whole. */
  readonly field?: string;
  /** The status, where it differs from that of the reason. */
  readonly status?: Exclude<ReceiverStatus, 200>;
  /** The request itself took what it was refused for, so without a credential it is a failure of its address. */
  readonly isOwnFault?: true;
};

/**
 * A refusal of a whole request on its way out of the line. `detail` names value and limit, and never holds a secret. Not an Error:
 * a stack trace costs as much as the rest of a refusal.
 */
export class Refused {
  readonly reason: RefusalReason;
  readonly detail: string;
  readonly headers: Headers;
  readonly field: string;
  readonly status: Exclude<ReceiverStatus, 200>;
  readonly isOwnFault: boolean;
  constructor(
    reason: RefusalReason,
    detail = '',
    { headers, field, status, isOwnFault }: Circumstances = {},
  ) {
    this.reason = reason;
    this.detail = detail;
    this.headers = headers ?? (reason === 'unauthorized' ? challenge : noHeaders);
    this.field = field ?? 'body';
    this.status = status ?? refusalStatuses[reason];
    this.isOwnFault = isOwnFault ?? false;
  }
}

/** 503 for a request of which nothing was stored; the sender may retry soon. */
export const notStored = (detail = '', { isOwnFault }: Pick<Circumstances, 'isOwnFault'> = {}): Refused =>
  new Refused('not_stored', detail, { headers: retryAfter(1), ...(isOwnFault && { isOwnFault }) });

/** Refusals that follow each other no later than this are of one trouble, ms. */
const troubleGapMs = 10_000;
/** A trouble that lasts longer than this is more than a restart, ms. */
const shortTroubleMs = 2_000;
/** Exporters give up after 10 s by default: a fourth wait of this length would be too long for them. */
const laterSeconds = 3;

/** The trouble of one receiver, in which it stores nothing. */
export type Patience = {
  /** This refusal; a `not_stored` one with a longer wait once the trouble lasts. */
  withWait(refused: Refused): Refused;
  /** A request was stored: a trouble is over. */
  stored(): void;
};

/**
 * Exporters have five or six tries and put Retry-After in the place of their growing back-off: with 1 s each, all of them would be
 * over after 5 s.
 */
export const createPatience = (now = () => performance.now()): Patience => {
  let begunAt = -Infinity;
  let lastAt = -Infinity;
  return {
    withWait: (refused) => {
      if (refused.reason !== 'not_stored') return refused;
      const at = now();
      if (at - lastAt > troubleGapMs) begunAt = at;
      lastAt = at;
      if (at - begunAt < shortTroubleMs) return refused;
      const { reason, detail, field, status } = refused;
      return new Refused(reason, detail, { field, status, headers: retryAfter(laterSeconds) });
    },
    stored: () => {
      lastAt = -Infinity;
    },
  };
};

/** The code of a publish of which NATS refused a part, while another one may be stored. */
export const partlyStored = 'partly_stored';

/** The refusal that matches an error. Throws the error again when it is a defect. */
export const refusalOf = (error: unknown): Refused => {
  if (error instanceof Refused) return error;
  if (!(error instanceof Fault) || error.kind === 'internal') throw error;
  if (isTooLarge(error)) return new Refused('message_too_large', error.message);
  if (error.code === tooManyLookUps) return notStored(error.message, { isOwnFault: true });
  if (error.code === recordUnreadable) return notStored(error.message);
  if (error.code === partlyStored)
    return new Refused('unconfirmed', error.message, { headers: retryAfter(2) });
  // A failure before the publish (KV, NATS) has stored nothing.
  return error.code === 'unconfirmed'
    ? new Refused('unconfirmed', '', { headers: retryAfter(2) })
    : notStored();
};
