import type { ByteSource } from '../../wire/native/bytes.ts';
import type { ReadState } from '../../wire/otlp/read-state.ts';
import type { ResourceRow } from '../../wire/otlp/resource-row.ts';
import { idPlaces } from '../../wire/otlp/span-slots.ts';
import { limitedAttributes, limitedText, sentTime } from '../items/deferred-texts.ts';

/** The current span as a JSON object of OTLP that is complete by itself (see DeferredItems). */
export const deferredText = (state: ReadState, row: ResourceRow): string => {
  const { span, owner } = state;
  const { ids } = span;
  const hex = ({ bytes }: ByteSource, from: number, to: number): string =>
    String.fromCharCode(...bytes.subarray(from, to));
  const text = (start: number, end: number): string => limitedText(state, start, end);
  return JSON.stringify({
    resource: { attributes: limitedAttributes(state, row.attributes, 0, row.attributes.count) },
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
      attributes: limitedAttributes(state, span.attributes, 0, span.attributes.count),
      events: span.events.slice(0, span.eventCount).map((event) => ({
        timeUnixNano: sentTime(state, event.time),
        name: text(event.nameStart, event.nameEnd),
        attributes: limitedAttributes(state, span.eventAttributes, event.attributesFrom, event.attributesTo),
      })),
      links: span.links
        .slice(0, span.linkCount)
        .filter(({ isValid }) => isValid)
        .map((link) => ({
          traceId: hex(link.ids, idPlaces.trace, idPlaces.span),
          spanId: hex(link.ids, idPlaces.span, idPlaces.parent),
          traceState: text(link.stateStart, link.stateEnd),
          attributes: limitedAttributes(state, span.linkAttributes, link.attributesFrom, link.attributesTo),
        })),
      status: { code: span.statusCode, message: text(span.messageStart, span.messageEnd) },
    },
  });
};
