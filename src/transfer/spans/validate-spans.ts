import { type RawSpanTime, validateSpanTime } from '../../model/span-time.ts';
import { messageKeyOf } from '../../outcomes/outcome-rows.ts';
import { addOutcome, addReceiverDrops, storedOutcome } from '../../outcomes/tally.ts';
import type { BlocksEnvelope, BlocksHeader } from '../../wire/blocks-envelope.ts';
import { noVerdicts, type PassedItem, validateSection } from '../deferred-items.ts';
import type { DeadLettered, Validated } from '../sink.ts';
import { daysByOwner } from '../taken-days.ts';

/** A span is one row. */
export const rowsOf = ({ parts }: BlocksHeader): number => parts.reduce((rows, part) => rows + part.rows, 0);

const rawTime = (value: unknown): RawSpanTime => {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? undefined : String(value);
};

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

const passedSpan = ({ owner, base, ordinal, arrivedAt, text }: PassedItem): DeadLettered => ({
  reason: 'deferred_item_valid',
  why: 'the receiver deferred a span, and this version finds its times valid',
  bytes: Buffer.from(text),
  identity: `${base}:${ordinal}`,
  items: 1,
  place: { appId: owner, uid: `${base}+${ordinal}` },
  uid: BigInt(base) + BigInt(ordinal),
  arrivedAt,
});

/** Validates the deferred spans with the arrival and the windows that travel with them (architecture 6.3). */
export const validateSpans = ({ header, deferredBytes }: BlocksEnvelope): Validated => {
  const verdicts = noVerdicts();
  const { dropped, tally, passed } = verdicts;
  for (const [index, group] of header.deferred.entries()) {
    validateSection(verdicts, group.appId, group, deferredBytes[index], (item) => {
      const span = field(item, 'span');
      const start = rawTime(field(span, 'startTimeUnixNano'));
      const end = rawTime(field(span, 'endTimeUnixNano'));
      return validateSpanTime(start, end, group.arrivedAt, group.policy);
    });
  }
  for (const { appId, rows } of header.parts) addOutcome(tally, appId, storedOutcome, rows);
  for (const { appId, dropped: drops } of header.outcomes) addReceiverDrops(tally, appId, drops);
  const rows = rowsOf(header);
  return {
    arrivedAt: header.arrivedAt,
    key: messageKeyOf(header),
    kept: rows,
    rows,
    dropped,
    tally,
    passed: passed.map(passedSpan),
    unreadableItems: verdicts.unreadableItems,
    redrive: header.redrive,
    days: daysByOwner(header.parts, ({ appId }) => appId),
  };
};
