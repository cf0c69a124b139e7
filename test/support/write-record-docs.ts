// Writes docs/records.md from the records in the code.
import { writeFileSync } from 'node:fs';
import { recordDocs } from './record-docs.ts';

writeFileSync(new URL('../../docs/records.md', import.meta.url), recordDocs());
