import type { IncomingMessage } from 'node:http';
import { explain } from '../../model/reasons.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import { type PushPair, scanBody } from './decode.ts';
import { type EncodedPush, firstPoint } from './encode.ts';

/** The known facts of the request so far; a refusal is attributed by them. */
export type PushSender = {
  readonly request: IncomingMessage;
  /** The credential that it brings. */
  pair?: PushPair;
  /** The data id that it has shown a right to; 0 while there is none. */
  dataId: number;
  /** Points, as far as they were counted. */
  items: number;
  /** When it is answered at the latest, ms of `performance.now()`. */
  deadlineAt: number;
  /** The body, once somebody has shown a right to it. */
  bytes?: Buffer;
};

/** What a field's path in a point leads to: `timestamp`, `metrics.cpu`, `dimension.module`. */
const valueAt = (point: unknown, path: string): unknown => {
  if (path === '') return undefined;
  const dot = path.indexOf('.');
  const head = dot === -1 ? path : path.slice(0, dot);
  const part: unknown = typeof point === 'object' && point !== null ? Reflect.get(point, head) : undefined;
  if (dot === -1) return part;
  return typeof part === 'object' && part !== null ? Reflect.get(part, path.slice(dot + 1)) : undefined;
};

const secretsOf = ({ pair }: PushSender): string[] => (pair === undefined ? [] : [pair.token]);

/**
 * Takes examples of points that were dropped or deferred, as they were received. Those whose time failed are dropped in transfer,
 * unless the whole request was refused for them.
 */
export const samplePoints = (recorder: RefusalRecorder, sender: PushSender, push: EncodedPush): void => {
  const { encoded } = push;
  if (encoded.dropped.size === 0) return;
  for (const { index, reason, field, detail } of [...encoded.examples, ...encoded.lateExamples]) {
    if (!recorder.wants(sender.dataId, reason)) continue;
    const point = push.pointAt(index);
    recorder.sample(sender.request, sender.dataId, '', {
      reason,
      stage: encoded.accepted > 0 ? (explain(reason)?.stage ?? 'receiver') : 'receiver',
      ordinal: encoded.exampleOrdinals.get(index) ?? index,
      field,
      value: valueAt(point, field),
      detail,
      payload: point,
      secrets: secretsOf(sender),
    });
  }
};

/** Of a larger body nothing is shown: looking for its first point would cost more than the refusal. */
const shownBytesMax = 64 * 1024;

/** The body that an example shows: with its first point alone. */
const shownBody = ({ dataId, bytes }: PushSender): object | undefined => {
  if (dataId === 0) return undefined;
  if (bytes === undefined || bytes.length > shownBytesMax) return { data_id: dataId };
  const scan = scanBody(bytes, bytes.length);
  try {
    const first = scan.pointsIn(bytes) > 0 ? [firstPoint(bytes, scan)] : undefined;
    return { data_id: dataId, data: first };
  } catch {
    return { data_id: dataId };
  }
};

/** Takes an example of a refused request. What nobody has shown a right to is not looked into: it is told by reason and sender. */
export const sampleRefusedPush = (
  recorder: RefusalRecorder,
  sender: PushSender,
  reason: string,
  detail: string,
): void => {
  const { request, pair, dataId } = sender;
  if (!recorder.wants(dataId, reason)) return;
  const claimed = pair === undefined || dataId !== 0 ? '' : `data id ${pair.dataId}`;
  recorder.sample(request, dataId, '', {
    reason,
    ordinal: -1,
    field: '',
    value: undefined,
    detail: [detail, claimed].filter((text) => text !== '').join('; '),
    payload: shownBody(sender),
    secrets: secretsOf(sender),
  });
};
