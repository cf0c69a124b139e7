import { z } from 'zod';
import { identityBit } from '../model/uid.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { ofDays, readingOfRows, rowsOf } from './application-rows.ts';
import { type Difference, type Owner, pipelineOf } from './difference.ts';

/** Rows of an owner that arrived in a minute; infinite where the store does not say when. */
export type ArrivedRows = {
  readonly rows: number;
  /** How many of them may be of messages of the minute before. */
  readonly early: number;
};

/** What arrived in a minute (Unix seconds) of the losses, or in the one after it. */
export type RowsArrived = (owner: Owner, minute: number) => ArrivedRows;

const count = z.coerce.number();
const row = z.object({ app_id: count, minute_at: count, rows: count, early: count });

/** The requests of one message arrive within its deadline: those of the end of a minute share it with some of the next one. */
const sharedSeconds = 10;
/** The records of this many minutes are held in memory at once, sorted by their names. */
const minutesTogether = 60;

const ofOwners = (column: string): string => `${column} IN {owners:Array(Int64)}`;
const inList = (time: string, list: string): string =>
  `toUnixTimestamp(toStartOfMinute(${time}, 'UTC')) IN {${list}:Array(UInt32)}`;

/**
 * Rows without a record by the minute of their arrival. A record stands for the uids from its name on, as many as it has items; what it
 * does not reach, as of requests that share a message, counts: there may be fewer rows than these, never more.
 */
const queryOf = (rows: string): string => `
  SELECT AppId AS app_id, intDiv(arrived, 60) * 60 AS minute_at, count() AS rows,
    countIf(uid < ${identityBit} AND arrived % 60 < ${sharedSeconds}) AS early
  FROM (SELECT AppId, toUInt64(uid) AS uid, toUnixTimestamp(ArrivedAt) AS arrived FROM (${rows})) AS stored
  ASOF LEFT JOIN
  (
    SELECT app_id, base + first AS name, toUInt64(greatest(received, 0)) AS items FROM ${database}.ingest_outcomes
    WHERE pipeline = {pipeline:String} AND data_id = 0 AND ${ofOwners('app_id')} AND ordinal = -1 AND redrive = 0
      AND minute IN {recorded:Array(DateTime('UTC'))}
  ) AS records ON stored.AppId = records.app_id AND stored.uid >= records.name
  WHERE stored.uid >= records.name + records.items
  GROUP BY app_id, minute_at`;

const around = (minutes: readonly number[], ...seconds: readonly number[]): number[] => [
  ...new Set(minutes.flatMap((minute) => seconds.map((each) => Math.max(0, minute + each)))),
];

/**
 * Of these differences of one stream, how many rows each may have by their time of arrival. `daysOf`: the event days on which an owner has rows
 * without a record. QuestDB has no time of arrival. Throws the Faults of ClickHouse.
 */
export const readArrivedRows = async (
  clickhouse: Clickhouse,
  losses: readonly Difference[],
  daysOf: (owner: Owner) => readonly number[],
): Promise<RowsArrived> => {
  const [first] = losses;
  const pipeline = first === undefined ? 'metrics' : pipelineOf(first.stream);
  if (pipeline === 'metrics') return () => ({ rows: Number.POSITIVE_INFINITY, early: 0 });
  const owners = [...new Set(losses.map(({ appId }) => appId))];
  const days = [...new Set(losses.flatMap(daysOf))];
  const all = [...new Set(losses.map(({ minute }) => minute))];
  const found = new Map<string, z.output<typeof row>>();
  for (let at = 0; at < all.length && days.length > 0; at += minutesTogether) {
    const minutes = all.slice(at, at + minutesTogether);
    const stored = rowsOf(pipeline, (time) => [
      ofOwners('AppId'),
      ofDays(time, days),
      inList('ArrivedAt', 'arrived'),
    ]);
    const params = {
      ...{ pipeline, owners, arrived: around(minutes, 0, 60) },
      recorded: around(minutes, -60, 0, 60, 120),
    };
    for (const each of await clickhouse.rows(row, queryOf(stored), { params, ...readingOfRows }))
      found.set(`${each.app_id} ${each.minute_at}`, each);
  }
  return ({ appId }, minute) => found.get(`${appId} ${minute}`) ?? { rows: 0, early: 0 };
};
