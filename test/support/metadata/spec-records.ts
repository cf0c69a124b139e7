import { expect } from 'vitest';

/** The tables of specification 2.1 to 2.3, copied. */
const specification = {
  data_source: `
| mon_data_id | integer |
| token | string (32 lowercase hex characters) |
| data_name | string (pattern \`<biz_id>_custom_time_series_<name>\`) |
| data_description | string |
| mq_cluster_id | integer |
| mq_config_id | integer |
| etl_config | string |
| is_custom_source | boolean |
| creator | string |
| create_time | integer, Unix seconds |
| last_modify_user | string |
| last_modify_time | integer, Unix seconds |
| type_label | string (\`time_series\` for custom time series) |
| source_label | string (\`custom\` for custom time series) |
| custom_label | string or null |
| source_system | string |
| is_enable | boolean |
| transfer_cluster_id | string |
| is_platform_data_id | boolean |
| space_type_id | string |
| space_uid | string (pattern \`<space_type_id>__<biz_id>\`) |`,
  time_series_group: `
| mon_data_id | integer (refers to the DataSource) |
| mon_biz_id | integer |
| table_id | string (pattern \`<biz_id>_<prefix>_time_series_<data_id>.__default__\`; refers to the ResultTable) |
| max_rate | integer |
| label | string |
| is_enable | boolean |
| is_delete | boolean |
| creator | string |
| create_time | integer, Unix seconds |
| last_modify_user | string |
| last_modify_time | integer, Unix seconds |
| is_split_measurement | boolean |
| time_series_group_id | integer |
| time_series_group_name | string |`,
  result_table: `
| table_id | string (same format as in TimeSeriesGroup) |
| table_name_zh | string |
| is_custom_table | boolean |
| schema_type | string |
| default_storage | string |
| creator | string |
| create_time | integer, Unix seconds |
| last_modify_user | string |
| last_modify_time | integer, Unix seconds |
| mon_biz_id | integer |
| is_deleted | boolean |
| is_enable | boolean |
| label | string |
| data_label | string |`,
} as const;

/** The three records of the specification. */
export type SpecifiedRecord = keyof typeof specification;

/** Field and type, as the specification's table has them. */
export const specifiedFields = (record: SpecifiedRecord): { field: string; type: string }[] =>
  specification[record]
    .trim()
    .split('\n')
    .map((row) => row.split('|').map((cell) => cell.trim()))
    .map(([, field = '', type = '']) => ({ field, type }));

const hasType = (type: string, value: unknown): boolean => {
  if (type.startsWith('string or null')) return value === null || typeof value === 'string';
  if (type.includes('32 lowercase hex'))
    return typeof value === 'string' && /^([0-9a-f]{32}|[0-9a-f]{4}\*{28}|\*{32})$/.test(value);
  if (type.includes('Unix seconds')) {
    return Number.isInteger(value) && typeof value === 'number' && value > 1.7e9 && value < 5e9;
  }
  if (type.startsWith('integer')) return Number.isInteger(value);
  if (type.startsWith('boolean')) return typeof value === 'boolean';
  return type.startsWith('string') && typeof value === 'string';
};

/** Fails unless `value` has exactly the fields of the specification's table, each of its type; a token may be masked. */
export const expectSpecified = (record: SpecifiedRecord, value: unknown): void => {
  const fields = specifiedFields(record);
  expect(value).toBeTypeOf('object');
  const entries = new Map(Object.entries(Object(value)));
  expect([...entries.keys()].toSorted()).toEqual(fields.map(({ field }) => field).toSorted());
  const wrong = fields.filter(({ field, type }) => !hasType(type, entries.get(field)));
  expect(
    wrong.map(({ field, type }) => `${field}: ${type}, is ${JSON.stringify(entries.get(field))}`),
  ).toEqual([]);
};
