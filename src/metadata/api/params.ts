import { z } from 'zod';
import { recordKeys } from '../../directory/keys.ts';
import { notFound } from '../problem.ts';
import type { Records } from '../records/store.ts';
import { dataIdOfTableId } from '../records/values.ts';

export const idParams = z.strictObject({
  id: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(999_999_999_999_999).meta({ description: 'The id of the record' })),
});

export const tableIdParams = z.strictObject({
  id: z
    .string()
    .min(1)
    .max(256)
    .meta({ description: 'The table_id', examples: ['2_mon_time_series_1500001.__default__'] }),
});

/** The data id of a group, by its own id. Permanent Fault `not_found`. */
export const dataIdOfGroup = async (records: Records, groupId: number): Promise<number> => {
  const dataId = await records.lookUp(recordKeys.groupId(groupId));
  const group = dataId === undefined ? undefined : await records.groups.get(dataId);
  if (dataId === undefined || group?.value.time_series_group_id !== groupId) {
    throw notFound(`time series group ${groupId}`);
  }
  return dataId;
};

/** The data id of a result table, by its table_id. Permanent Fault `not_found`. */
export const dataIdOfTable = async (records: Records, tableId: string): Promise<number> => {
  const dataId = dataIdOfTableId(tableId);
  const table = dataId === undefined ? undefined : await records.tables.get(dataId);
  if (dataId === undefined || table?.value.table_id !== tableId) throw notFound(`result table ${tableId}`);
  return dataId;
};
