import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recordSchemas } from '../../../../src/directory/records.ts';
import { recordJsonSchema } from '../../../../tools/docs/records.ts';
import { specifiedFields } from '../../../support/metadata/spec-records.ts';

const folder = join(import.meta.dirname, '../../../../schemas/records');

describe('schemas/records', () => {
  it('has one file for each record and no other', () => {
    const files = readdirSync(folder).toSorted();
    expect(files).toEqual(
      Object.keys(recordSchemas)
        .map((name) => `${name}.schema.json`)
        .toSorted(),
    );
  });

  it.each([
    ['data-source', 'data_source'],
    ['time-series-group', 'time_series_group'],
    ['result-table', 'result_table'],
  ] as const)('%s has the fields of the specification in its order, and no other', (name, record) => {
    const schema = recordSchemas[name];
    expect(schema && Object.keys(Object(recordJsonSchema(name, schema)['properties']))).toEqual(
      specifiedFields(record).map(({ field }) => field),
    );
  });
});
