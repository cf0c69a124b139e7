import { counted } from '../../model/counted.ts';
import { explain } from '../../model/reasons.ts';
import { exampleText } from '../../model/text-forms.ts';
import type { EncodedPoints } from '../../rules/points/encoded-points.ts';
import type { Reply } from '../http/reply.ts';
import { noHeaders, type RefusalReason, type Refused } from '../refused.ts';

const contentType = 'application/json';

/** All points kept with all their values: exactly these bytes. */
const plainSuccess: Reply = {
  status: 200,
  contentType,
  body: '{"code":"200","result":"true","message":""}',
  headers: noHeaders,
};

/**
 * The reply to a push whose key was stored before. Its points were validated then, and the same rules may decide otherwise now: the
 * reply names no single point.
 */
export const repeatReply: Reply = {
  status: 200,
  contentType,
  body: JSON.stringify({
    code: '200',
    result: 'true',
    message:
      'received before: the request was stored and its points validated then; it is counted as duplicate_request and not stored again',
  }),
  headers: noHeaders,
};

/** The error, its place or its size, and the remedy: `<meaning>: <detail>; <remedy>`. */
const refusalText = (reason: RefusalReason, detail: string): string => {
  const { meaning = reason, remedy = '' } = explain(reason) ?? {};
  return `${detail === '' ? meaning : `${meaning}: ${detail}`}; ${remedy}`;
};

/** The reply to a request that is refused whole: the envelope `{code, result, message}`, all strings, and the reason. */
export const refusedReply = ({ reason, detail, status, headers }: Refused): Reply => ({
  status,
  contentType,
  headers,
  body: JSON.stringify({
    code: String(status),
    result: 'false',
    message: refusalText(reason, detail),
    reason,
  }),
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

/** The result for the points: 200 when at least one is kept, else 400 (nothing was published). */
export const pointsReply = (encoded: EncodedPoints): Reply => {
  if (encoded.dropped.size === 0 && encoded.valuesDropped.size === 0) return plainSuccess;
  const isKept = encoded.accepted > 0;
  const firstReason = encoded.examples[0]?.reason;
  return {
    status: isKept ? 200 : 400,
    contentType,
    body: JSON.stringify({
      code: isKept ? '200' : '400',
      result: isKept ? 'true' : 'false',
      message: outcomeMessage(encoded),
      ...(isKept ? {} : { reason: firstReason }),
      accepted: encoded.accepted,
      dropped: Object.fromEntries(encoded.dropped),
      values_dropped: Object.fromEntries(encoded.valuesDropped),
      examples: encoded.examples.map(({ index, reason, field, ...example }) => ({
        index,
        reason,
        field,
        detail: exampleText(example),
      })),
    }),
    headers: noHeaders,
  };
};
