import { z } from 'zod';
import { backupSchema } from '../backup/document.ts';
import { exportRecords } from '../backup/export.ts';
import { importRecords } from '../backup/import.ts';
import { systemQuery } from '../records/listing.ts';
import { createHasItems } from '../unused-records.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';

const tag = 'Backup';
const backup = backupSchema.meta({ id: 'Backup' });

/** Enough for a hundred thousand reports with their records. */
const importBytesMax = 512 * 1024 * 1024;

/** All records as one document, and back. */
export const backupEndpoints = (deps: ApiDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/v1/export',
    tag,
    summary: 'All records as one document, with their tokens',
    role: 'admin',
    needsProof: true,
    query: z.strictObject(systemQuery),
    answer: backup,
    audit: () => ({ action: 'records.export', kind: 'records', id: 'all' }),
    run: async ({ query, records }) => ({ body: await exportRecords(records, query.system === true) }),
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/import',
    tag,
    summary:
      'Imports the records of an exported document; refused as a whole if other records have the same ids; an unused demo gives way',
    role: 'admin',
    needsProof: true,
    body: backup,
    bodyBytesMax: importBytesMax,
    answer: z.strictObject({ created: z.int().nonnegative(), unchanged: z.int().nonnegative() }),
    audit: () => ({ action: 'records.import', kind: 'records', id: 'all' }),
    run: async ({ body, records }) => {
      const imported = await importRecords(
        { ...deps, records, hasItems: createHasItems(deps.outcomes) },
        body,
      );
      deps.log.info(imported, 'records imported');
      return { body: imported };
    },
  }),
];
