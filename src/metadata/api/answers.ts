import { z } from 'zod';
import {
  applicationFields,
  customReportFields,
  dataSourceFields,
  type FieldFacts,
  resultTableFields,
  timeSeriesGroupFields,
} from '../records/fields.ts';
import {
  applicationSchema,
  customReportSchema,
  dataSourceSchema,
  resultTableSchema,
  timeSeriesGroupSchema,
} from '../records/records.ts';

const shownTokenExample = `0123${'*'.repeat(28)}`;
const plainTokenExample = '0123456789abcdef0123456789abcdef';

/** A token as a view shows it: four characters, or nothing of it. */
const shownToken = z
  .string()
  .regex(/^([0-9a-f]{4}\*{28}|\*{32})$/)
  .meta({ description: 'The write token, masked', examples: [shownTokenExample] });

const plainToken = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .meta({ description: 'The write token', examples: [plainTokenExample] });

type Facts = Readonly<Record<string, Pick<FieldFacts, 'effect' | 'example'>>>;

/** A record's answer: its fields with what they do and how they look. */
const answerOf = (id: string, shape: z.core.$ZodShape, facts: Facts, token?: z.ZodString): z.ZodObject => {
  const fields = Object.entries(shape).map(([name, type]) => {
    const { effect, example } = facts[name] ?? {};
    return [name, type instanceof z.ZodType ? type.meta({ description: effect, examples: [example] }) : type];
  });
  return z
    .strictObject({ ...Object.fromEntries(fields), ...(token === undefined ? {} : { token }) })
    .meta({ id });
};

const { shape: sourceShape } = dataSourceSchema;
const { shape: applicationShape } = applicationSchema;

/** The records as views show them (specification 2.1 to 2.3). */
export const dataSource = answerOf('DataSource', sourceShape, dataSourceFields, shownToken);
export const timeSeriesGroup = answerOf(
  'TimeSeriesGroup',
  timeSeriesGroupSchema.shape,
  timeSeriesGroupFields,
);
export const resultTable = answerOf('ResultTable', resultTableSchema.shape, resultTableFields);
export const customReport = answerOf('CustomReport', customReportSchema.shape, customReportFields);
export const application = answerOf('Application', applicationShape, applicationFields, shownToken);

/** The two that have a token, as their creation shows them, once. */
export const createdDataSource = answerOf('CreatedDataSource', sourceShape, dataSourceFields, plainToken);
export const createdApplication = answerOf(
  'CreatedApplication',
  applicationShape,
  applicationFields,
  plainToken,
);

/** What CreateCustomTimeSeries answers: its two ids, and the four records. */
export const createdReport = z
  .strictObject({
    time_series_group_id: z.int(),
    mon_data_id: z.int(),
    custom_report: customReport,
    data_source: createdDataSource,
    time_series_group: timeSeriesGroup,
    result_table: resultTable,
  })
  .meta({ id: 'CreatedReport' });

/** A report with those of its records that are there. */
export const reportRecords = z
  .strictObject({
    custom_report: customReport,
    data_source: dataSource.optional(),
    time_series_group: timeSeriesGroup.optional(),
    result_table: resultTable.optional(),
  })
  .meta({ id: 'ReportRecords' });

export const rotatedToken = z
  .strictObject({
    token: plainToken,
    /** Until when the token before is taken too. */
    previous_expires_at: z.int().nonnegative(),
  })
  .meta({ id: 'RotatedToken' });

export const revealedToken = z
  .strictObject({
    token: plainToken,
    previous: z.strictObject({ token: plainToken, expires_at: z.int().nonnegative() }).nullable(),
  })
  .meta({ id: 'RevealedToken' });

const policyValue = z.union([z.number(), z.boolean(), z.literal('off')]);

/** A policy as it holds, and which of its fields are not the pipeline file's. */
export const policy = z
  .strictObject({ policy: z.record(z.string(), policyValue), own: z.array(z.string()) })
  .meta({ id: 'Policy' });

/** A name of the column registry. */
export const column = z
  .strictObject({
    name: z.string(),
    column: z.string(),
    kind: z.enum(['metric', 'dimension']),
    first_seen: z.int().nonnegative(),
    last_seen: z.int().nonnegative(),
  })
  .meta({ id: 'Column' });

/** An error answer, RFC 9457. */
export const problem = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    field: z.string().optional(),
    remedy: z.string().optional(),
  })
  .meta({ id: 'Problem' });

/** A page of a list. */
export const pageOf = (item: z.ZodType) =>
  z.strictObject({ items: z.array(item), next_cursor: z.string().nullable() });
