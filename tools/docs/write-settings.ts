// Writes docs/settings.md from the definitions; a test compares.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsDocument } from './settings.ts';

writeFileSync(join(import.meta.dirname, '../../docs/settings.md'), settingsDocument());
