import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';

const folder = resolve(import.meta.dirname, '../../../schemas/examples/envelope');

const fixtureSchema = z.strictObject({
  signal: z.enum(['metrics', 'traces']),
  version: z.int(),
  /** The whole message, base64. */
  message: z.string(),
  /** The contents of its header. */
  header: z.record(z.string(), z.unknown()),
});

/** Messages as released versions wrote them, by file. They are never written again. */
export const envelopeFixtures = () =>
  new Map(
    readdirSync(folder).map((file) => [
      file,
      fixtureSchema.parse(JSON.parse(readFileSync(join(folder, file), 'utf8'))),
    ]),
  );
