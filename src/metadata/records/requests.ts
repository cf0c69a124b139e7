import { z } from 'zod';
import { spaceOf } from './spaces.ts';
import { formText, labelText, nameText, operatorText, words } from './texts.ts';

/** The label vocabulary of the original: the subject of a report or a table. */
export const labels = [
  'others',
  'other_rt',
  'os',
  'host_process',
  'host_device',
  'kubernetes',
  'application_check',
  'uptimecheck',
  'apm',
  'component',
  'service_module',
  'service_process',
  'hardware_device',
  'applications',
  'services',
  'hosts',
  'data_center',
] as const;

/** What fits into 32 bits, as a business and a rate have to. */
export const int32 = { first: -2_147_483_648, last: 2_147_483_647 } as const;

const bizId = z
  .int('must be an integer')
  .min(int32.first, 'must fit into 32 bits')
  .max(int32.last, 'must fit into 32 bits')
  .meta({
    description: 'The business; 0 = the platform, below 0 a space that is no business',
    examples: [2],
  });

const name = nameText(128).meta({
  description: 'No control, bidirectional or invisible characters, no white space at its ends',
  examples: ['demo'],
});

const line = words(1024);
const description = line.meta({
  description: 'Information only, one line; no control or bidirectional characters',
  examples: ['Orders of the shop'],
});
const sourceSystem = labelText(128);
const label = z
  .enum(labels, `must be one of ${labels.join(', ')}`)
  .meta({ description: 'Its subject', examples: ['application_check'] });
const maxRate = z
  .int('must be an integer: requests per second, -1 the default, 0 unlimited, below -1 none')
  .min(int32.first, 'must fit into 32 bits')
  .max(int32.last, 'must fit into 32 bits')
  .meta({
    description: 'Requests per second of the whole cluster: -1 the default, 0 unlimited, below -1 none',
    examples: [100],
  });
const dataLabel = formText(
  /^([a-zA-Z][a-zA-Z0-9_.]*(,[a-zA-Z][a-zA-Z0-9_.]*)*)?$/,
  'must be names of letters, digits, _ and ., each beginning with a letter, separated by commas',
).meta({ description: 'Names for queries, separated by commas', examples: ['shop,orders'] });
const spaceUid = formText(
  /^[a-zA-Z][a-zA-Z0-9-]*__[^\s_][^\s]*$/,
  'must look like <space_type_id>__<id>',
).meta({ description: 'Required where mon_biz_id is below 0, otherwise omitted: <space_type_id>__<id>' });
/** `Input.author` documents its use. */
export const operator = operatorText()
  .optional()
  .meta({
    description:
      'Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted',
    examples: ['ann'],
  });
const dataId = z
  .int('must be an integer')
  .positive('must be positive')
  .meta({ description: 'The data id', examples: [1_500_001] });

const questdb = z
  .string('must be the name of a QuestDB instance')
  .max(32, 'must have at most 32 characters')
  .optional()
  .meta({
    description: 'The QuestDB instance of the table; default the instance with the fewest tables',
    examples: ['default'],
  });

/** Only time series are offered: a request may name them, and no other type. */
const typeLabel = z
  .literal('time_series', 'must be time_series; event and log sources are not supported yet')
  .default('time_series');
const sourceLabel = z.literal('custom', 'must be a custom source').default('custom');

type SpaceRequest = { mon_biz_id: number; is_platform?: boolean; space_uid?: string | undefined };

const checkSpace = (request: SpaceRequest, context: z.core.$RefinementCtx): void => {
  const owner = request.is_platform === true ? 0 : request.mon_biz_id;
  const refuse = (message: string): void => {
    context.addIssue({ code: 'custom', path: ['space_uid'], message });
  };
  if (owner < 0 && request.space_uid === undefined) {
    refuse('is required where mon_biz_id is below 0, as <space_type_id>__<id>');
  }
  if (owner < 0 || request.space_uid === undefined) return;
  const own = spaceOf(owner, '').space_uid;
  if (request.space_uid !== own) refuse(`must be ${own} or omitted for this business`);
};

/** CreateCustomTimeSeries: `mon_biz_id` and `name` are enough. */
export const reportRequestSchema = z
  .strictObject({
    mon_biz_id: bizId,
    name,
    scenario: label.default('others'),
    data_label: dataLabel.default(''),
    is_platform: z.boolean('must be true or false').default(false),
    desc: line.optional(),
    description: description.optional(),
    is_split_measurement: z.boolean('must be true or false').default(false),
    questdb,
    max_rate: maxRate.default(-1),
    space_uid: spaceUid.optional(),
    operator,
    source_system: sourceSystem.default('unknown'),
    type_label: typeLabel,
    source_label: sourceLabel,
  })
  .superRefine(checkSpace)
  .transform(({ desc, description, space_uid, ...request }) => ({
    ...request,
    description: description ?? desc ?? '',
    space_uid: space_uid ?? '',
  }));

