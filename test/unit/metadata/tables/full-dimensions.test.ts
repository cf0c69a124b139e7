import { expect, it } from 'vitest';
import { columnsKey } from '../../../../src/directory/keys.ts';
import { newGroup } from '../../../../src/metadata/records/values.ts';
import { lookAtDimensions } from '../../../../src/metadata/tables/full-dimensions.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';
import { until } from '../../../support/until.ts';

const tableOf = (id: number): string => `2_mon_time_series_${id}.__default__`;

/** Data ids 1 and 2 on instance `b`, which hangs, and 3 on the first; each with a dimension. */
const openLook = async () => {
  const { records } = createMemoryRecords();
  for (const id of [1, 2, 3]) {
    const names = { time_series_group_name: `group ${id}`, mon_biz_id: 2, label: 'others', operator: 'ann' };
    const group = {
      ...names,
      time_series_group_id: id,
      mon_data_id: id,
      table_id: tableOf(id),
      max_rate: -1,
    };
    await records.groups.create(id, newGroup({ ...group, is_split_measurement: false }));
    const host = { name: 'host', column: 'host', first_seen: 1, last_seen: 1 };
    await records.columns.put(columnsKey(id), { mon_data_id: id, metrics: [], dimensions: [host] });
    if (id < 3) await records.placements.put(id, { mon_data_id: id, table_id: tableOf(id), questdb: 'b' });
  }
  const asked: string[] = [];
  const hanging = Promise.withResolvers<never>();
  const sqlOf = (name: string) => ({
    exec: (): Promise<{ columns: never[]; dataset: never[] }> => {
      asked.push(name);
      return name === 'b' ? hanging.promise : Promise.resolve({ columns: [], dataset: [] });
    },
    close: async () => {},
  });
  const away = new Set<string>();
  const look = () =>
    lookAtDimensions(
      {
        ...{ columns: records.columns, records, valuesMax: 10, log: createLog('test', 'silent') },
        instances: ['default', 'b'].map((name) => ({ name, sql: sqlOf(name) })),
        isAway: (name) => away.has(name),
      },
      () => false,
    );
  return { look, asked, away, hanging };
};

it('an instance that hangs delays no dimension of another, and is asked no more once it is away', async () => {
  const { look, asked, away, hanging } = await openLook();
  const looking = look();
  await until('the first instance is asked', () => asked.includes('default'), 10_000);
  expect(asked.filter((name) => name === 'b')).toHaveLength(1);
  away.add('b');
  hanging.reject(new Error('b is late'));
  await looking;
  expect(asked.filter((name) => name === 'b')).toHaveLength(1);
});
