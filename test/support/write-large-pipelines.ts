// Writes the pipelines of the large overlay from ours; a test compares.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { largePipelines, largePipelinesFolder } from './large-pipelines.ts';

for (const [file, text] of largePipelines()) writeFileSync(join(largePipelinesFolder, file), text);
