import { type LogSlots, logIdPlaces } from '../../wire/otlp/log-slots.ts';
import type { ReadState } from '../../wire/otlp/read-state.ts';
import type { ResourceRow } from '../../wire/otlp/resource-row.ts';
import { limitedAttributes, limitedText, sentTime } from '../items/deferred-texts.ts';

/** The ids of a record in hexadecimal; undefined where it has none. */
export const idsOf = ({ ids, hasTrace, hasSpan }: LogSlots): { traceId?: string; spanId?: string } => {
  const hex = (from: number, to: number): string => String.fromCharCode(...ids.bytes.subarray(from, to));
  return {
    ...(hasTrace ? { traceId: hex(logIdPlaces.trace, logIdPlaces.span) } : {}),
    ...(hasSpan ? { spanId: hex(logIdPlaces.span, logIdPlaces.end) } : {}),
  };
};

/**
 * The current log record as a JSON object of OTLP that is complete by itself (see DeferredItems), its body as the text of a row. The
 * schema URLs are beside the resource and the scope that they belong to.
 */
export const deferredText = (state: ReadState, row: ResourceRow): string => {
  const { record, owner } = state;
  const text = (start: number, end: number): string => limitedText(state, start, end);
  return JSON.stringify({
    resource: { attributes: limitedAttributes(state, row.attributes, 0, row.attributes.count) },
    resourceSchemaUrl: text(owner.resourceSchemaStart, owner.resourceSchemaEnd) || undefined,
    scope: {
      name: text(owner.scopeNameStart, owner.scopeNameEnd),
      version: text(owner.scopeVersionStart, owner.scopeVersionEnd),
      attributes: limitedAttributes(state, owner.scopeAttributes, 0, owner.scopeAttributes.count),
    },
    scopeSchemaUrl: text(owner.scopeSchemaStart, owner.scopeSchemaEnd) || undefined,
    logRecord: {
      timeUnixNano: sentTime(state, record.time),
      observedTimeUnixNano: sentTime(state, record.observed),
      severityNumber: record.severityNumber,
      severityText: text(record.severityStart, record.severityEnd),
      body: { stringValue: text(record.bodyStart, record.bodyEnd) },
      attributes: limitedAttributes(state, record.attributes, 0, record.attributes.count),
      flags: record.flags,
      ...idsOf(record),
      eventName: text(record.eventStart, record.eventEnd),
    },
  });
};
