import { z } from 'zod';

const letterShape = {
  sequence: z.int().meta({ description: 'Its id' }),
  at: z.int().meta({ description: 'Time of the dead-lettering, Unix seconds' }),
  reason: z.string(),
  error: z.string(),
  data_id: z.int().nullable(),
  app_id: z.int().nullable(),
  table: z.string().nullable(),
  uid: z.string().nullable(),
  items: z.int().meta({ description: 'Number of its points, spans, log records or data points' }),
  redrives: z.int().meta({ description: 'Number of earlier redrives' }),
  bytes: z.int().meta({ description: 'Size' }),
};

const orphanShape = {
  orphan: z.boolean().nullable().meta({
    description:
      'No record counts its items as dead-lettered: they have another outcome already. Null while ClickHouse does not answer',
  }),
};

export const letterSchema = z.strictObject(letterShape).meta({ id: 'DeadLetter' });

export const listedSchema = z
  .strictObject({ ...letterShape, ...orphanShape })
  .meta({ id: 'ListedDeadLetter' });

export const shownSchema = z
  .strictObject({
    ...letterShape,
    ...orphanShape,
    stream: z.string(),
    subject: z.string(),
    stream_sequence: z.int(),
    is_redrivable: z.boolean(),
    shown: z.strictObject({
      form: z.enum(['rows', 'text', 'base64']),
      rows: z.array(z.record(z.string(), z.unknown())).optional(),
      text: z.string().optional(),
      cut: z.int().meta({ description: 'Number of rows or bytes that are not shown' }),
    }),
  })
  .meta({ id: 'ShownDeadLetter' });

export const bulkAnswer = z
  .strictObject({
    matched: z.int().meta({ description: 'Number of matching dead letters' }),
    items: z.int().meta({
      description:
        'Points, spans, log records or data points in the processed dead letters (or in those of a dry run)',
    }),
    done: z.int(),
    failed: z.array(z.strictObject({ sequence: z.int(), code: z.string(), detail: z.string() })),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'Not null: more follow, repeat the call with this cursor' }),
    first_cursor: z
      .string()
      .nullable()
      .meta({
        description:
          'Cursor for the real call after a dry run: it starts at the oldest dead letter and skips those that arrived after the first call. Null with `sequences`',
        examples: ['1-40'],
      }),
  })
  .meta({ id: 'DeadLettersDone' });
