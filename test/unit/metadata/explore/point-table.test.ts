import { describe, expect, it } from 'vitest';
import { columnsKey } from '../../../../src/directory/keys.ts';
import { findTable } from '../../../../src/metadata/explore/point-table.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';

const dataId = 1_500_001;
const tableId = `2_mon_time_series_${dataId}.__default__`;

describe('a table that does not exist any more', () => {
  it.each([{ data_id: dataId }, { table: tableId }])(
    'is not_found by %j, also where its column registry cannot be read',
    async (asked) => {
      const { records } = createMemoryRecords();
      await records.columns.put(columnsKey(dataId), { form: 'of a later version' });
      await expect(findTable(records, asked)).rejects.toMatchObject({
        kind: 'permanent',
        code: 'not_found',
      });
    },
  );

  it.each([
    [{ data_id: dataId }, `data id ${dataId}`],
    [{ table: tableId }, `table ${tableId}`],
  ])('is answered in plain words: nothing is stored, and whether it was purged; %j', async (asked, what) => {
    const { records } = createMemoryRecords();
    await expect(findTable(records, asked)).rejects.toMatchObject({
      message: `nothing is stored of ${what}: it has no table yet, or none any more`,
    });
    await records.purges.create(dataId, {
      ...{ mon_data_id: dataId, table_id: tableId, state: 'purged', requested_at: 1, requested_by: 'a' },
    });
    await expect(findTable(records, asked)).rejects.toMatchObject({
      kind: 'permanent',
      code: 'not_found',
      message: `nothing is stored of ${what}: its rows were purged`,
    });
  });
});
