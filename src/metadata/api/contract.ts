import { z } from 'zod';
import { factsOf } from '../../directory/record-fields.ts';
import {
  applicationSchema,
  customReportSchema,
  dataSourceSchema,
  resultTableSchema,
  timeSeriesGroupSchema,
} from '../../directory/records.ts';

// The answers of the admin API in the form that its callers receive. Commands import these, those in `answers/`, and nothing else of
// metadata; an import rule holds that.

export { authorOf } from '../records/texts.ts';
export { adminRoles } from '../tokens/roles.ts';

const shownTokenExample = `0123${'*'.repeat(28)}`;
const plainTokenExample = '0123456789abcdef0123456789abcdef';

/** A token in a view: four characters, or none of it. */
const shownToken = z
  .string()
  .regex(/^([0-9a-f]{4}\*{28}|\*{32})$/)
  .meta({ description: 'The write token, masked', examples: [shownTokenExample] });

const plainToken = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .meta({ description: 'The write token', examples: [plainTokenExample] });

/** A record's answer: its fields with their meaning and their form. */
const answerOf = <S extends z.ZodRawShape>(record: z.ZodObject<S>): z.ZodObject<S, z.core.$strict> => {
  const shape = { ...record.shape };
  for (const [name, { effect, example }] of factsOf(record)) {
    const schema = Reflect.get(shape, name);
    if (schema instanceof z.ZodType)
      Reflect.set(shape, name, schema.meta({ description: effect, examples: [example] }));
  }
  return z.strictObject(shape);
};

/** The records in the form of views (specification 2.1 to 2.3). */
export const dataSource = answerOf(dataSourceSchema).extend({ token: shownToken }).meta({ id: 'DataSource' });
export const timeSeriesGroup = answerOf(timeSeriesGroupSchema).meta({ id: 'TimeSeriesGroup' });
export const resultTable = answerOf(resultTableSchema).meta({ id: 'ResultTable' });
export const customReport = answerOf(customReportSchema).meta({ id: 'CustomReport' });
export const application = answerOf(applicationSchema)
  .extend({ token: shownToken })
  .meta({ id: 'Application' });

/** The two records with a token, as their creation shows them, once. */
export const createdDataSource = dataSource.extend({ token: plainToken }).meta({ id: 'CreatedDataSource' });
export const createdApplication = application
  .extend({ token: plainToken })
  .meta({ id: 'CreatedApplication' });

/** The answer of CreateCustomTimeSeries: its two ids, and the four records. */
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

/** A report with its existing records. */
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
    /** The time until which the previous token is accepted, too. */
    previous_expires_at: z.int().nonnegative(),
  })
  .meta({ id: 'RotatedToken' });

export const revealedToken = z
  .strictObject({
    token: plainToken,
    previous: z.strictObject({ token: plainToken, expires_at: z.int().nonnegative() }).nullable(),
  })
  .meta({ id: 'RevealedToken' });

const policyValue = z.union([z.number(), z.boolean(), z.enum(['off', 'by_signal'])]);

/** An effective policy, and its fields that differ from the pipeline file. */
export const policy = z
  .strictObject({
    policy: z.record(z.string(), policyValue),
    signals: z.record(z.string(), z.record(z.string(), policyValue)).optional().meta({
      description:
        'Of an application: what holds for each of its signals, by pipeline. In `policy`, `by_signal` stands where they differ',
    }),
    own: z.array(z.string()),
  })
  .meta({ id: 'Policy' });

/** A name of the column registry. */
export const column = z
  .strictObject({
    name: z.string(),
    column: z.string(),
    kind: z.enum(['metric', 'dimension']),
    first_seen: z.int().nonnegative(),
    last_seen: z
      .int()
      .nonnegative()
      .meta({ description: 'Written at most once an hour while the name is in use, Unix seconds' }),
    full_since: z
      .int()
      .nonnegative()
      .optional()
      .meta({ description: 'Values go to more_dimensions since then, Unix seconds; absent: they do not' }),
  })
  .meta({ id: 'Column' });

/** A link that logs in to the console: a path of this API whose fragment has the code, and its end in Unix seconds. */
export const consoleLink = z
  .strictObject({
    path: z.string().meta({ examples: [`/console/login#1.${'01234567'.repeat(5)}`] }),
    expires_at: z.int().nonnegative(),
  })
  .meta({ id: 'ConsoleLink' });

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

export const pageOf = (item: z.ZodType) =>
  z.strictObject({ items: z.array(item), next_cursor: z.string().nullable() });
