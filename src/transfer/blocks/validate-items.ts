import { validateLogTime } from '../../model/log-time.ts';
import type { TimeReason } from '../../model/reasons.ts';
import {
  type RawSpanTime,
  type SpanTimePolicy,
  splitTime,
  validateSpanInstant,
  validateSpanTime,
} from '../../model/span-time.ts';
import { messageKeyOf } from '../../outcomes/outcome-rows.ts';
import { addOutcome, addReceiverDrops, storedOutcome } from '../../outcomes/tally.ts';
import type { BlocksEnvelope, BlocksHeader, BlocksKind } from '../../wire/blocks-envelope.ts';
import { noVerdicts, type PassedItem, validateSection } from '../deferred-items.ts';
import type { DeadLettered, Validated } from '../sink.ts';
import { daysByOwner } from '../taken-days.ts';

/** An item is one row. */
export const rowsOf = ({ parts }: BlocksHeader): number => parts.reduce((rows, part) => rows + part.rows, 0);

const rawTime = (value: unknown): RawSpanTime => {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? undefined : String(value);
};

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

/** How the deferred items of a kind are called and judged. */
type DeferredKind = {
  readonly item: string;
  /** Why an item is dropped, from the text that the receiver made of it; undefined where its times are valid. */
  readonly reasonOf: (item: unknown, arrivedAt: number, policy: SpanTimePolicy) => TimeReason | undefined;
};

const deferredKinds: Readonly<Record<BlocksKind, DeferredKind>> = {
  spans: {
    item: 'a span',
    reasonOf: (item, arrivedAt, policy) => {
      const span = field(item, 'span');
      const start = rawTime(field(span, 'startTimeUnixNano'));
      const end = rawTime(field(span, 'endTimeUnixNano'));
      return validateSpanTime(start, end, arrivedAt, policy);
    },
  },
  logs: {
    item: 'a log record',
    reasonOf: (item, arrivedAt, policy) => {
      const record = field(item, 'logRecord');
      const time = rawTime(field(record, 'timeUnixNano'));
      const observed = rawTime(field(record, 'observedTimeUnixNano'));
      return validateLogTime(time, observed, arrivedAt, policy);
    },
  },
  data_points: {
    item: 'a data point',
    reasonOf: (item, arrivedAt, policy) => {
      const { millis, rest } = splitTime(rawTime(field(field(item, 'dataPoint'), 'timeUnixNano')));
      return validateSpanInstant(millis, rest, arrivedAt, policy);
    },
  },
};

const passedItem = (item: string, { owner, base, ordinal, arrivedAt, text }: PassedItem): DeadLettered => ({
  reason: 'deferred_item_valid',
  why: `the receiver deferred ${item}, and this version finds its times valid`,
  bytes: Buffer.from(text),
  identity: `${base}:${ordinal}`,
  items: 1,
  place: { appId: owner, uid: `${base}+${ordinal}` },
  uid: BigInt(base) + BigInt(ordinal),
  arrivedAt,
});

/** Validates the deferred items with the arrival and the windows that travel with them (architecture 6.2). */
export const validateItems = ({ header, deferredBytes }: BlocksEnvelope): Validated => {
  const { item: called, reasonOf } = deferredKinds[header.kind];
  const verdicts = noVerdicts();
  const { dropped, tally, passed } = verdicts;
  for (const [index, group] of header.deferred.entries()) {
    validateSection(verdicts, group.appId, group, deferredBytes[index], (item) =>
      reasonOf(item, group.arrivedAt, group.policy),
    );
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
    passed: passed.map((item) => passedItem(called, item)),
    unreadableItems: verdicts.unreadableItems,
    redrive: header.redrive,
    days: daysByOwner(header.parts, ({ appId }) => appId),
  };
};
