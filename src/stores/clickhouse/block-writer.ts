import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import { daySeconds } from '../../model/time.ts';
import { type BatchBounds, blockStatements } from './block-statements.ts';
import { type Clickhouse, database, type StatementOptions } from './client.ts';
import { type MadeFor, readCluster } from './cluster.ts';
import { mayBeOfStoredRows, unreadableTable } from './faults.ts';
import type { ItemTable } from './item-tables.ts';
import { insertIdPrefix, messagesLabel, parseInsertId, parseMessagesLabel } from './query-id.ts';
import { coalesceRanges, type Range, rangesOverlap } from './ranges.ts';

export type PlainInsert = {
  /** See `insertId`. */
  readonly queryId: string;
  /** Stream sequences of the messages that bring these rows. Without them `killCovering` uses the range in the id. */
  readonly sequences?: readonly number[];
  /** Blocks of FORMAT Native, all of one day: more days would be more parts, committed one by one. */
  readonly blocks: readonly Uint8Array[];
};

export type GuardedInsert = PlainInsert & BatchBounds;

/** A trace and its least and greatest start, nanoseconds since the epoch. */
export type TraceTimes = { readonly traceId: string; readonly min: bigint; readonly max: bigint };

/** Messages of a stream. */
export type Messages = {
  readonly stream: string;
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** All of them; without it, every one from the first to the last. */
  readonly sequences?: readonly number[];
};

/**
 * Writes one table of items (architecture 7.1). Every call throws the Faults of `toFault`; after a transient one of an insert any part of it may
 * be stored, now or later: kill the inserts that cover it and insert with the guard.
 */
export type BlockWriter = {
  /** Stores every row, even one that is stored already or comes twice in these blocks. */
  insertPlain(insert: PlainInsert): Promise<void>;
  /**
   * Stores each row once whose uid is not stored. Returns whether it stored any. A transient Fault `clickhouse_table_unreadable`: stored
   * rows cannot be read.
   */
  insertGuarded(insert: GuardedInsert): Promise<boolean>;
  /**
   * Makes traces findable by id when the view's part of an interrupted insert is missing. Repeats are harmless; does
   * nothing for a table without a lookup.
   */
  repairTraceLookup(traces: readonly TraceTimes[]): Promise<void>;
  /**
   * Kills the running inserts that bring one of these messages, and returns their number; once it resolves none of them can store
   * anything more. An insert whose body was sent in part ends only with the server's `http_receive_timeout` (30 s).
   */
  killCovering(messages: Messages): Promise<number>;
  /** Rows of these bounds that are stored more than once: two attempts at them had overlapped. */
  countRepeats(bounds: BatchBounds): Promise<number>;
  /** Merges all parts of a day (days since 1970-01-01 UTC), so that equal rows of overlapping attempts are one. */
  optimizeDay(day: number): Promise<void>;
};

export type BlockWriterOptions = {
  /** Longest an insert may run, ms: below the ack wait of its messages. */
  readonly insertMsMax: number;
  /** Longest to wait for killed inserts to end, ms; default 40 s. */
  readonly killMsMax?: number;
  /** Longest an optimisation may run, ms; default 10 min. */
  readonly optimizeMsMax?: number;
};

const killPollMs = 50;

const runningRow = z.object({ query_id: z.string(), label: z.string() });
const repeatsRow = z.object({ repeats: z.coerce.number() });
const dayRow = z.object({ day: z.string() });

const lookupLine = ({ traceId, min, max }: TraceTimes): string =>
  `${JSON.stringify({ TraceId: traceId, Start: Number(min / 1_000_000_000n), End: Number(max / 1_000_000_000n) })}\n`;

/** The messages of a running statement; undefined for statements of other programs. */
const messagesOf = (stream: string, queryId: string, label: string): Range[] => {
  const attempt = parseInsertId(queryId);
  if (attempt?.stream !== stream) return [];
  return parseMessagesLabel(label) ?? [{ first: BigInt(attempt.first), last: BigInt(attempt.last) }];
};

const processesOf = (cluster: string | undefined): string =>
  cluster === undefined ? 'system.processes' : `clusterAllReplicas('${cluster}', system.processes)`;

/** Kills queries on every server; `ids` is a parameter. */
export const killStatement = (cluster: string | undefined): string =>
  `KILL QUERY${cluster === undefined ? '' : ` ON CLUSTER '${cluster}'`} WHERE query_id IN {ids:Array(String)} ASYNC`;

/** Waits until this replica has every part that was committed on another: the guard reads this replica. */
export const syncStatement = ({ name }: ItemTable): string =>
  `SYSTEM SYNC REPLICA ${database}.${name} LIGHTWEIGHT`;

/**
 * An unavailable replica delays no insert. A replica that only this server cannot reach may finish an insert: its rows are stored
 * twice until a merge.
 */
export const lookSettings = { skip_unavailable_shards: 1 };
export const killSettings = { distributed_ddl_output_mode: 'throw_only_active' };

