import { z } from 'zod';
import { count } from './parts.ts';

const layout = z
  .enum(['wide', 'narrow'])
  .meta({ description: 'wide: a row per point, a column per metric; narrow: a row per metric' });
const cap = count.nullable().meta({ description: 'Null: no limit' });

/** A table has more days than its answer. */
export const daysShown = 31;

export const tableAnswer = z
  .strictObject({
    table_id: z.string(),
    layout,
    instance: z.string().meta({ description: 'The QuestDB instance' }),
    rows: count.meta({ description: 'Visible rows' }),
    bytes: count.meta({ description: 'On the disk' }),
    partitions: count.meta({ description: 'Days with rows' }),
    oldest_day: z.string().nullable(),
    newest_day: z.string().nullable(),
    retention_days: cap,
    is_suspended: z
      .boolean()
      .meta({ description: 'True: written rows are kept, and invisible until it is resumed' }),
    why: z.string().meta({ description: 'Why it was suspended, in the words of QuestDB' }),
    deduplicates: z.boolean().meta({ description: 'False: a row that is written twice is stored twice' }),
    pending_commits: count.meta({ description: 'Confirmed commits that are not visible yet' }),
    days: z
      .array(z.strictObject({ day: z.string(), rows: count, bytes: count }))
      .meta({ description: `The newest ${daysShown} days with rows, the oldest first` }),
  })
  .meta({ id: 'TableFigures' });

export const cardinalityAnswer = z
  .strictObject({
    at: z.number().meta({ description: 'Unix seconds: when it was counted, at most a minute ago' }),
    table_id: z.string(),
    layout,
    metric_columns: count,
    metric_columns_max: cap,
    dimension_columns: count,
    dimension_columns_max: cap,
    dimensions: z.array(
      z.strictObject({
        name: z.string(),
        column: z.string(),
        values: count.nullable().meta({
          description: 'Distinct values in the last 24 hours of event time; null: not counted in time',
        }),
        values_before: count.nullable().meta({ description: 'The same in the 24 hours before' }),
        values_known: count.nullable().meta({
          description:
            'Distinct values that the column has ever had, and one where rows lack it; QuestDB keeps them as long as the table; null: not read',
        }),
        full_since: count.nullable().meta({
          description:
            'The dimension has too many values: they go to more_dimensions since then, Unix seconds; null: they do not',
        }),
      }),
    ),
    dimension_values_max: cap.meta({
      description: 'Values from which on a dimension is full; null: no limit. It does not apply to target',
    }),
    why: z.string().meta({ description: 'Why a column has no count; empty where all have' }),
  })
  .meta({ id: 'Cardinality' });

const troubled = z.strictObject({ table_id: z.string(), why: z.string(), pending_commits: count });

export const storesAnswer = z
  .strictObject({
    questdb: z.array(
      z.strictObject({
        instance: z.string(),
        why: z.string().meta({ description: 'Why it does not answer; empty where it does' }),
        tables: count,
        rows: count.nullable().meta({ description: 'Visible; null: not counted in time' }),
        bytes: count.nullable().meta({ description: 'On the disk; null: not counted in time' }),
        pending_commits_max: count.meta({ description: 'Of the table that is furthest behind' }),
        suspended: z.array(troubled).meta({ description: 'The first 100 suspended tables' }),
        without_upsert_keys: z.array(z.string()).meta({ description: 'The first 100 of them' }),
      }),
    ),
    clickhouse: z.strictObject({
      why: z.string().meta({ description: 'Why it does not answer; empty where it does' }),
      version: z.string(),
      parts_delay_at: count.meta({ description: 'Parts of a partition at which inserts are slowed down' }),
      tables: z.array(
        z.strictObject({
          table: z.string(),
          rows: count,
          bytes: count,
          parts: count,
          partitions: count,
          parts_of_partition_max: count,
        }),
      ),
      merges: z.array(
        z.strictObject({
          table: z.string(),
          elapsed_seconds: z.number(),
          progress: z.number().meta({ description: '0 to 1' }),
          bytes: count,
        }),
      ),
      disks: z.array(z.strictObject({ disk: z.string(), free_bytes: count, total_bytes: count })),
    }),
  })
  .meta({ id: 'Stores' });
