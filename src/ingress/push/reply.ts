import { counted, listedCounts } from '../../model/counted.ts';
import { explain } from '../../model/reasons.ts';
import { sumOf } from '../../model/sums.ts';
import { exampleText } from '../../model/text-forms.ts';
import type { EncodedPoints } from '../../rules/points/encoded-points.ts';
import type { Reply } from '../http/reply.ts';
import { noLinks, type ReasonLinks } from '../reason-links.ts';
import { noHeaders, type Refused } from '../refused.ts';

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
  headers: { 'Idempotent-Replayed': 'true' },
};

/**
 * The error, its place or its size, and the remedy: `<meaning>: <detail>; <remedy>`. A detail that says all of it stands alone: the
 * remedy of a malformed request is not that of a wrong parameter.
 */
const refusalText = ({ reason, detail, field, status }: Refused): string => {
  if (reason === 'protocol_error' && (field !== 'body' || status !== 400)) return detail;
  const { meaning = reason, remedy = '' } = explain(reason) ?? {};
  return `${detail === '' ? meaning : `${meaning}: ${detail}`}; ${remedy}`;
};

/** The reply to a request that is refused whole: the envelope `{code, result, message}`, all strings, and the reason. */
export const refusedReply = (refused: Refused, links: ReasonLinks = noLinks): Reply => ({
  status: refused.status,
  contentType,
  headers: refused.headers,
  body: JSON.stringify({
    code: String(refused.status),
    result: 'false',
    message: refusalText(refused) + links([refused.reason]),
    reason: refused.reason,
  }),
});

/** Whether a point or a value of the push would be dropped. */
export const isFaulty = ({ dropped, valuesDropped }: EncodedPoints): boolean =>
  dropped.size > 0 || valuesDropped.size > 0;

const reasonsOf = ({ dropped, valuesDropped }: EncodedPoints): string[] => [
  ...dropped.keys(),
  ...valuesDropped.keys(),
];

const faults = (encoded: EncodedPoints, verb: string): string[] => {
  const parts: string[] = [];
  const dropped = sumOf(encoded.dropped.values());
  if (dropped > 0)
    parts.push(
      `${dropped} of ${counted(encoded.accepted + dropped, 'point')} ${verb} (${listedCounts(encoded.dropped)})`,
    );
  const values = sumOf(encoded.valuesDropped.values());
  if (values > 0) parts.push(`${counted(values, 'value')} ${verb} (${listedCounts(encoded.valuesDropped)})`);
  return parts;
};

const counts = (encoded: EncodedPoints) => ({
  dropped: Object.fromEntries(encoded.dropped),
  values_dropped: Object.fromEntries(encoded.valuesDropped),
  ...(encoded.valuesRounded === 0 ? {} : { values_rounded: encoded.valuesRounded }),
  ...(encoded.pointsExpiring === 0 ? {} : { points_expiring: encoded.pointsExpiring }),
  examples: [...encoded.examples, ...encoded.lostExamples].map(({ index, reason, field, ...example }) => ({
    index,
    reason,
    field,
    detail: exampleText(example),
  })),
});

/** Only a publish tells a repeat from a first try: without one, an earlier try of a request with a key may be stored. */
const nothingOfThisTry = 'nothing of this try is stored';

/** What became of kept points and values otherwise than their sender may think. */
const warnings = ({ valuesRounded, pointsExpiring }: EncodedPoints, initialDays = 0): string[] => {
  const parts: string[] = [];
  if (valuesRounded > 0)
    parts.push(`${counted(valuesRounded, 'value')} stored as the nearest double (integers beyond 2^53)`);
  if (pointsExpiring > 0)
    parts.push(
      `${counted(pointsExpiring, 'point')} stored beyond the retention of ${counted(initialDays, 'day')}, removed at once or with the next points (to keep older points: tidemark retention set)`,
    );
  return parts;
};

/**
 * The result for the points: 200 when at least one is kept, else 400 (nothing was published). `isKeyed`: the request has an
 * Idempotency-Key. `initialDays`: the default retention of the data id.
 */
export const pointsReply = (
  encoded: EncodedPoints,
  links: ReasonLinks = noLinks,
  isKeyed = false,
  initialDays?: number,
): Reply => {
  const { accepted, valuesRounded, pointsExpiring, examples } = encoded;
  if (!isFaulty(encoded) && valuesRounded === 0 && pointsExpiring === 0) return plainSuccess;
  const isKept = accepted > 0;
  const message = [...faults(encoded, 'dropped'), ...warnings(encoded, initialDays)];
  const start = isKeyed && !isKept ? `${nothingOfThisTry}: ` : '';
  return {
    status: isKept ? 200 : 400,
    contentType,
    body: JSON.stringify({
      code: isKept ? '200' : '400',
      result: isKept ? 'true' : 'false',
      message: start + message.join('; ') + links(reasonsOf(encoded)),
      ...(isKept ? {} : { reason: examples[0]?.reason }),
      accepted,
      ...counts(encoded),
    }),
    headers: noHeaders,
  };
};

/** The reply to a strict push of which a point or a value would be dropped: 400, nothing was published. `isKeyed`: as above. */
export const strictReply = (
  encoded: EncodedPoints,
  links: ReasonLinks = noLinks,
  isKeyed = false,
): Reply => ({
  status: 400,
  contentType,
  body: JSON.stringify({
    code: '400',
    result: 'false',
    message: `${isKeyed ? nothingOfThisTry : 'nothing is stored'}, because strict=true: ${faults(encoded, 'would be dropped').join('; ')}${links(reasonsOf(encoded))}`,
    reason: encoded.examples[0]?.reason ?? encoded.valuesDropped.keys().next().value,
    accepted: 0,
    ...counts(encoded),
  }),
  headers: noHeaders,
});
