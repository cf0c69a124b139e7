import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const packageSchema = z.object({ version: z.string() });

/** The version in package.json. */
export const programVersion = (): string =>
  packageSchema.parse(JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')))
    .version;
