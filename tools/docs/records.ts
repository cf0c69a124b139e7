import { z } from 'zod';
import { dataIdRange } from '../../src/directory/keys.ts';
import { type Changer, type FieldDefault, factsOf } from '../../src/directory/record-fields.ts';
import { recordSchemas } from '../../src/directory/records.ts';
import {
  applicationRequestSchema,
  dataSourceRequestSchema,
  groupRequestSchema,
  labels,
  reportRequestSchema,
  resultTableRequestSchema,
} from '../../src/metadata/records/requests.ts';
import { operations } from '../../test/support/metadata/admin-api.ts';

type RecordName = keyof typeof recordSchemas;

const records: Readonly<Record<RecordName, { title: string; path: string; intro: string }>> = {
  'data-source': {
    title: 'DataSource',
    path: '/api/v1/data-sources/{id}',
    intro: 'Specification 2.1. `{id}` is its mon_data_id.',
  },
  'time-series-group': {
    title: 'TimeSeriesGroup',
    path: '/api/v1/time-series-groups/{id}',
    intro: 'Specification 2.2. `{id}` is its time_series_group_id.',
  },
  'result-table': {
    title: 'ResultTable',
    path: '/api/v1/result-tables/{id}',
    intro: 'Specification 2.3. `{id}` is its table_id.',
  },
  'custom-report': {
    title: 'Custom report',
    path: '/api/v1/custom-reports/{id}',
    intro:
      'It creates, enables, disables, deletes and purges the three records above. Its PATCH also takes `max_rate`, a field of the group. The ETag of a report is that of its own fields: it does not move when a PATCH of the group changes `max_rate`. To change `max_rate` under If-Match, PATCH the group with the ETag of the group.',
  },
  application: {
    title: 'Application',
    path: '/api/v1/applications/{id}',
    intro: 'It owns a write token of traces.',
  },
};

const reports = '/api/v1/custom-reports/{id}';

const hasOwn: Readonly<Record<'switch' | 'delete' | 'purge', readonly RecordName[]>> = {
  switch: ['data-source', 'time-series-group', 'result-table', 'application'],
  delete: ['time-series-group', 'result-table', 'custom-report', 'application'],
  purge: ['data-source', 'custom-report'],
};

/** The calls behind a changer, for one kind of record. */
const callsOf = (name: RecordName, changer: Changer): string => {
  const { path } = records[name];
  const belongs = name !== 'application' && name !== 'custom-report';
  const both = (own: boolean, call: (path: string) => string): string =>
    [...(own ? [call(path)] : []), ...(belongs ? [`${call(reports)}`] : [])]
      .map((text) => `\`${text}\``)
      .join(', ');
  if (changer === 'patch') return `\`PATCH ${path}\``;
  if (changer === 'report_patch') return `\`PATCH ${reports}\``;
  if (changer === 'rotate_token') return `\`POST ${path}/rotate-token\``;
  if (changer === 'switch') return both(hasOwn.switch.includes(name), (of) => `POST ${of}/enable, …/disable`);
  if (changer === 'delete') return both(hasOwn.delete.includes(name), (of) => `DELETE ${of}`);
  if (changer === 'purge') return both(hasOwn.purge.includes(name), (of) => `POST ${of}/purge`);
  return 'every change';
};

const shownDefault = (given: FieldDefault): string => {
  if ('is' in given) return `\`${JSON.stringify(given.is)}\``;
  return 'template' in given ? `\`${given.template.replaceAll('{', '<').replaceAll('}', '>')}\`` : given.made;
};

/** The JSON Schema (draft 2020-12) of a record. */
export const recordJsonSchema = (title: string, schema: z.ZodType): Record<string, unknown> => ({
  title,
  ...z.toJSONSchema(schema),
});

const json = z.record(z.string(), z.unknown());
const propertiesOf = (schema: z.ZodType): Record<string, Record<string, unknown>> =>
  z.record(z.string(), json).parse(z.toJSONSchema(schema, { io: 'input' })['properties']);

const typeText = (type: unknown): string => {
  const { success, data } = z.object({ anyOf: z.array(z.object({ type: z.string() })) }).safeParse(type);
  const own = z.union([z.string(), z.array(z.string())]).safeParse(Object(type).type).data ?? '';
  return success ? data.anyOf.map((choice) => choice.type).join(' or ') : [own].flat().join(' or ');
};

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

const recordTable = (name: RecordName): string => {
  const { title, intro } = records[name];
  const schema = recordSchemas[name];
  const types = propertiesOf(schema);
  const rows = factsOf(schema).map(([field, { default: given, changedBy, effect }]) => [
    `\`${field}\``,
    typeText(types[field]),
    shownDefault(given),
    changedBy.length === 0 ? 'nobody' : changedBy.map((changer) => callsOf(name, changer)).join(', '),
    effect,
  ]);
  return `## ${title}\n\n${intro}\n\n${table(['field', 'type', 'default', 'who changes it', 'effect'], rows)}`;
};

const requests: readonly (readonly [call: string, schema: z.ZodType])[] = [
  [operations.report, reportRequestSchema],
  [operations.dataSource, dataSourceRequestSchema],
  [operations.group, groupRequestSchema],
  [operations.resultTable, resultTableRequestSchema],
  ['/api/v1/applications', applicationRequestSchema],
];

