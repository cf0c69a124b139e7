import { expect, it } from 'vitest';
import { unreadable } from '../../../../src/bus/kv.ts';
import { columnsKey } from '../../../../src/directory/keys.ts';
import { exportRecords } from '../../../../src/metadata/backup/export.ts';
import { newDataSource } from '../../../../src/metadata/records/values.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';

// A document that lacks a record would be taken for the whole installation.
it('an export fails where a record cannot be read, and names it', async () => {
  const { records } = createMemoryRecords();
  expect((await exportRecords(records)).format).toBe('tidemark-records');
  records.unreadable.add('application.7', new Error('not JSON'));
  await expect(exportRecords(records)).rejects.toMatchObject({
    code: 'record_invalid',
    message: expect.stringContaining('application.7'),
  });
  records.unreadable.delete('application.7');
  expect((await exportRecords(records)).applications).toEqual({});
});

it('an export fails where the columns of a table cannot be read, and names them', async () => {
  const { records } = createMemoryRecords();
  const dataId = 1_500_001;
  await records.dataSources.put(
    dataId,
    newDataSource({
      ...{ mon_data_id: dataId, mon_biz_id: 2, data_name: 'a', space_uid: '', data_description: '' },
      ...{ etl_config: 'mon_standard_v2_time_series', is_custom_source: true, custom_label: null },
      ...{ source_system: 'unknown', operator: 'ann' },
    }),
  );
  await records.columns.put(columnsKey(dataId), unreadable);
  await expect(exportRecords(records)).rejects.toMatchObject({
    code: 'record_invalid',
    message: expect.stringContaining(columnsKey(dataId)),
  });
});
