// Writes schemas/pipeline-*.schema.json and schemas/streams.schema.json from the schemas in the code; format them afterwards.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipelineJsonSchemas } from '../../src/config/pipeline-files.ts';

const folder = join(import.meta.dirname, '../../schemas');
for (const [name, schema] of Object.entries(pipelineJsonSchemas()))
  writeFileSync(join(folder, name), `${JSON.stringify(schema, null, 2)}\n`);
