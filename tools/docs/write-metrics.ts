// Writes docs/metrics.md from the definitions; a test compares.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { metricsDocument } from './metrics.ts';

writeFileSync(join(import.meta.dirname, '../../docs/metrics.md'), await metricsDocument());
