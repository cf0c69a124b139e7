import type { BatchBounds } from '../../stores/clickhouse/block-statements.ts';
import type { TraceTimes } from '../../stores/clickhouse/block-writer.ts';
import type { BlockKeys } from '../../wire/native/block-keys.ts';
import type { Piece } from './pieces.ts';

/** The messages that an insert brings. */
export const messagesOf = (pieces: readonly Piece[]) => {
  const sequences = [...new Set(pieces.map(({ message }) => message.delivery.streamSequence))];
  return { sequences, firstSequence: Math.min(...sequences), lastSequence: Math.max(...sequences) };
};

/** The keys of the guard: uids, times and names of these pieces. */
export const boundsOf = (pieces: readonly Piece[], keys: readonly BlockKeys[]): BatchBounds => {
  let timeMin = BigInt(pieces[0]?.part.timeMin ?? 0);
  let timeMax = timeMin;
  for (const { part } of pieces) {
    const [min, max] = [BigInt(part.timeMin), BigInt(part.timeMax)];
    if (min < timeMin) timeMin = min;
    if (max > timeMax) timeMax = max;
  }
  return {
    uidRanges: pieces.map(({ part }) => [
      BigInt(part.base) + BigInt(part.first),
      BigInt(part.base) + BigInt(part.last),
    ]),
    timeMin,
    timeMax,
    names: keys.flatMap(({ names }) => names),
  };
};

/** Least and greatest start of each trace in these blocks. */
export const traceTimesOf = (keys: readonly BlockKeys[]): TraceTimes[] => {
  const traces = new Map<string, { min: bigint; max: bigint }>();
  for (const { traceIds, times } of keys) {
    for (const [row, traceId] of traceIds.entries()) {
      const time = times[row] ?? 0n;
      const known = traces.get(traceId);
      if (known === undefined) traces.set(traceId, { min: time, max: time });
      else {
        if (time < known.min) known.min = time;
        if (time > known.max) known.max = time;
      }
    }
  }
  return [...traces].map(([traceId, { min, max }]) => ({ traceId, min, max }));
};
