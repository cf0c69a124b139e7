import type { IncomingMessage } from 'node:http';
import type { Source } from '../../directory/directory.ts';
import { explain } from '../../model/reasons.ts';
import type { EncodedPoints } from '../../wire/points/encoded-points.ts';
import { countOrdinals } from '../../wire/points/point-encoder.ts';
import type { Account } from '../account.ts';
import type { PushBody } from './decode.ts';

/** What a field's path in a point leads to: `timestamp`, `metrics.cpu`, `dimension.module`. */
const valueAt = (point: unknown, path: string): unknown => {
  if (path === '') return undefined;
  const dot = path.indexOf('.');
  const head = dot === -1 ? path : path.slice(0, dot);
  const part: unknown = typeof point === 'object' && point !== null ? Reflect.get(point, head) : undefined;
  if (dot === -1) return part;
  return typeof part === 'object' && part !== null ? Reflect.get(part, path.slice(dot + 1)) : undefined;
};

/**
 * Takes examples of points that were dropped or deferred, as they were received. Those whose time failed are dropped in transfer,
 * unless the whole request was refused for them.
 */
export const samplePoints = (
  account: Account,
  request: IncomingMessage,
  source: Source,
  { data, token }: PushBody,
  encoded: EncodedPoints,
): void => {
  if (encoded.dropped.size === 0 || !Array.isArray(data)) return;
  const points: readonly unknown[] = data;
  for (const { index, reason, field, detail } of [...encoded.examples, ...encoded.lateExamples]) {
    if (!account.wants(source.dataId, reason)) continue;
    const point = points[index];
    account.sample(request, source.dataId, '', {
      reason,
      stage: encoded.accepted > 0 ? (explain(reason)?.stage ?? 'receiver') : 'receiver',
      ordinal: countOrdinals(points.slice(0, index), source.layout),
      field,
      value: valueAt(point, field),
      detail,
      payload: point,
      secrets: [token],
    });
  }
};

/** Takes an example of a refused request. What nobody has shown a right to is not looked into: it is told by reason and sender. */
export const sampleRefusedPush = (
  account: Account,
  request: IncomingMessage,
  dataId: number,
  reason: string,
  detail: string,
  push: PushBody | undefined,
): void => {
  if (!account.wants(dataId, reason)) return;
  const claimed = push === undefined || dataId !== 0 ? '' : `data id ${push.dataId}`;
  account.sample(request, dataId, '', {
    reason,
    ordinal: -1,
    field: '',
    value: undefined,
    detail: [detail, claimed].filter((text) => text !== '').join('; '),
    payload: dataId === 0 ? undefined : { data_id: dataId, data: push?.data },
    secrets: push === undefined ? [] : [push.token],
  });
};
