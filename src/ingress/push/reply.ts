import { STATUS_CODES } from 'node:http';
import { counted } from '../../model/counted.ts';
import { explain, type RequestReason } from '../../model/reasons.ts';
import type { EncodedPoints } from '../../rules/points/encoded-points.ts';

export type PushStatus = 200 | 400 | 401 | 403 | 404 | 405 | 413 | 415 | 429 | 503;

/** Status of each refusal of the push receiver (architecture 4.2). */
export const refusalStatus: Readonly<Record<RequestReason, PushStatus>> = {
  body_empty: 400,
  body_not_json: 400,
  body_not_object: 400,
  data_id_invalid: 400,
  data_missing: 400,
  data_not_array: 400,
  data_empty: 400,
  unsupported_type: 400,
  protocol_error: 400,
  aborted: 400,
  credentials_differ: 400,
  unauthorized: 401,
  data_source_disabled: 403,
  path_unknown: 404,
  method_not_allowed: 405,
  body_too_large: 413,
  too_many_points: 413,
  too_many_elements: 413,
  inflate_ratio_exceeded: 413,
  encoding_unsupported: 415,
  encoding_corrupt: 400,
  rate_limited: 429,
  too_many_failures: 429,
  not_stored: 503,
  unconfirmed: 503,
};

/** A reply of the push receiver: the envelope `{code, result, message}`, all strings, and what the case adds. */
export type PushReply = {
  readonly status: PushStatus;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
};

const noHeaders = {};

/** All points kept with all their values: exactly these bytes. */
const plainSuccess: PushReply = {
  status: 200,
  body: '{"code":"200","result":"true","message":""}',
  headers: noHeaders,
};

/**
 * The reply to a push with a key that was stored before. Its points were validated then, and the same rules may decide otherwise now:
 * the reply names no single point.
 */
export const repeatReply: PushReply = {
  status: 200,
  body: JSON.stringify({
    code: '200',
    result: 'true',
    message:
      'received before: the request was stored and its points validated then; it is counted as duplicate_request and not stored again',
  }),
  headers: noHeaders,
};

/** What is wrong, where or by how much, and what to do: `<meaning>: <detail>; <remedy>`. */
const refusalText = (reason: RequestReason, detail: string): string => {
  const { meaning = reason, remedy = '' } = explain(reason) ?? {};
  return `${detail === '' ? meaning : `${meaning}: ${detail}`}; ${remedy}`;
};

/** A request refused whole. `detail` never holds what the sender sent as a secret. */
export const refusal = (
  reason: RequestReason,
  detail: string,
  headers: Readonly<Record<string, string>> = noHeaders,
): PushReply => {
  const status = refusalStatus[reason];
  return {
    status,
    body: JSON.stringify({
      code: String(status),
      result: 'false',
      message: refusalText(reason, detail),
      reason,
    }),
    headers,
  };
};

/** The envelope for a malformed HTTP request. */
export const protocolRefusal = (status: 400 | 408 | 417 | 431): string =>
  JSON.stringify({
    code: String(status),
    result: 'false',
    message: refusalText('protocol_error', STATUS_CODES[status] ?? String(status)),
    reason: 'protocol_error' satisfies RequestReason,
  });

const listed = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([reason, count]) => `${reason} ${count}`).join(', ');

const total = (counts: ReadonlyMap<string, number>): number => {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
};

const outcomeMessage = (encoded: EncodedPoints): string => {
  const parts: string[] = [];
  const dropped = total(encoded.dropped);
  if (dropped > 0)
    parts.push(
      `${dropped} of ${counted(encoded.accepted + dropped, 'point')} dropped (${listed(encoded.dropped)})`,
    );
  const values = total(encoded.valuesDropped);
  if (values > 0) parts.push(`${counted(values, 'value')} dropped (${listed(encoded.valuesDropped)})`);
  return parts.join('; ');
};

/** What became of the points: 200 when at least one is kept, else 400 (nothing was published). */
export const pointsReply = (encoded: EncodedPoints): PushReply => {
  if (encoded.dropped.size === 0 && encoded.valuesDropped.size === 0) return plainSuccess;
  const isKept = encoded.accepted > 0;
  const firstReason = encoded.examples[0]?.reason;
  return {
    status: isKept ? 200 : 400,
    body: JSON.stringify({
      code: isKept ? '200' : '400',
      result: isKept ? 'true' : 'false',
      message: outcomeMessage(encoded),
      ...(isKept ? {} : { reason: firstReason }),
      accepted: encoded.accepted,
      dropped: Object.fromEntries(encoded.dropped),
      values_dropped: Object.fromEntries(encoded.valuesDropped),
      examples: encoded.examples,
    }),
    headers: noHeaders,
  };
};
