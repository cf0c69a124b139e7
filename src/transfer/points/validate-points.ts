import { validatePointTime } from '../../model/time.ts';
import { messageKeyOf } from '../../outcomes/outcome-rows.ts';
import { addOutcome, addReceiverDrops, storedOutcome } from '../../outcomes/tally.ts';
import type { MetricsEnvelope, MetricsHeader } from '../../wire/metrics-envelope.ts';
import { type DeferredVerdicts, drop, noVerdicts, validateSection } from '../deferred-items.ts';
import type { Validated } from '../sink.ts';
import { daysByOwner } from '../taken-days.ts';
import { passedPoint } from './point-letters.ts';

/** Rows of all parts. */
export const rowsOf = (header: MetricsHeader): number => {
  let rows = 0;
  for (const part of header.parts) rows += part.rows;
  return rows;
};

const noneOf: ReadonlySet<number> = new Set();

const timestampOf = (item: unknown): unknown =>
  typeof item === 'object' && item !== null ? Reflect.get(item, 'timestamp') : undefined;

/**
 * Validates the deferred points with the arrival and the windows that travel with them (architecture 6.2), so that a redelivery
 * gets the same result. Items of a purged data id are always dropped for the purge.
 */
export const validateDeferredPoints = (
  { header, deferredBytes }: MetricsEnvelope,
  purged: ReadonlySet<number> = noneOf,
): DeferredVerdicts => {
  const verdicts = noVerdicts();
  for (const [index, group] of header.deferred.entries()) {
    const { dataId, arrivedAt, policy } = group;
    if (purged.has(dataId)) drop(verdicts, dataId, 'data_source_purged', group.ordinals.length);
    else
      validateSection(verdicts, dataId, group, deferredBytes[index], (item) =>
        validatePointTime(timestampOf(item), arrivedAt, policy),
      );
  }
  return verdicts;
};

/** The results for items that the receiver deferred, and for those that the write omitted as purged. */
export const validatePoints = (envelope: MetricsEnvelope, purged: ReadonlySet<number>): Validated => {
  const { header } = envelope;
  const verdicts = validateDeferredPoints(envelope, purged);
  const { dropped, tally, passed, unreadableItems } = verdicts;
  let kept = 0;
  let rows = 0;
  for (const part of header.parts) {
    if (purged.has(part.dataId)) drop(verdicts, part.dataId, 'data_source_purged', part.points);
    else {
      addOutcome(tally, part.dataId, storedOutcome, part.points);
      kept += part.points;
      rows += part.rows;
    }
  }
  for (const { dataId, dropped: drops } of header.outcomes) addReceiverDrops(tally, dataId, drops);
  return {
    arrivedAt: header.arrivedAt,
    key: messageKeyOf(header),
    kept,
    rows,
    dropped,
    tally,
    passed: passed.map(passedPoint),
    unreadableItems,
    redrive: header.redrive,
    days: daysByOwner(
      purged.size === 0 ? header.parts : header.parts.filter(({ dataId }) => !purged.has(dataId)),
      ({ dataId }) => dataId,
    ),
  };
};