/** Each business in its one form, as its reports have it: `007_…` would be a second source beside that of `7_…`. */
const dataName = nameText(192)
  .regex(
    /^(0|-?[1-9]\d{0,9})_custom_time_series_./,
    'must look like <biz_id>_custom_time_series_<name>, the business without zeros before it',
  )
  .refine((text) => {
    const biz = Number.parseInt(text, 10);
    return !(biz < int32.first || biz > int32.last);
  }, `must have a business that fits into 32 bits: ${int32.first} to ${int32.last}`)
  .meta({
    description: 'Unique; its business is that of the source',
    examples: ['2_custom_time_series_demo'],
  });

/** CreateDataIDResource. The business is the one in data_name, and 0 for a platform data id. */
export const dataSourceRequestSchema = z
  .strictObject({
    data_name: dataName,
    mon_biz_id: bizId.optional(),
    data_description: description.optional(),
    etl_config: z
      .literal('mon_standard_v2_time_series', 'must be mon_standard_v2_time_series')
      .default('mon_standard_v2_time_series'),
    is_custom_source: z.boolean('must be true or false').default(true),
    is_platform_data_id: z.boolean('must be true or false').default(false),
    custom_label: line.nullable().default(null),
    space_uid: spaceUid.optional(),
    operator,
    source_system: sourceSystem.default('unknown'),
    type_label: typeLabel,
    source_label: sourceLabel,
  })
  .superRefine(({ mon_biz_id, data_name }, context) => {
    if (mon_biz_id === undefined || mon_biz_id === Number.parseInt(data_name, 10)) return;
    context.addIssue({ code: 'custom', path: ['mon_biz_id'], message: 'must be the business in data_name' });
  })
  .transform(({ is_platform_data_id, ...request }) => ({
    ...request,
    mon_biz_id: is_platform_data_id ? 0 : Number.parseInt(request.data_name, 10),
    data_description: request.data_description ?? request.data_name,
  }))
  .superRefine(checkSpace)
  .transform(({ space_uid, ...request }) => ({ ...request, space_uid: space_uid ?? '' }));

/** CreateTimeSeriesGroupResource: the group of an existing data id that has none. */
export const groupRequestSchema = z.strictObject({
  mon_data_id: dataId,
  mon_biz_id: bizId,
  time_series_group_name: name,
  label: label.default('others'),
  is_split_measurement: z.boolean('must be true or false').default(false),
  questdb,
  max_rate: maxRate.default(-1),
  operator,
});

/** create_result_table: the table of an existing data id that has a group. */
export const resultTableRequestSchema = z.strictObject({
  mon_data_id: dataId,
  table_id: z.string('must be text').optional(),
  table_name_zh: name.optional(),
  label: label.optional(),
  data_label: dataLabel.default(''),
  operator,
});

export const applicationRequestSchema = z.strictObject({
  mon_biz_id: bizId,
  app_name: name,
  max_rate: maxRate.default(0),
  deduplicate: z.boolean().optional(),
  fill_dimensions: z.boolean().optional(),
  operator,
});

/** The fields of a custom report that may change, and with it of its records. */
export const reportChangeSchema = z.strictObject({
  description: description.optional(),
  scenario: label.optional(),
  data_label: dataLabel.optional(),
  max_rate: maxRate.optional(),
});

/** The fields of a data source that may change. */
export const dataSourceChangeSchema = z.strictObject({
  data_description: description.optional(),
  custom_label: line.nullable().optional(),
  source_system: sourceSystem.optional(),
});

/** The fields of a time series group that may change. */
export const groupChangeSchema = z.strictObject({ label: label.optional(), max_rate: maxRate.optional() });

/** The fields of a result table's record that may change. */
export const resultTableChangeSchema = z.strictObject({
  table_name_zh: name.optional(),
  label: label.optional(),
  data_label: dataLabel.optional(),
});

/** The fields of an application that may change. */
export const applicationChangeSchema = z.strictObject({ max_rate: maxRate.optional() });

/** The body of an action without values: empty, or the operator. */
export const actionRequestSchema = z.strictObject({ operator });

/** A rotation: how long the previous token is accepted, too. Default an hour, 0 = not at all. */
export const rotationRequestSchema = z.strictObject({
  overlap_seconds: z
    .int('must be an integer')
    .min(0, 'must not be negative')
    .max(2_592_000, 'must be at most 30 days')
    .default(3_600),
  operator,
});

/** A purge, confirmed by the name of the table whose rows it drops. */
export const purgeRequestSchema = z.strictObject({
  table_id: z.string('must be text').meta({
    description: 'The name of the table whose rows are dropped, as confirmation',
    examples: ['2_mon_time_series_1500001.__default__'],
  }),
  operator,
});

/** A request with the recorded author in place of the operator that it names. */
type Authored<S extends z.ZodType> = Omit<z.output<S>, 'operator'> & { readonly operator: string };

export type ReportRequest = Authored<typeof reportRequestSchema>;
export type DataSourceRequest = Authored<typeof dataSourceRequestSchema>;
export type GroupRequest = Authored<typeof groupRequestSchema>;
export type ResultTableRequest = Authored<typeof resultTableRequestSchema>;
export type ApplicationRequest = Authored<typeof applicationRequestSchema>;
