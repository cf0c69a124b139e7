import type { StreamHealth } from '../../bus/stream-state.ts';

/** A stream as it was read last, and how it grows. */
export type StreamTrend = StreamHealth & {
  /** Of messages that were stored in it. Undefined until it was read for some seconds. */
  readonly messagesInPerSecond: number | undefined;
  /** Of its bytes; below 0 while it empties. */
  readonly growthPerSecond: number | undefined;
  /** Undefined while it does not grow. */
  readonly secondsToFull: number | undefined;
  readonly readSecondsAgo: number;
};

type Reading = StreamHealth & { readonly at: number };

/** Growth is that of the last minute: a burst of a second says nothing about when a stream is full. */
const windowMs = 60_000;
const trendMsMin = 4_000;
/** Beyond this a time to full means nothing. */
const secondsToFullMax = 30 * 86_400;

export type StreamTrends = {
  /** A reading; undefined: the stream or its consumer is missing. */
  saw(stream: string, health: StreamHealth | undefined): void;
  /** Undefined for a stream that was not read yet. */
  of(stream: string): StreamTrend | undefined;
  /** Ms since a stream that `of` does not have went missing, or since the start where it was never read. */
  absentMs(stream: string): number;
};

/** Remembers a minute of readings of each stream. `elapsed` in ms, never a wall clock. */
export const createStreamTrends = (elapsed: () => number): StreamTrends => {
  const readings = new Map<string, Reading[]>();
  const absentAt = new Map<string, number>();
  const startedAt = elapsed();
  return {
    saw: (stream, health) => {
      if (health === undefined) {
        if (readings.delete(stream)) absentAt.set(stream, elapsed());
        return;
      }
      const at = elapsed();
      const before = readings.get(stream) ?? [];
      // One that was made again counts from 1, or from far above.
      const isSame =
        (before.at(-1)?.lastSequence ?? 0) <= health.lastSequence &&
        (before.at(-1)?.begin ?? health.begin) === health.begin;
      const kept = isSame ? before.filter((reading) => at - reading.at <= windowMs) : [];
      readings.set(stream, [...kept, { ...health, at }]);
    },
    of: (stream) => {
      const all = readings.get(stream) ?? [];
      const [first] = all;
      const last = all.at(-1);
      if (first === undefined || last === undefined) return undefined;
      const { at, ...health } = last;
      const seconds = (at - first.at) / 1_000;
      const isKnown = at - first.at >= trendMsMin;
      const growth = isKnown ? (last.bytes - first.bytes) / seconds : undefined;
      const toFull = growth !== undefined && growth > 0 ? (last.bytesMax - last.bytes) / growth : undefined;
      return {
        ...health,
        messagesInPerSecond: isKnown ? (last.lastSequence - first.lastSequence) / seconds : undefined,
        growthPerSecond: growth,
        secondsToFull:
          toFull !== undefined && last.bytesMax > 0 && toFull < secondsToFullMax
            ? Math.max(0, Math.floor(toFull))
            : undefined,
        readSecondsAgo: Math.max(0, Math.floor((elapsed() - at) / 1_000)),
      };
    },
    absentMs: (stream) => elapsed() - (absentAt.get(stream) ?? startedAt),
  };
};
