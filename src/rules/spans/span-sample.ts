import type { ItemReason, TimeReason } from '../../model/reasons.ts';
import type { ReadState } from '../../wire/otlp/read-state.ts';
import type { ResourceRow } from '../../wire/otlp/resource-row.ts';
import { idPlaces } from '../../wire/otlp/span-slots.ts';
import { sentTime } from '../items/deferred-texts.ts';
import { shortAttributes, shortText } from '../items/sample-texts.ts';

/** The ids that were read: the slots behind a wrong one may still hold those of an earlier span. */
const idsOf = ({ span }: ReadState, reason: ItemReason | TimeReason): object => {
  const { bytes } = span.ids;
  const hex = (from: number, to: number): string => String.fromCharCode(...bytes.subarray(from, to));
  if (reason === 'trace_id_invalid') return {};
  const traceId = hex(idPlaces.trace, idPlaces.span);
  if (reason === 'span_id_invalid') return { traceId };
  const spanId = hex(idPlaces.span, idPlaces.parent);
  if (reason === 'parent_span_id_invalid' || !span.hasParent) return { traceId, spanId };
  return { traceId, spanId, parentSpanId: hex(idPlaces.parent, idPlaces.end) };
};

/** The current span. `row` is its resource as rows hold it; undefined for a span without an owner. */
export const sampledItem = (
  state: ReadState,
  row: ResourceRow | undefined,
  reason: ItemReason | TimeReason,
): object => {
  const { span, owner } = state;
  // A span without an owner is refused for that reason: its own fault shows which of its fields were read.
  const fault = span.fault.reason ?? reason;
  if (fault === 'span_not_object') return {};
  const text = (start: number, end: number): string | undefined => shortText(state, start, end) || undefined;
  return {
    name: text(span.nameStart, span.nameEnd),
    ...idsOf(state, fault),
    kind: span.kind,
    startTimeUnixNano: sentTime(state, span.start),
    endTimeUnixNano: sentTime(state, span.end),
    attributes: shortAttributes(state, span.attributes),
    status: span.statusCode === 0 ? undefined : span.statusCode,
    scope: text(owner.scopeNameStart, owner.scopeNameEnd),
    resource: row === undefined ? undefined : shortAttributes(state, row.attributes),
  };
};
