import type { SeriesSeen, SeriesShare } from './series-gate.ts';
import { SeriesTable } from './series-table.ts';

/** The minute of every series that a thread saw: later than any of the tables that it was given. */
const seenMinute = 0x7fffffff;

/** Judges the series of one body in a thread, by shares of the gate. `seen` is what the gate takes over. */
export const judgeShares = (shares: readonly SeriesShare[]) => {
  const judged = new Map(
    shares.map(({ appId, known, room }) => [appId, { table: new SeriesTable(known), room, isFull: false }]),
  );
  return {
    admits: (appId: number, low: number, high: number): boolean => {
      const own = judged.get(appId);
      if (own === undefined || own.table.touch(low, high, seenMinute)) return true;
      if (own.room === 0) {
        own.isFull = true;
        return false;
      }
      own.room--;
      own.table.add(low, high, seenMinute);
      return true;
    },
    seen: (): SeriesSeen[] =>
      [...judged].map(([appId, { table, isFull }]) => ({ appId, hashes: table.seenIn(seenMinute), isFull })),
  };
};
