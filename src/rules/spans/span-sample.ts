import type { SpanReason, TimeReason } from '../../model/reasons.ts';
import { ellipsis } from '../../model/text-forms.ts';
import { cutEnd } from '../../wire/otlp/place.ts';
import type { ResourceRow } from '../../wire/otlp/resource-row.ts';
import { type AttributeSlots, idPlaces, type ReadState } from '../../wire/otlp/span-slots.ts';
import { sentTime } from './deferred-text.ts';

const attributesMax = 16;
const textBytesMax = 1024;

const shortText = (state: ReadState, start: number, end: number): string => {
  if (Math.abs(end - start) <= textBytesMax) return state.textAt(start, end);
  // The text before the ellipsis may be the beginning of a secret.
  if (start >= 0) return state.textAt(start, cutEnd(state.body.bytes, start, textBytesMax)) + ellipsis;
  return state.textAt(start, ~cutEnd(state.scratch.source.bytes, ~start, textBytesMax)) + ellipsis;
};

const attributesOf = (state: ReadState, list: AttributeSlots): Record<string, string> | undefined => {
  if (list.count === 0) return undefined;
  const attributes: [string, string][] = [];
  for (let index = 0; index < Math.min(list.count, attributesMax); index++) {
    const key = shortText(state, list.keyStarts[index] ?? 0, list.keyEnds[index] ?? 0);
    attributes.push([key, shortText(state, list.valueStarts[index] ?? 0, list.valueEnds[index] ?? 0)]);
  }
  return Object.fromEntries(attributes);
};

/** The ids that were read: the slots behind a wrong one may still hold those of an earlier span. */
const idsOf = ({ span }: ReadState, reason: SpanReason | TimeReason): object => {
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
  reason: SpanReason | TimeReason,
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
    attributes: attributesOf(state, span.attributes),
    status: span.statusCode === 0 ? undefined : span.statusCode,
    scope: text(owner.scopeNameStart, owner.scopeNameEnd),
    resource: row === undefined ? undefined : attributesOf(state, row.attributes),
  };
};
