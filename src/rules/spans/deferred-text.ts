import { spanTimeLengthMax } from '../../model/span-time.ts';
import type { ByteSource } from '../../wire/native/bytes.ts';
import { timeText } from '../../wire/otlp/numbers.ts';
import { cutEnd } from '../../wire/otlp/place.ts';
import type { ResourceRow } from '../../wire/otlp/resource-row.ts';
import { type AttributeSlots, idPlaces, type ReadState, type TimeSlot } from '../../wire/otlp/span-slots.ts';

type Attribute = { key: string; value: { stringValue: string } };

const limitedText = (state: ReadState, start: number, end: number): string => {
  const { valueBytesMax } = state.limits;
  if (Math.abs(end - start) <= valueBytesMax) return state.textAt(start, end);
  if (start >= 0) return state.textAt(start, cutEnd(state.body.bytes, start, valueBytesMax));
  return state.textAt(start, ~cutEnd(state.scratch.source.bytes, ~start, valueBytesMax));
};

const attributesOf = (state: ReadState, list: AttributeSlots, from: number, to: number): Attribute[] => {
  const attributes: Attribute[] = [];
  for (let index = from; index < to; index++) {
    const key = limitedText(state, list.keyStarts[index] ?? 0, list.keyEnds[index] ?? 0);
    const value = limitedText(state, list.valueStarts[index] ?? 0, list.valueEnds[index] ?? 0);
    attributes.push({ key, value: { stringValue: value } });
  }
  return attributes;
};

/**
 * A time as sent; undefined for none or zero, which protobuf does not distinguish. A text that is longer than any time is
 * truncated, and remains invalid.
 */
export const sentTime = (state: ReadState, time: TimeSlot): string | undefined => {
  const { textStart, textEnd } = time;
  if (time.millis === 0 && time.rest === 0) return undefined;
  const length = Math.abs(textEnd - textStart);
  if (length > spanTimeLengthMax) {
    const cut = textStart < 0 ? textStart - spanTimeLengthMax : textStart + spanTimeLengthMax;
    return `${state.textAt(textStart, cut)}…`;
  }
  if (length > 0) return state.textAt(textStart, textEnd);
  return Number.isNaN(time.millis) ? '' : timeText(time.millis, time.rest);
};

/** The current span as a JSON object of OTLP that is complete by itself (see DeferredItems). */
export const deferredText = (state: ReadState, row: ResourceRow): string => {
  const { span, owner } = state;
  const { ids } = span;
  const hex = ({ bytes }: ByteSource, from: number, to: number): string =>
    String.fromCharCode(...bytes.subarray(from, to));
  const text = (start: number, end: number): string => limitedText(state, start, end);
  return JSON.stringify({
    resource: { attributes: attributesOf(state, row.attributes, 0, row.attributes.count) },
    scope: {
      name: text(owner.scopeNameStart, owner.scopeNameEnd),
      version: text(owner.scopeVersionStart, owner.scopeVersionEnd),
    },
    span: {
      traceId: hex(ids, idPlaces.trace, idPlaces.span),
      spanId: hex(ids, idPlaces.span, idPlaces.parent),
      parentSpanId: span.hasParent ? hex(ids, idPlaces.parent, idPlaces.end) : undefined,
      traceState: text(span.stateStart, span.stateEnd),
      name: text(span.nameStart, span.nameEnd),
      kind: span.kind,
      startTimeUnixNano: sentTime(state, span.start),
      endTimeUnixNano: sentTime(state, span.end),
      attributes: attributesOf(state, span.attributes, 0, span.attributes.count),
      events: span.events.slice(0, span.eventCount).map((event) => ({
        timeUnixNano: sentTime(state, event.time),
        name: text(event.nameStart, event.nameEnd),
        attributes: attributesOf(state, span.eventAttributes, event.attributesFrom, event.attributesTo),
      })),
      links: span.links
        .slice(0, span.linkCount)
        .filter(({ isValid }) => isValid)
        .map((link) => ({
          traceId: hex(link.ids, idPlaces.trace, idPlaces.span),
          spanId: hex(link.ids, idPlaces.span, idPlaces.parent),
          traceState: text(link.stateStart, link.stateEnd),
          attributes: attributesOf(state, span.linkAttributes, link.attributesFrom, link.attributesTo),
        })),
      status: { code: span.statusCode, message: text(span.messageStart, span.messageEnd) },
    },
  });
};
