import type { StreamTrend } from '../../src/metadata/pulse/stream-trends.ts';

/** A stream that was read a second ago, empty and calm unless the fields say otherwise. */
export const trendOf = (name: string, fields: Partial<StreamTrend> = {}): StreamTrend => ({
  name,
  messages: 0,
  bytes: 0,
  bytesMax: 1_000,
  ackPending: 0,
  begin: 1,
  oldestAgeSeconds: 0,
  pending: 0,
  redelivered: 0,
  waitingPulls: 1,
  copiesBehind: 0,
  lastSequence: 1,
  messagesInPerSecond: 0,
  growthPerSecond: 0,
  secondsToFull: undefined,
  readSecondsAgo: 1,
  ...fields,
});
