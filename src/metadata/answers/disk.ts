import { z } from 'zod';
import { pipelines } from '../../model/signals.ts';
import { count } from './parts.ts';

const volume = z
  .strictObject({
    disk: z.string().meta({
      description:
        'data: the disk of the data folder, which the stores share; else the name of the store on it',
    }),
    stores: z.array(z.string()),
    bytes: count.meta({ description: 'Of the tables' }),
    bytes_per_day: count.meta({ description: 'What a day adds: the bytes of the last whole day' }),
    free_bytes: count.nullable().meta({ description: 'null: not known' }),
    total_bytes: count.nullable().meta({ description: 'null: not known' }),
    days_left: z.number().nullable().meta({
      description:
        'Days until the disk is full at the growth of the last day, retention included; 0 where less than 2 % is free, 3650 for longer. null: not known',
    }),
    why: z.string().meta({ description: 'Why there is no forecast; empty where there is one' }),
  })
  .meta({ id: 'DiskVolume' });

export const diskRow = z
  .strictObject({
    store: z.string(),
    mon_biz_id: count.nullable().meta({ description: 'null for a day, and for owners without a record' }),
    pipeline: z
      .enum(pipelines)
      .nullable()
      .meta({ description: 'null for a day, and for tables without an owner' }),
    data_id: count.meta({ description: '0 for an application, a day, and tables without an owner' }),
    app_id: count.meta({ description: '0 for a data id, a day, and tables without an owner' }),
    day: z.string().nullable().meta({ description: 'A day of UTC; null for an owner, and for other rows' }),
    days: count.meta({ description: 'Days with rows' }),
    rows: count,
    bytes: count.meta({ description: 'On the disk; of items of applications, their share of the day' }),
    bytes_per_day: count.nullable().meta({ description: 'null for a day' }),
    retention_days: z.number().nullable().meta({ description: 'null: kept for ever, and for a day' }),
  })
  .meta({ id: 'DiskUsage' });

export const diskAnswer = z.strictObject({
  at: z.number().meta({ description: 'Unix seconds: when it was read, at most a minute ago' }),
  volumes: z.array(volume),
  items: z.array(diskRow),
  missing: z
    .array(z.strictObject({ store: z.string(), why: z.string() }))
    .meta({ description: 'Stores that did not answer: their rows are not in `items`' }),
});
