import { expect, it } from 'vitest';
import { openApiDocument } from '../../../../src/metadata/api/openapi.ts';
import { allTokenEndpoints } from '../../../../src/metadata/api/token-endpoints.ts';
import { reportRequestSchema } from '../../../../src/metadata/records/requests.ts';
import { createCustomTimeSeries } from '../../../../src/metadata/reports/creation.ts';
import { onlyInstance } from '../../../support/metadata/calls.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';
import { noTables } from '../../../support/metadata/no-tables.ts';

const path = '/api/v1/custom-reports/{id}/rotate-token';

// The reader of the report has another ETag: it must learn which record to read, or its repeats never succeed.
it('a rotation by the report that is refused for its ETag names the data source, whose ETag it is', async () => {
  const { records } = createMemoryRecords();
  const request = { ...reportRequestSchema.parse({ mon_biz_id: 2, name: 'demo' }), operator: 'ann' };
  const deps = {
    records,
    tables: { ...noTables, createTable: async () => undefined },
    placing: onlyInstance,
    tablePrefix: 'mon',
  };
  const { custom_report, data_source } = await createCustomTimeSeries(deps, request);
  const rotation = allTokenEndpoints().find((each) => each.path === path);
  const etagOf = (set: { known(id: number): { revision: number } | undefined }, id: number): number =>
    set.known(id)?.revision ?? 0;
  const rotateUnder = (revision: number) =>
    rotation?.prepare({
      params: { id: String(custom_report.custom_report_id) },
      query: {},
      body: async () => ({}),
      revisions: [revision],
      host: undefined,
      identity: { token_id: 1, name: 'ann', role: 'editor', mon_biz_id: null },
      records,
      signal: () => new AbortController().signal,
    });
  const ofReport = etagOf(records.reports, custom_report.custom_report_id);
  const ofSource = etagOf(records.dataSources, data_source.mon_data_id);
  expect(ofReport).not.toBe(ofSource);
  await expect(rotateUnder(ofReport)).rejects.toThrow(
    `another call changed data source ${data_source.mon_data_id}: its ETag is now "${ofSource}"`,
  );
  expect(await rotateUnder(ofSource)).toBeDefined();
  expect(JSON.stringify(openApiDocument(allTokenEndpoints()))).toContain(
    'The ETag is that of the data source',
  );
});