const limitsOf = (schema: Record<string, unknown>): string => {
  const {
    exclusiveMinimum,
    minimum,
    maximum,
    minLength,
    maxLength,
    pattern,
    enum: choices,
    const: only,
  } = schema;
  const range = (from: unknown, to: unknown, what: string): string[] =>
    from === undefined && to === undefined ? [] : [`${from ?? ''} to ${to ?? ''}${what}`];
  return [
    ...(Array.isArray(choices) ? [choices.length > 5 ? 'the label vocabulary' : choices.join(', ')] : []),
    ...(only === undefined ? [] : [`\`${String(only)}\` only`]),
    ...(exclusiveMinimum === undefined ? range(minimum, maximum, '') : [`above ${exclusiveMinimum}`]),
    ...range(minLength ?? (maxLength === undefined ? undefined : 0), maxLength, ' characters'),
    ...(pattern === undefined ? [] : [`\`${String(pattern)}\``]),
  ].join('; ');
};

const requestTable = ([call, schema]: (typeof requests)[number]): string => {
  const required = z.array(z.string()).parse(z.toJSONSchema(schema, { io: 'input' }).required);
  const rows = Object.entries(propertiesOf(schema)).map(([field, type]) => [
    `\`${field}\``,
    typeText(type),
    required.includes(field) ? 'yes' : '',
    limitsOf(type),
  ]);
  return `### \`POST ${call}\`\n\n${table(['field', 'type', 'required', 'limits'], rows)}`;
};

const values = `## Values

- **Labels** (\`label\`, \`scenario\`): ${labels.map((label) => `\`${label}\``).join(', ')}.
- **Data ids** run from ${dataIdRange.first} to ${dataIdRange.last}, and none is used twice; when all of them are used, a creation gets 409 \`data_ids_exhausted\`.
  The other ids (\`custom_report_id\`, \`time_series_group_id\`, \`app_id\`) count from 1.
- **Names** have no white space at their ends. A name is unique within its business among the records that are not deleted: a deletion frees the name,
  but not the data id.
  - \`data_name\` is \`<biz_id>_custom_time_series_<name>\`.
  - \`table_id\` is \`<biz_id>_<prefix>_time_series_<data_id>.__default__\`; the prefix is \`TIDEMARK_TABLE_PREFIX\` (\`mon\`), and business 0 has no \`<biz_id>_\`.
    A platform report of another business (\`is_platform\`) belongs to business 0 in its group and its table, so its table has none either. The original names
    tables so: one of the platform is read in every business, and a business in its name would say whose rows it has, wrongly. The data id alone makes a
    \`table_id\` unique. \`data_name\` keeps the business that asked for it.
- **Texts** of any kind (names, descriptions, \`operator\`, \`source_system\`, \`custom_label\`, names of admin tokens) hold no control characters, no characters
  that change the direction of text, and no invisible ones (Unicode's Cc, Cf, Zl, Zp, halves of characters): a terminal would obey them, and two
  names could look alike. So a description is one line: a line feed and a tab are control characters too. Descriptions and \`custom_label\` may have the two
  joiners (U+200C, U+200D) that some scripts and emoji need. Any other such character is a 422 that names the field and the character. Texts of earlier
  versions are still read, listed, exported and imported unchanged, so that every backup can be restored; only a creation or a PATCH that names such a text is
  refused. The commands print such a character as \`\\u{1b}\`, and with \`--json\` as JSON's own escape.
- **Authors** (\`creator\`, \`last_modify_user\`) have the name of the admin token. A request may name in \`operator\` the person behind it, 1 to 64 characters; then
  the author is \`<operator> via <token>\`, at most 133 characters. Neither an operator nor the name of a token contains the word \`via\`, in capitals or not, so the
  text behind the last \`via\` is always the token, and no operator passes for a token. An operator that equals the token's name is written once. Records of
  earlier versions have the operator alone. The audit log has both in separate fields.
- **\`max_rate\`**, in requests per second of the whole cluster: above 0 it is the limit; 0 is no limit (the default of applications); -1 is the platform default,
  1000 (the default of groups) unless \`TIDEMARK_MAX_RATE_DEFAULT\` says otherwise (\`tidemark up\`: none); below -1 every request is refused. \`GET /api/v1/defaults\`
  and \`tidemark limit show\` tell the number of the running deployment and where it is from.
- **Spaces**: a business above 0 has the space \`moncc__<biz_id>\` of type \`moncc\`. Business 0 is the platform: type \`all\`, space \`all__0\`, \`is_platform_data_id\` true; \`is_platform\` in a
  request does the same for any business. A business below 0 stands for another kind of space: the request must name it in \`space_uid\`, as
  \`<space_type_id>__<id>\`, and the part before \`__\` becomes the type.
  So \`space_uid\` is \`<space_type_id>__<biz_id>\` only above 0. A business below 0 is a number that stands for a space of another system, a project for
  example; those who look for the space know it by its own id (\`bkci__abc\`), never by that number. The platform has no space of its own: its data belongs to
  all of them, \`all__0\`, whichever business asked for the report.

A field that nobody changes is fixed at creation. A PATCH with another value gets 409 \`fixed_at_creation\`, and one of \`is_enable\` 409
\`has_own_operation\`: \`…/enable\` and \`…/disable\` change it. A PATCH with the present value succeeds, so that
a record can be read, edited and sent back. An unknown field is a 422.`;

/** docs/records.md: all of it follows from the code. */
export const recordDocs = (): string =>
  `${[
    '# Records\n\n`make docs` writes this page from `src/directory/records.ts` and `src/metadata/records/requests.ts`. A test compares the defaults and the callers that\nchange a field with the running service. Defaults are those of a creation that names only a business and a name.',
    ...(['data-source', 'time-series-group', 'result-table', 'custom-report', 'application'] as const).map(
      recordTable,
    ),
    values,
    '## Creations',
    ...requests.map(requestTable),
  ].join('\n\n')}\n`;
