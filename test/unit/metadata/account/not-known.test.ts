import { expect, it } from 'vitest';
import type { FoundDifference } from '../../../../src/account/difference.ts';
import { createNotKnownMetric } from '../../../../src/metadata/account/not-known.ts';

const startMs = 1_800_000_000_000;

const unread = (foundAt: number): FoundDifference => ({
  ...{ kind: 'not_known', stream: 'METRICS', pipeline: 'metrics', dataId: 7, appId: 0 },
  ...{ minute: 1_799_971_200, items: 0, messages: 0, closedItems: 0, closedMessages: 0, reason: '' },
  foundAt,
});

const open = () => {
  let shown = -1;
  let nowMs = startMs;
  const metric = createNotKnownMetric({
    set: (seconds) => {
      shown = seconds;
    },
    ...{ streams: () => [], now: () => nowMs },
  });
  return (seconds: number, ...found: FoundDifference[]): number => {
    nowMs = startMs + seconds * 1_000;
    metric.take(found);
    metric.show(undefined);
    return shown;
  };
};

it('rows that cannot be read are not known since they were found, by another process too', () => {
  const at = open();
  expect(at(0)).toBe(0);
  expect(at(10, unread(startMs / 1_000 - 50))).toBe(60);
  expect(at(20)).toBe(0);
});

// The alarm would stay silent for as long as the clock was ahead.
it('a clock of ClickHouse that was ahead hides no time that rows are not known', () => {
  const at = open();
  const ahead = unread(startMs / 1_000 + 7_200);
  expect(at(0, ahead)).toBe(0);
  expect(at(400, ahead)).toBe(400);
  expect(at(410)).toBe(0);
  expect(at(420, ahead)).toBe(0);
});
