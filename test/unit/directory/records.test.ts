import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { factsOf, field, newRecord } from '../../../src/directory/record-fields.ts';
import { recordSchemas, resultTableSchema } from '../../../src/directory/records.ts';
import { application, customReport, dataSource } from '../../../src/metadata/api/contract.ts';
import { reportRequestSchema } from '../../../src/metadata/records/requests.ts';
import {
  newApplication,
  newDataSource,
  newGroup,
  newReport,
  newResultTable,
} from '../../../src/metadata/records/values.ts';

const ids = { custom_report_id: 3, mon_data_id: 1_500_001, time_series_group_id: 4 };
const report = {
  ...reportRequestSchema.parse({
    ...{ mon_biz_id: 2, name: 'demo', scenario: 'os', data_label: 'a', description: 'd' },
    ...{ is_split_measurement: true, max_rate: 7 },
  }),
  operator: 'ann',
};

/** A record as it is stored: its bytes, without those that differ from call to call. */
const stored = (record: object): string =>
  JSON.stringify(record)
    .replaceAll(/"(create|last_modify)_time":\d+/g, '"$1_time":0')
    .replace(/"token":"[0-9a-f]{32}"/, '"token":"t"');

const authorship = '"creator":"ann","create_time":0,"last_modify_user":"ann","last_modify_time":0';

// Bytes that earlier versions wrote and read: a default or an order that changes here changes them everywhere.
describe('a new record', () => {
  it.each([
    [
      'data-source',
      newDataSource({
        ...{ mon_data_id: 1_500_001, mon_biz_id: -3, space_uid: 'bcs__p', operator: 'ann' },
        ...{ data_name: 'n', data_description: 'd', etl_config: 'mon_standard_v2_time_series' },
        ...{ is_custom_source: true, custom_label: null, source_system: 'unknown' },
      }),
      `{"mon_data_id":1500001,"token":"t","data_name":"n","data_description":"d","mq_cluster_id":1,"mq_config_id":1,"etl_config":"mon_standard_v2_time_series","is_custom_source":true,${authorship},"type_label":"time_series","source_label":"custom","custom_label":null,"source_system":"unknown","is_enable":true,"transfer_cluster_id":"default","is_platform_data_id":false,"space_type_id":"bcs","space_uid":"bcs__p"}`,
    ],
    [
      'time-series-group',
      newGroup({
        ...{ mon_data_id: 1_500_001, mon_biz_id: 2, table_id: 't', max_rate: 7, label: 'os' },
        ...{ is_split_measurement: true, time_series_group_id: 4, time_series_group_name: 'demo' },
        operator: 'ann',
      }),
      `{"mon_data_id":1500001,"mon_biz_id":2,"table_id":"t","max_rate":7,"label":"os","is_enable":true,"is_delete":false,${authorship},"is_split_measurement":true,"time_series_group_id":4,"time_series_group_name":"demo"}`,
    ],
    [
      'result-table',
      newResultTable({
        ...{ table_id: 't', table_name_zh: 'demo', mon_biz_id: 2, label: 'os', data_label: 'a' },
        operator: 'ann',
      }),
      `{"table_id":"t","table_name_zh":"demo","is_custom_table":true,"schema_type":"free","default_storage":"questdb",${authorship},"mon_biz_id":2,"is_deleted":false,"is_enable":true,"label":"os","data_label":"a"}`,
    ],
    [
      'custom-report',
      newReport(report, ids, 'mon'),
      `{"custom_report_id":3,"mon_biz_id":2,"name":"demo","scenario":"os","data_label":"a","description":"d","is_split_measurement":true,"is_platform":false,"state":"creating","mon_data_id":1500001,"time_series_group_id":4,"table_id":"2_mon_time_series_1500001.__default__",${authorship}}`,
    ],
    [
      'application',
      newApplication(5, 'a'.repeat(32), {
        ...{ mon_biz_id: 2, app_name: 'shop', max_rate: 0, deduplicate: false, operator: 'ann' },
      }),
      `{"app_id":5,"mon_biz_id":2,"app_name":"shop","token":"t","is_enable":true,"is_delete":false,"max_rate":0,${authorship}}`,
    ],
  ] as const)('%s has the bytes that it always had', (name, record, bytes) => {
    expect(stored(recordSchemas[name].parse(record))).toBe(bytes);
  });

  it('with a field that has no default and that nobody gave is refused', () => {
    expect(() => newRecord(resultTableSchema, { table_id: 't' })).toThrow(z.ZodError);
  });
});

describe('a field of a record', () => {
  it('has the default as its example where it names no other', () => {
    const schema = z.object({ label: field(z.string(), { default: { is: 'x' }, effect: 'None.' }) });
    expect(factsOf(schema)).toEqual([
      ['label', { default: { is: 'x' }, changedBy: [], effect: 'None.', example: 'x' }],
    ]);
    expect(newRecord(schema, {})).toEqual({ label: 'x' });
  });

  it('that was declared without its facts is found at once', () => {
    expect(() => factsOf(z.object({ label: z.string() }))).toThrow(
      'the field label of a record has no facts',
    );
  });

  it('is described in answers with what it does', () => {
    for (const [answer, name] of [
      [dataSource, 'data-source'],
      [customReport, 'custom-report'],
      [application, 'application'],
    ] as const) {
      for (const [key, { effect }] of factsOf(recordSchemas[name])) {
        const { description } = z.globalRegistry.get(Reflect.get(answer.shape, key)) ?? {};
        expect(description).toBe(key === 'token' ? 'The write token, masked' : effect);
      }
    }
  });
});
