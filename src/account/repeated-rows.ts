import { z } from 'zod';
import { Fault } from '../model/fault.ts';
import { type Pipeline, signals } from '../model/signals.ts';
import { identityBit, ordinalsMax } from '../model/uid.ts';
import { ledgerTables } from '../outcomes/rows.ts';
import { storedOutcome } from '../outcomes/tally.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { noRows, type RowSum } from './day-difference.ts';
import { streamOfStore } from './difference.ts';
import { lowerHalf } from './record-names.ts';
import { readSettledSlices } from './settled-days.ts';
import { isCounted, type SlicedStore, slicesNamedMax, sliceUids, type UidSlices } from './uid-slices.ts';

/**
 * The record of a repeat after the duplicate window replaces that of the first try, and may name fewer rows, or others: of an item that only
 * the first try kept the row stays, and no record names it. It lies among the uids of its request, where no other request has any.
 */

/** More such requests of an owner are not read. */
export const repeatedMax = 10_000;
/** What messages of 2 MiB hold at most: a row counts 256 bytes (architecture 5.3). */
const messageRowsMax = 8_192;
const timeoutMs = 120_000;
/** Beside the inserts, which come first. */
const settings = { max_threads: 2 };

const outcomes = `${database}.${ledgerTables.outcomes}`;
const lowerName = `toUInt32(${lowerHalf('base + first')})`;

/** Records of requests with an identity whose last verdict did not store every item. */
const judgedOf = (pipeline: Pipeline): string =>
  `pipeline = {pipeline:String} AND ${signals[pipeline].owner} = {owner:Int64} AND base >= ${identityBit} AND ordinal = -1 AND redrive = 0
    AND minute >= toDateTime({since:UInt32}) AND received != outcomes['${storedOutcome}']`;

/**
 * Messages of requests with an identity of which two deliveries were settled under different serials, and of which the last one did not
 * store every item: without that, its record names every row. Lines of earlier programs name the lower half alone.
 */
const repeatedQuery = (pipeline: Pipeline): string => {
  const { owner } = signals[pipeline];
  const judged = judgedOf(pipeline);
  return `
    SELECT intDiv(base, ${ordinalsMax}) AS request, count() AS messages FROM ${outcomes}
    WHERE ${judged} AND ${lowerName} IN
    (
      SELECT record FROM ${database}.ingest_settled
      WHERE (stream = {stream:String} OR startsWith(stream, concat({stream:String}, '-'))) AND redrive = 0 AND items > 0
        AND ${owner} = {owner:Int64} AND at >= toDateTime({since:UInt32})
        AND (record_high = ${identityBit >> 32n} OR (record_high = 0 AND record > 0))
        AND record IN (SELECT ${lowerName} FROM ${outcomes} WHERE ${judged})
      GROUP BY record HAVING uniqExact(stream, life, serial, if(life = 0, sequence, 0)) > 1
    )
    GROUP BY request ORDER BY request LIMIT ${repeatedMax + 1}`;
};

const anyRow = z.object({ any: z.coerce.number() });
const row = z.object({ request: z.coerce.number(), messages: z.coerce.number() });

type Request = z.output<typeof row>;

/** A request lies in one of these slices of `ordinalsMax` uids, or in it and the next one. */
const slicesOf = (requests: readonly Request[]): number[] => [
  ...new Set(requests.flatMap(({ request }) => [request, request + 1])),
];

const readStored = async (
  store: SlicedStore,
  day: number,
  requests: readonly Request[],
): Promise<Map<number, RowSum>> => {
  const stored = new Map<number, RowSum>();
  const perReading = Math.floor(slicesNamedMax / 2);
  for (let first = 0; first < requests.length; first += perReading) {
    const some = requests.slice(first, first + perReading);
    const rows = messageRowsMax * some.reduce((sum, { messages }) => sum + messages, 0);
    const asked = { day, without: [], slices: slicesOf(some), sliceSize: ordinalsMax, rows };
    for (const [slice, found] of await store.distinctSlices(asked)) stored.set(slice, found);
  }
  return stored;
};

/** What is stored beyond the records, by slices of `sliceUids`: of each run of neighbouring slices together, which holds whole requests. */
const beyond = (slices: readonly number[], stored: UidSlices, recorded: UidSlices): UidSlices => {
  const found = new Map<number, RowSum>();
  let run = { last: Number.NaN, slice: 0, rows: 0, sum: 0n };
  const end = (): void => {
    if (run.rows <= 0) return;
    const { rows, sum } = found.get(run.slice) ?? noRows;
    found.set(run.slice, { rows: rows + run.rows, sum: BigInt.asUintN(64, sum + run.sum) });
  };
  for (const slice of slices) {
    if (slice !== run.last + 1) {
      end();
      run = { last: slice, slice: Math.floor(slice / (sliceUids / ordinalsMax)), rows: 0, sum: 0n };
    }
    const [there, named] = [stored.get(slice) ?? noRows, recorded.get(slice) ?? noRows];
    run.last = slice;
    run.rows += there.rows - named.rows;
    run.sum += there.sum - named.sum;
  }
  end();
  return found;
};

const readRequests = async (
  clickhouse: Clickhouse,
  { pipeline, owner, recordedSince }: SlicedStore,
  day: number,
): Promise<Request[]> => {
  const params = { pipeline, owner, stream: streamOfStore(pipeline), since: recordedSince(day) };
  const options = { params, timeoutMs, settings };
  // The records are ordered by owner, and the lines are not: most owners need none of these.
  const judged = `SELECT 1 AS any FROM ${outcomes} WHERE ${judgedOf(pipeline)} LIMIT 1`;
  if ((await clickhouse.rows(anyRow, judged, options)).length === 0) return [];
  return clickhouse.rows(row, repeatedQuery(pipeline), options);
};

const readBeyond = async (
  clickhouse: Clickhouse,
  store: SlicedStore,
  day: number,
): Promise<UidSlices | undefined> => {
  const requests = await readRequests(clickhouse, store, day);
  if (requests.length === 0) return new Map();
  if (requests.length > repeatedMax) return undefined;
  const stored = await readStored(store, day, requests);
  const slices = slicesOf(requests);
  const recorded = await readSettledSlices(clickhouse, store.pipeline, store.owner, {
    ...{ day, without: [], slices, sliceSize: ordinalsMax },
  });
  return beyond(slices, stored, recorded);
};

/**
 * Rows of an owner and event day that no record names and that an earlier try of a repeated request stored, by slices of uids; `within`: only
 * where some of these slices may have any. Undefined where more than `repeatedMax` requests are concerned, or a store does not answer: this
 * is one owner of many. Throws the other Faults of the stores.
 */
export const readRepeatedRows = async (
  clickhouse: Clickhouse,
  store: SlicedStore,
  day: number,
  within?: readonly number[],
): Promise<UidSlices | undefined> => {
  if (within?.every(isCounted)) return new Map();
  try {
    return await readBeyond(clickhouse, store, day);
  } catch (error) {
    if (error instanceof Fault && error.kind === 'transient') return undefined;
    throw error;
  }
};

/** All slices together. */
export const sumOfSlices = (slices: UidSlices): RowSum => {
  let [rows, sum] = [0, 0n];
  for (const each of slices.values()) {
    rows += each.rows;
    sum += each.sum;
  }
  return { rows, sum: BigInt.asUintN(64, sum) };
};
