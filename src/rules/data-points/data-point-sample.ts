import type { ItemReason, TimeReason } from '../../model/reasons.ts';
import { kindIs, metricKinds } from '../../wire/otlp/data-point-slots.ts';
import type { ReadState } from '../../wire/otlp/read-state.ts';
import type { ResourceRow } from '../../wire/otlp/resource-row.ts';
import { sentTime } from '../items/deferred-texts.ts';
import { shortAttributes, shortText } from '../items/sample-texts.ts';
import { jsonDouble, numberOf } from './deferred-text.ts';

/** The current data point. `row` is its resource as rows hold it; undefined for a point without an owner. */
export const sampledItem = (
  state: ReadState,
  row: ResourceRow | undefined,
  reason: ItemReason | TimeReason,
): object => {
  const { point, owner } = state;
  const { metric } = point;
  const text = (start: number, end: number): string | undefined => shortText(state, start, end) || undefined;
  const head = {
    metric: text(metric.nameStart, metric.nameEnd),
    kind: metricKinds[point.table],
    unit: text(metric.unitStart, metric.unitEnd),
  };
  if ((point.fault.reason ?? reason) === 'data_point_not_object') return head;
  return {
    ...head,
    timeUnixNano: sentTime(state, point.time),
    startTimeUnixNano: sentTime(state, point.start),
    ...(point.table <= kindIs.sum
      ? numberOf(point.value)
      : { sum: point.hasSum ? jsonDouble(point.sum) : undefined, buckets: point.counts.length || undefined }),
    attributes: shortAttributes(state, point.attributes),
    scope: text(owner.scopeNameStart, owner.scopeNameEnd),
    resource: row === undefined ? undefined : shortAttributes(state, row.attributes),
  };
};
