import { describe, expect, it } from 'vitest';
import { reportRequestSchema } from '../../../../src/metadata/records/requests.ts';
import { reservedNames } from '../../../../src/metadata/records/store.ts';
import { createCustomTimeSeries } from '../../../../src/metadata/reports/creation.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { onlyInstance } from '../../../support/metadata/calls.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';
import { noTables } from '../../../support/metadata/no-tables.ts';

const request = (given: object) => ({ ...reportRequestSchema.parse(given), operator: 'ann' });

/** A deployment whose QuestDB does not answer while `questdb.isAway`. */
const setUp = () => {
  const questdb = { isAway: false };
  const createTable = async (): Promise<void> => {
    if (questdb.isAway) throw new Fault('transient', 'questdb_unavailable', 'no answer');
  };
  const { records, issued } = createMemoryRecords();
  const deps = { records, tables: { ...noTables, createTable }, placing: onlyInstance, tablePrefix: 'mon' };
  const create = (given: object) => createCustomTimeSeries(deps, request(given));
  return { questdb, records, issued, create };
};

describe('a half created report', () => {
  const first = { mon_biz_id: -5, name: 'demo', max_rate: 5, space_uid: 'ci__x', source_system: 'crm' };

  it.each([
    ['max_rate', -2, '5'],
    ['space_uid', 'ci__y', '"ci__x"'],
    ['source_system', 'shop', '"crm"'],
  ])('is not finished by a call with another %s, which would be ignored', async (field, other, held) => {
    const { questdb, records, create } = setUp();
    questdb.isAway = true;
    await expect(create(first)).rejects.toThrow('no answer');
    questdb.isAway = false;
    await expect(create({ ...first, [field]: other })).rejects.toMatchObject({
      code: 'creation_differs',
      message: expect.stringContaining(`${field} ${held}`),
    });
    expect(records.reports.list()).toMatchObject([{ value: { state: 'creating' } }]);
    expect(await create(first)).toMatchObject({
      custom_report: { state: 'active' },
      data_source: { space_uid: 'ci__x', source_system: 'crm' },
      time_series_group: { max_rate: 5 },
    });
  });
});

describe('a refused creation', () => {
  it('takes no data id, of which there is a limited number', async () => {
    const { records, issued, create } = setUp();
    const { mon_data_id } = (await create({ mon_biz_id: 2, name: 'source' })).data_source;
    const before = { ...issued };
    // A source that was made alone holds the name that the report would need.
    await records.reserve(
      reservedNames.dataName('2_custom_time_series_demo'),
      async () => mon_data_id,
      async () => 'gone',
    );
    for (let times = 0; times < 3; times++) {
      await expect(create({ mon_biz_id: 2, name: 'demo' })).rejects.toMatchObject({ code: 'name_taken' });
    }
    expect(issued).toMatchObject({
      data_id: before.data_id,
      time_series_group_id: before.time_series_group_id,
    });
  });
});
