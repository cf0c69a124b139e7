import { dayMs } from '../../model/time.ts';
import { rowEnd, timeOfRow } from '../../wire/line-protocol.ts';
import type { Part } from '../../wire/metrics-envelope.ts';
import { partDays } from '../../wire/part-days.ts';

/** Event days of one commit of QuestDB, which makes a partition for each new one, and leaves a table for others after a second. */
export const pieceDaysLeast = 128;
/** Each piece costs a request, for which the other points of the batch wait: beyond this number they have more days each. */
export const piecesMax = 64;

type Rows = { readonly part: Part; readonly bytes: Uint8Array };

/** Whether rows of one table may be of more days than a piece has. Almost no batch is: it costs two comparisons for each part. */
const mayHaveManyDays = (all: readonly Rows[]): boolean => {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const { part } of all) {
    min = Math.min(min, part.timeMin);
    max = Math.max(max, part.timeMax);
  }
  if (max - min < pieceDaysLeast * dayMs) return false;
  const days = new Set<number>();
  for (const { part } of all) {
    const told = partDays(part);
    if (told === undefined) return true;
    for (const [day] of told) days.add(day);
  }
  return days.size > pieceDaysLeast;
};

const dayOf = (bytes: Uint8Array, end: number): number => Math.floor(timeOfRow(bytes, end) / dayMs);

/** The piece of each day, and the number of pieces. */
const placesOf = (all: readonly Rows[]): { places: Map<number, number>; count: number } => {
  const days = new Set<number>();
  for (const { bytes } of all)
    for (let end = rowEnd(bytes, 0); end !== -1; end = rowEnd(bytes, end)) days.add(dayOf(bytes, end));
  const each = Math.max(pieceDaysLeast, Math.ceil(days.size / piecesMax));
  const inOrder = [...days].toSorted((a, b) => a - b);
  return {
    places: new Map(inOrder.map((day, index) => [day, Math.floor(index / each)])),
    count: Math.ceil(days.size / each),
  };
};

/** The rows by piece, in their order; empty for pieces without any. */
const sorted = (bytes: Uint8Array, places: ReadonlyMap<number, number>, pieces: number): Buffer[] => {
  const lengths = new Array<number>(pieces).fill(0);
  for (let start = 0, end = rowEnd(bytes, 0); end !== -1; start = end, end = rowEnd(bytes, end)) {
    const place = places.get(dayOf(bytes, end)) ?? 0;
    lengths[place] = (lengths[place] ?? 0) + end - start;
  }
  const buffers = lengths.map((length) => Buffer.allocUnsafe(length));
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  lengths.fill(0);
  for (let start = 0, end = rowEnd(bytes, 0); end !== -1; start = end, end = rowEnd(bytes, end)) {
    const place = places.get(dayOf(bytes, end)) ?? 0;
    const at = lengths[place] ?? 0;
    source.copy(buffers[place] ?? source, at, start, end);
    lengths[place] = at + end - start;
  }
  return buffers;
};

/**
 * Rows of one table in pieces of at most 128 event days, or more where that made more than 64 pieces, one after the other in time. Without
 * more days than that the rows themselves, as one piece. QuestDB applies a commit as a whole: the tables of others wait for one of thousands
 * of days.
 */
export const piecesByDay = <R extends Rows>(all: readonly R[]): (readonly R[])[] => {
  if (!mayHaveManyDays(all)) return [all];
  const { places, count } = placesOf(all);
  if (count <= 1) return [all];
  const pieces = Array.from({ length: count }, (): R[] => []);
  for (const each of all) {
    for (const [place, bytes] of sorted(each.bytes, places, count).entries())
      if (bytes.length > 0) pieces[place]?.push({ ...each, bytes });
  }
  return pieces;
};
