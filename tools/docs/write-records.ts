// Writes docs/records.md from the records in the code.
import { writeFileSync } from 'node:fs';
import { recordDocs } from './records.ts';

writeFileSync(new URL('../../docs/records.md', import.meta.url), recordDocs());
