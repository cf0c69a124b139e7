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
  const all = new Map<string, { min: bigint; max: bigint }>();
  for (const { traces } of keys) {
    for (const [traceId, { min, max }] of traces) {
      const known = all.get(traceId);
      if (known === undefined) all.set(traceId, { min, max });
      else {
        if (min < known.min) known.min = min;
        if (max > known.max) known.max = max;
      }
    }
  }
  return [...all].map(([traceId, { min, max }]) => ({ traceId, min, max }));
};
