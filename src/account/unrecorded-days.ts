import { z } from 'zod';
import { type Pipeline, pipelines } from '../model/signals.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import type { DaySize } from './day-difference.ts';
import type { StoreSizes } from './days-to-compare.ts';
import { type DayFilter, readSettledDays, type SettledDays, type SettledOwner } from './settled-days.ts';

const count = z.coerce.number();
const dayRow = z.object({
  pipeline: z.enum(pipelines),
  owner: count,
  day: count,
  rows: count,
  sum: z.string(),
});

const daysQuery = `SELECT pipeline, if(pipeline = 'metrics', data_id, app_id) AS owner, day,
    sum(rows) AS rows, toString(sum(sum)) AS sum
  FROM ${database}.ingest_days WHERE day >= {first:UInt32} GROUP BY pipeline, owner, day`;

/** The rows that lines have named of the days from this one on, lines that were written again included. */
export const readNamedDays = async (clickhouse: Clickhouse, first: number): Promise<SettledDays> => {
  const named = new Map<Pipeline, Map<number, SettledOwner>>(pipelines.map((each) => [each, new Map()]));
  for (const { pipeline, owner, day, rows, sum } of await clickhouse.rows(dayRow, daysQuery, {
    params: { first },
  })) {
    const known = named.get(pipeline)?.get(owner) ?? { days: new Map(), unknownUntil: undefined };
    named.get(pipeline)?.set(owner, known);
    known.days.set(day, { rows, sum: BigInt(sum) });
  }
  return named;
};

/** Each day of an owner is read row by row, while a loss of it is explained. */
const olderDaysMax = 16;

const daysBeyond = (more: ReadonlyMap<number, number>, less: ReadonlyMap<number, number>): number[] =>
  [...more].flatMap(([day, rows]) => (rows > (less.get(day) ?? 0) ? [day] : []));

const rowsIn = (sizes: ReadonlyMap<number, DaySize> | undefined): Map<number, number> =>
  new Map([...(sizes ?? [])].map(([day, { rows }]) => [day, rows]));

/** Rows by event day, of all these owners together. */
const rowsByDay = (owners: Iterable<SettledOwner>): Map<number, number> => {
  const sums = new Map<number, number>();
  for (const { days } of owners)
    for (const [day, { rows }] of days) sums.set(day, rows + (sums.get(day) ?? 0));
  return sums;
};

/**
 * Event days on which the store may have rows of these owners that no record names: the present ones, and the newest of those whose sizes
 * say so. Of an application the sizes say nothing alone: days with more rows than lines have named, and those whose records are gone.
 */
export const readUnrecordedDays = async (
  clickhouse: Clickhouse,
  { pipeline, owners, today }: { pipeline: Pipeline; owners: ReadonlySet<number>; today: number },
  filters: readonly DayFilter[],
  sizes: Pick<StoreSizes, 'points' | 'applications'>,
): Promise<number[]> => {
  const present = [today - 1, today, today + 1];
  const older = new Set<number>();
  const named = pipeline === 'metrics' ? undefined : (await readNamedDays(clickhouse, 0)).get(pipeline);
  if (pipeline !== 'metrics')
    for (const day of daysBeyond(rowsIn(sizes.applications.get(pipeline)), rowsByDay(named?.values() ?? [])))
      older.add(day);
  for (const { owner } of filters) {
    const settled = (
      await readSettledDays(clickhouse, { pipeline, ...(owner === undefined ? {} : { owner }) })
    ).get(pipeline);
    for (const each of owner === undefined ? owners : [owner]) {
      const ofNamed = named?.get(each);
      const rows = ofNamed === undefined ? rowsIn(sizes.points.get(each)) : rowsByDay([ofNamed]);
      const ofSettled = settled?.get(each);
      for (const day of daysBeyond(rows ?? new Map(), rowsByDay(ofSettled === undefined ? [] : [ofSettled])))
        older.add(day);
    }
  }
  for (const day of present) older.delete(day);
  return [...present, ...[...older].toSorted((a, b) => b - a).slice(0, olderDaysMax)];
};
