import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { type Problem, parseInput, toProblem } from '../../../../src/metadata/problem.ts';
import {
  applicationRequestSchema,
  dataSourceRequestSchema,
  groupRequestSchema,
  reportRequestSchema,
} from '../../../../src/metadata/records/requests.ts';

const report = { mon_biz_id: 2, name: 'demo' };

/** The problem that input is answered with; undefined for input that is taken. */
const problemOf = (schema: z.ZodType, input: unknown): Problem | undefined => {
  try {
    parseInput(schema, input);
    return undefined;
  } catch (error) {
    return toProblem(error);
  }
};

describe('CreateCustomTimeSeries', () => {
  it('needs a business and a name only; everything else has its default', () => {
    expect(reportRequestSchema.parse(report)).toEqual({
      mon_biz_id: 2,
      name: 'demo',
      scenario: 'others',
      data_label: '',
      is_platform: false,
      description: '',
      is_split_measurement: false,
      max_rate: -1,
      space_uid: '',
      source_system: 'unknown',
      type_label: 'time_series',
      source_label: 'custom',
    });
  });

  it('takes a description under both of its names', () => {
    expect(reportRequestSchema.parse({ ...report, desc: 'a' }).description).toBe('a');
    expect(reportRequestSchema.parse({ ...report, description: 'b' }).description).toBe('b');
  });

  // A refusal that does not name the field leaves the caller guessing; one that is missing lets a typo change the meaning.
  it.each([
    ['mon_biz_id', { name: 'demo' }],
    ['name', { mon_biz_id: 2 }],
    ['mon_biz_id', { ...report, mon_biz_id: '2' }],
    ['mon_biz_id', { ...report, mon_biz_id: 2.5 }],
    ['mon_biz_id', { ...report, mon_biz_id: 2 ** 31 }],
    ['name', { ...report, name: '' }],
    ['name', { ...report, name: ' demo' }],
    ['name', { ...report, name: 'de\nmo' }],
    ['name', { ...report, name: 'x'.repeat(129) }],
    ['name', { ...report, name: 7 }],
    ['is_split_measurement', { ...report, is_split_measurement: 'true' }],
    ['max_rate', { ...report, max_rate: 1.5 }],
    ['max_rate', { ...report, max_rate: null }],
    ['data_label', { ...report, data_label: '1st' }],
    ['data_label', { ...report, data_label: 'a,,b' }],
    ['scenario', { ...report, scenario: 'nonsense' }],
    ['type_label', { ...report, type_label: 'event' }],
    ['source_label', { ...report, source_label: 'bk_data' }],
    ['space_uid', { ...report, mon_biz_id: -3 }],
    ['space_uid', { ...report, mon_biz_id: -3, space_uid: 'nounderscores' }],
    ['space_uid', { ...report, mon_biz_id: -3, space_uid: '__x' }],
    ['space_uid', { ...report, space_uid: 'moncc__3' }],
    ['is_splt_measurement', { ...report, is_splt_measurement: true }],
  ])('names the field %s in its refusal: %j', (field, request) => {
    const problem = problemOf(reportRequestSchema, request);
    expect(problem).toMatchObject({ status: 422, code: 'invalid_value', field });
    expect(problem?.detail).toMatch(new RegExp(`^${field}: \\S`));
  });

  it('reports a missing field as required', () => {
    expect(problemOf(reportRequestSchema, { mon_biz_id: 2 })?.detail).toBe('name: is required');
  });

  it.each([2 ** 31, -(2 ** 31) - 1])(
    'names the bounds of max_rate for %j, which is an integer',
    (max_rate) => {
      expect(reportRequestSchema.safeParse({ ...report, max_rate }).error?.issues).toMatchObject([
        { path: ['max_rate'], message: 'must fit into 32 bits' },
      ]);
    },
  );

  it.each([null, [], 'text', 7])('refuses %j as a body', (body) => {
    expect(problemOf(reportRequestSchema, body)).toMatchObject({ status: 422 });
  });

  it('accepts the space of the business and the one that a business below 0 gives', () => {
    expect(reportRequestSchema.parse({ ...report, space_uid: 'moncc__2' }).space_uid).toBe('moncc__2');
    const negative = { ...report, mon_biz_id: -3, space_uid: 'bcs__project-1' };
    expect(reportRequestSchema.parse(negative).space_uid).toBe('bcs__project-1');
  });
});

describe('the other requests', () => {
  it('take the business of a data source from its name', () => {
    const request = { data_name: '-7_custom_time_series_x', space_uid: 'bcs__p' };
    expect(dataSourceRequestSchema.parse(request)).toMatchObject({
      mon_biz_id: -7,
      data_description: '-7_custom_time_series_x',
    });
  });

  it.each([
    ['2147483647', 2_147_483_647],
    ['-2147483648', -2_147_483_648],
    ['0', 0],
    ['10', 10],
  ])('take a data source of business %s', (text, mon_biz_id) => {
    const data_name = `${text}_custom_time_series_x`;
    const space = mon_biz_id < 0 ? { space_uid: 'bcs__p' } : {};
    expect(dataSourceRequestSchema.parse({ data_name, ...space })).toMatchObject({ mon_biz_id, data_name });
  });

  // No group could be made for some of them, and others would be a second source of one business and name.
  it.each(['9999999999', '2147483648', '-2147483649', '007', '-07', '-0', '00', '+7', ''])(
    'refuse a data source of business "%s"',
    (text) => {
      const request = { data_name: `${text}_custom_time_series_x`, space_uid: 'bcs__p' };
      for (const more of [{}, { is_platform_data_id: true }])
        expect(problemOf(dataSourceRequestSchema, { ...request, ...more })).toMatchObject({
          status: 422,
          field: 'data_name',
        });
    },
  );

  it.each([
    ['data_name', dataSourceRequestSchema, { data_name: 'demo' }],
    ['mon_biz_id', dataSourceRequestSchema, { data_name: '2_custom_time_series_x', mon_biz_id: 3 }],
    [
      'etl_config',
      dataSourceRequestSchema,
      { data_name: '2_custom_time_series_x', etl_config: 'mon_exporter' },
    ],
    ['type_label', dataSourceRequestSchema, { data_name: '2_custom_time_series_x', type_label: 'log' }],
    ['mon_data_id', groupRequestSchema, { mon_biz_id: 2, time_series_group_name: 'x' }],
    ['label', groupRequestSchema, { mon_data_id: 1, mon_biz_id: 2, time_series_group_name: 'x', label: '?' }],
    ['app_name', applicationRequestSchema, { mon_biz_id: 2 }],
    ['max_rate', applicationRequestSchema, { mon_biz_id: 2, app_name: 'x', max_rate: '5' }],
  ])('name the field %s in their refusal', (field, schema, request) => {
    expect(problemOf(schema, request)).toMatchObject({ field });
  });
});
