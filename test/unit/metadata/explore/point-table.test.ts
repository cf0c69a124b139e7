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
});
