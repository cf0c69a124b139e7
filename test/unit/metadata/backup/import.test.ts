import { expect, it } from 'vitest';
import { counterNames, systemKeys } from '../../../../src/directory/keys.ts';
import { backupSchema } from '../../../../src/metadata/backup/document.ts';
import { importRecords } from '../../../../src/metadata/backup/import.ts';
import { defaultInstance } from '../../../../src/model/instances.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';
import { noTables } from '../../../support/metadata/no-tables.ts';

const documentWith = (counters: Readonly<Record<string, number>>) =>
  backupSchema.parse({
    ...{ format: 'tidemark-records', version: 1, exported_at: 0 },
    counters: { data_id: 1_500_000, custom_report_id: 0, time_series_group_id: 0, app_id: 0, ...counters },
    ...{ custom_reports: {}, data_sources: {}, time_series_groups: {}, result_tables: {} },
    ...{ source_policies: {}, previous_tokens: {}, purges: {}, subscriptions: {}, columns: {} },
    ...{ applications: {}, application_policies: {}, previous_application_tokens: {} },
  });

// Counters only rise: nothing would lead back.
it.each(counterNames)('an import refuses a %s that leaves no ids, and raises no counter', async (name) => {
  const { records } = createMemoryRecords();
  const placing = { names: [defaultInstance], isAway: () => false };
  const importing = importRecords({ records, tables: noTables, placing }, documentWith({ [name]: 1e15 }));
  await expect(importing).rejects.toMatchObject({ kind: 'permanent', code: 'invalid_value' });
  for (const each of counterNames) expect(await records.system.get(systemKeys.counter(each))).toBeUndefined();
});
