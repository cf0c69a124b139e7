import { z } from 'zod';
import type { AdminClient } from './client.ts';

const oneSchema = z.object({
  value: z.union([z.number(), z.boolean(), z.enum(['off', 'by_signal'])]),
  origin: z.string(),
});

const defaultsSchema = z.object({
  max_rate: z.object({ value: z.number(), origin: z.string() }),
  data_id: z.record(z.string(), oneSchema),
  application: z.record(z.string(), oneSchema),
});

/** What holds where a record has no value of its own, as the running metadata has it. */
export type Defaults = z.output<typeof defaultsSchema>;

export const readDefaults = async (client: AdminClient): Promise<Defaults> =>
  (await client.ask(defaultsSchema, 'GET', '/api/v1/defaults')).value;
