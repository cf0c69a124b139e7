// Writes docs/receivers/*.md from the cases under schemas/examples; a test compares.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { examplesDocument } from './examples.ts';

const folder = join(import.meta.dirname, '../../docs/receivers');
for (const receiver of ['push', 'traces'] as const) {
  writeFileSync(join(folder, `${receiver}.md`), examplesDocument(receiver));
}
