import type { ItemReason, TimeReason } from '../../model/reasons.ts';
import type { ReadState } from '../../wire/otlp/read-state.ts';
import type { ResourceRow } from '../../wire/otlp/resource-row.ts';
import { sentTime } from '../items/deferred-texts.ts';
import { shortAttributes, shortText } from '../items/sample-texts.ts';
import { idsOf } from './deferred-text.ts';

/** The current log record. `row` is its resource as rows hold it; undefined for a record without an owner. */
export const sampledItem = (
  state: ReadState,
  row: ResourceRow | undefined,
  reason: ItemReason | TimeReason,
): object => {
  const { record, owner } = state;
  if ((record.fault.reason ?? reason) === 'record_not_object') return {};
  const text = (start: number, end: number): string | undefined => shortText(state, start, end) || undefined;
  return {
    body: text(record.bodyStart, record.bodyEnd),
    severityNumber: record.severityNumber,
    severityText: text(record.severityStart, record.severityEnd),
    eventName: text(record.eventStart, record.eventEnd),
    ...idsOf(record),
    timeUnixNano: sentTime(state, record.time),
    observedTimeUnixNano: sentTime(state, record.observed),
    attributes: shortAttributes(state, record.attributes),
    scope: text(owner.scopeNameStart, owner.scopeNameEnd),
    resource: row === undefined ? undefined : shortAttributes(state, row.attributes),
  };
};
