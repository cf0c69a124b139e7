// Writes schemas/records/*.schema.json from the schemas in the code; format them afterwards with `make format`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recordSchemas } from '../../src/directory/records.ts';
import { recordJsonSchema } from './records.ts';

const folder = join(import.meta.dirname, '../../schemas/records');
for (const [name, schema] of Object.entries(recordSchemas)) {
  writeFileSync(
    join(folder, `${name}.schema.json`),
    `${JSON.stringify(recordJsonSchema(name, schema), null, 2)}\n`,
  );
}
