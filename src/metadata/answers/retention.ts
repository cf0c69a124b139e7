import { z } from 'zod';
import { applicationPipelines } from '../../model/signals.ts';
import { count } from './parts.ts';

const sums = {
  days: count.meta({ description: 'Days with rows' }),
  rows: count,
  bytes: count.meta({ description: 'On the disk; of items of applications, their share of the day' }),
};

const origin = z.enum(['policy', 'creation', 'pipelines', 'none']).meta({
  description:
    'policy: it was set here; creation: the default when the owner was created; pipelines: the file of the signal in pipelines/, as traces.yaml, where that is shorter; none: kept for ever',
});

const kept = { retention_days: count.nullable().meta({ description: 'null: kept for ever' }), origin };

export const retention = z
  .strictObject({
    ...kept,
    signals: z.array(z.strictObject({ pipeline: z.enum(applicationPipelines), ...kept })).meta({
      description:
        'Of an application: each signal, of which the shortest is above. [] of a data id: it has points alone',
    }),
    ...sums,
    oldest_day: z.string().nullable(),
    newest_day: z.string().nullable(),
    change: z
      .strictObject({
        retention_days: count.nullable(),
        kept_from: z.string().nullable().meta({ description: 'The first day that is kept; null: all' }),
        ...sums,
      })
      .nullable()
      .meta({ description: 'What a change to `days` would remove for ever; null where none is asked for' }),
  })
  .meta({ id: 'Retention' });