/** Ids of the running inserts that bring one of these messages, on any replica that answers. */
const findCovering = async (
  clickhouse: Clickhouse,
  cluster: string | undefined,
  { stream, firstSequence, lastSequence, sequences }: Messages,
): Promise<string[]> => {
  const running = await clickhouse.rows(
    runningRow,
    `SELECT query_id, Settings['log_comment'] AS label FROM ${processesOf(cluster)}
      WHERE startsWith(query_id, {prefix:String})`,
    { params: { prefix: insertIdPrefix(stream) }, settings: cluster === undefined ? {} : lookSettings },
  );
  const wanted = coalesceRanges(
    sequences?.map((sequence) => [sequence, sequence]) ?? [[firstSequence, lastSequence]],
    Number.POSITIVE_INFINITY,
  );
  return running
    .filter(({ query_id: id, label }) => rangesOverlap(wanted, messagesOf(stream, id, label)))
    .map(({ query_id: id }) => id);
};

/** Partitions are days in the server's time zone, and a UTC day may lie in two of them. One without rows, whose TTL is over, is none. */
const partitionsOf = async (clickhouse: Clickhouse, table: string, day: number): Promise<string[]> => {
  const bounds = [day * daySeconds, (day + 1) * daySeconds - 1];
  const days = await clickhouse.rows(
    dayRow,
    `SELECT DISTINCT partition AS day FROM system.parts
     WHERE database = '${database}' AND table = '${table}' AND active
       AND partition IN (SELECT toString(toDate(toDateTime(arrayJoin({bounds:Array(UInt32)})))))`,
    { params: { bounds } },
  );
  return days.map((row) => row.day);
};

/** Reads what the guard reads. Throws a transient Fault where that fails: then the new rows are not at fault. */
const readStored = async ({ name }: ItemTable, read: () => Promise<unknown>): Promise<void> => {
  try {
    await read();
  } catch (error) {
    throw unreadableTable(`${database}.${name}`, error);
  }
};

/** A writer of this table on one client; `options` limit the time of its calls. */
export const createBlockWriter = (
  clickhouse: Clickhouse,
  table: ItemTable,
  { insertMsMax, killMsMax = 40_000, optimizeMsMax = 600_000 }: BlockWriterOptions,
): BlockWriter => {
  const { plainInsert, guardedInsert, repeatsQuery } = blockStatements(table);
  const sync = syncStatement(table);

  const optionsOf = ({ queryId, sequences }: PlainInsert): StatementOptions => ({
    queryId,
    timeoutMs: insertMsMax,
    settings: {
      // Collapsing equal keys inside an insert is 40 % of its cost, and these inserts have none.
      optimize_on_insert: 0,
      exclude_materialize_skip_indexes_on_insert: table.bloomFilters,
      ...(sequences === undefined ? {} : { log_comment: messagesLabel(sequences) }),
    },
  });

  let madeFor: MadeFor | undefined;
  const clusterOf = async (): Promise<string | undefined> => {
    madeFor ??= await readCluster(clickhouse);
    return madeFor?.cluster;
  };

  const countRepeats = async (bounds: BatchBounds): Promise<number> => {
    const [row] = await clickhouse.rows(repeatsRow, repeatsQuery(bounds));
    return row?.repeats ?? 0;
  };

  return {
    insertPlain: async (insert) => {
      await clickhouse.insert(plainInsert, insert.blocks, optionsOf(insert));
    },
    insertGuarded: async (insert) => {
      if ((await clusterOf()) !== undefined) await clickhouse.run(sync, { timeoutMs: insertMsMax });
      try {
        return (await clickhouse.insert(guardedInsert(insert), insert.blocks, optionsOf(insert))) > 0;
      } catch (error) {
        if (mayBeOfStoredRows(error)) await readStored(table, () => countRepeats(insert));
        throw error;
      }
    },
    repairTraceLookup: async (traces) => {
      if (traces.length === 0 || table.lookup === undefined) return;
      await clickhouse.insert(
        `INSERT INTO ${database}.${table.lookup} (TraceId, Start, End) FORMAT JSONEachRow`,
        [Buffer.from(traces.map(lookupLine).join(''))],
        // A message may hold traces of any number of days.
        { timeoutMs: insertMsMax, settings: { max_partitions_per_insert_block: 0 } },
      );
    },
    killCovering: async (messages) => {
      const cluster = await clusterOf();
      const ids = await findCovering(clickhouse, cluster, messages);
      if (ids.length === 0) return 0;
      const deadline = performance.now() + killMsMax;
      const settings = cluster === undefined ? {} : killSettings;
      await clickhouse.run(killStatement(cluster), { params: { ids }, settings });
      while ((await findCovering(clickhouse, cluster, messages)).some((id) => ids.includes(id))) {
        if (performance.now() > deadline) {
          throw new Fault(
            'transient',
            'clickhouse_unavailable',
            `inserts are still running after a kill: ${ids.join(', ')}`,
          );
        }
        await delay(killPollMs);
      }
      return ids.length;
    },
    countRepeats,
    optimizeDay: async (day) => {
      for (const partition of await partitionsOf(clickhouse, table.name, day)) {
        await clickhouse.run(`OPTIMIZE TABLE ${database}.${table.name} PARTITION '${partition}' FINAL`, {
          timeoutMs: optimizeMsMax,
          // A merge that took longer than the limit goes on in the server: the next call must not begin it again.
          settings: { optimize_throw_if_noop: 1, optimize_skip_merged_partitions: 1 },
        });
      }
    },
  };
};
