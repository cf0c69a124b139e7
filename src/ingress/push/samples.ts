import { explain } from '../../model/reasons.ts';
import { exampleText } from '../../model/text-forms.ts';
import { shownExamples } from '../../rules/points/encoded-points.ts';
import type { Sender } from '../line.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import type { Refused } from '../refused.ts';
import { type PushPair, scanBody } from './decode.ts';
import { type EncodedPush, firstPoint } from './encode.ts';

/** The known facts of a push so far. */
export type PushSender = Sender & {
  /** The credential that it brings. */
  pair?: PushPair;
  /** The body, after its credential proved valid and its rate within the limit. */
  bytes?: Buffer;
};

/** The value at a field's path in a point: `timestamp`, `metrics.cpu`, `dimension.module`. */
const valueAt = (point: unknown, path: string): unknown => {
  if (path === '') return undefined;
  const dot = path.indexOf('.');
  const head = dot === -1 ? path : path.slice(0, dot);
  const part: unknown = typeof point === 'object' && point !== null ? Reflect.get(point, head) : undefined;
  if (dot === -1) return part;
  return typeof part === 'object' && part !== null ? Reflect.get(part, path.slice(dot + 1)) : undefined;
};

/**
 * Records samples of points that were dropped or deferred, or that lost a value, as they were received. Points with a failed time are
 * dropped in transfer, unless the whole request was refused for them.
 */
export const samplePoints = (recorder: RefusalRecorder, sender: PushSender, push: EncodedPush): void => {
  const { encoded } = push;
  if (encoded.dropped.size === 0 && encoded.valuesDropped.size === 0) return;
  for (const { index, reason, field, ...example } of shownExamples(encoded)) {
    if (!recorder.wants(sender.owner, reason)) continue;
    const point = push.pointAt(index);
    const value = valueAt(point, field);
    recorder.sample(sender, sender.owner, '', {
      reason,
      stage: encoded.accepted > 0 ? (explain(reason)?.stage ?? 'receiver') : 'receiver',
      ordinal: encoded.exampleOrdinals.get(index) ?? index,
      field,
      value,
      detail: value === undefined ? exampleText(example) : example.detail,
      payload: point,
      secrets: sender.secrets,
    });
  }
};

/** A sample shows nothing of a larger body: the search for its first point would cost more than the refusal. */
const shownBytesMax = 64 * 1024;

/** The body in a sample, with its first point alone. */
const shownBody = ({ owner, bytes }: PushSender): object | undefined => {
  if (owner === 0) return undefined;
  if (bytes === undefined || bytes.length > shownBytesMax) return { data_id: owner };
  const scan = scanBody(bytes, bytes.length);
  try {
    const first = scan.pointsIn(bytes) > 0 ? [firstPoint(bytes, scan)] : undefined;
    return { data_id: owner, data: first };
  } catch {
    return { data_id: owner };
  }
};

/**
 * Records a sample of a refused request. Without a valid credential it does not read the body: the sample shows reason and sender.
 */
export const sampleRefusedPush = (
  recorder: RefusalRecorder,
  sender: PushSender,
  { reason, detail }: Refused,
): void => {
  const { request, pair, owner, secrets } = sender;
  if (!recorder.wantsRefused(request, owner, reason, pair?.dataId ?? 0)) return;
  const claimed = pair === undefined || owner !== 0 ? '' : `data id ${pair.dataId}`;
  recorder.sample(sender, owner, '', {
    reason,
    ordinal: -1,
    field: '',
    value: undefined,
    detail: [detail, claimed].filter((text) => text !== '').join('; '),
    isOwnDetail: detail === '',
    payload: shownBody(sender),
    secrets,
  });
};
