import { describe, expect, it } from 'vitest';
import type { StreamHealth } from '../../../../src/bus/stream-state.ts';
import { createStreamTrends } from '../../../../src/metadata/pulse/stream-trends.ts';

const healthOf = (bytes: number, lastSequence: number, begin = 1): StreamHealth => ({
  name: 'METRICS',
  messages: 1,
  bytes,
  bytesMax: 100_000,
  ackPending: 0,
  oldestAgeSeconds: 0,
  pending: 0,
  redelivered: 0,
  waitingPulls: 1,
  copiesBehind: 0,
  lastSequence,
  begin,
});

const open = () => {
  const clock = { ms: 500 };
  const trends = createStreamTrends(() => clock.ms);
  const saw = (bytes: number, lastSequence: number, begin?: number): void =>
    trends.saw('METRICS', healthOf(bytes, lastSequence, begin));
  return { clock, trends, saw };
};

describe('the trend of a stream', () => {
  it('tells from its growth when it is full', () => {
    const { clock, trends, saw } = open();
    saw(10_000, 100);
    expect(trends.of('METRICS')).toMatchObject({ growthPerSecond: undefined, secondsToFull: undefined });
    clock.ms += 5_000;
    saw(15_000, 150);
    expect(trends.of('METRICS')).toMatchObject({
      growthPerSecond: 1_000,
      messagesInPerSecond: 10,
      secondsToFull: 85,
      readSecondsAgo: 0,
    });
    clock.ms += 7_000;
    expect(trends.of('METRICS')).toMatchObject({ readSecondsAgo: 7 });
  });

  it('is that of the last minute, and a stream that empties is never full', () => {
    const { clock, trends, saw } = open();
    for (let second = 0; second <= 60; second += 5) {
      saw(1_000 * second, second);
      clock.ms += 5_000;
    }
    for (let second = 0; second <= 60; second += 5) {
      saw(60_000 - 500 * second, 60 + second);
      clock.ms += 5_000;
    }
    expect(trends.of('METRICS')).toMatchObject({ growthPerSecond: -500, secondsToFull: undefined });
  });

  it('begins again with a stream that counts from far above its earlier one', () => {
    const { clock, trends, saw } = open();
    saw(10_000, 100);
    clock.ms += 5_000;
    saw(0, 9_999_999, 10_000_000);
    expect(trends.of('METRICS')).toMatchObject({ messagesInPerSecond: undefined });
  });

  it('begins again with a stream that was made again, and ends with one that is missing', () => {
    const { clock, trends, saw } = open();
    saw(10_000, 100);
    clock.ms += 5_000;
    saw(50_000, 3);
    expect(trends.of('METRICS')).toMatchObject({ bytes: 50_000, growthPerSecond: undefined });
    trends.saw('METRICS', undefined);
    expect(trends.of('METRICS')).toBeUndefined();
  });
});
