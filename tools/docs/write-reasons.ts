// Writes docs/reasons.md from the closed table; a test compares.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonDocument } from './reasons.ts';

writeFileSync(join(import.meta.dirname, '../../docs/reasons.md'), reasonDocument());
