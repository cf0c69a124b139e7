// A metadata process that makes one call and is killed in a gap between two of its writes: node
// test/support/metadata/dying-metadata.ts <JSON of a `Task`>. Without a gap it lives and reports the number of writes.
import { z } from 'zod';
import { connectBus } from '../../../src/bus/connection.ts';
import { createQuestdbSql } from '../../../src/stores/questdb/sql.ts';
import { killedIn } from '../stack/dying.ts';
import { metadataCalls, openMetadata } from './calls.ts';

const taskSchema = z.object({
  nats: z.string(),
  questdb: z.string(),
  call: z.custom<keyof typeof metadataCalls>((name) => typeof name === 'string' && name in metadataCalls),
  input: z.unknown(),
  gap: z.object({ step: z.int(), side: z.enum(['before', 'after']) }).optional(),
});

/** What such a process is to do. */
export type Task = z.input<typeof taskSchema>;

const task = taskSchema.parse(JSON.parse(process.argv[2] ?? ''));
const bus = await connectBus(task.nats, 'dying-metadata');
const sql = createQuestdbSql({ url: task.questdb });
const deps = await openMetadata(bus, sql);
const { tables, writes } = killedIn(task.gap, bus, deps.tables);
await metadataCalls[task.call]({ ...deps, tables }, task.input);
process.stdout.write(`${writes()}\n`);
deps.records.stop();
await bus.close();
await sql.close();
