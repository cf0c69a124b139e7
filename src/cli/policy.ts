import { type Command, InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import {
  type ApplicationPolicy,
  applicationPolicySchema,
  type PolicyField,
  type SourcePolicy,
  sourcePolicySchema,
} from '../directory/policies.ts';
import * as contract from '../metadata/api/contract.ts';
import { Fault } from '../model/fault.ts';
import { type AdminClient, type Answered, adminClient } from './client.ts';
import { addYesOption, type YesOption } from './confirm.ts';
import { readDefaults } from './defaults.ts';
import {
  addJsonOption,
  addSubject,
  type JsonOption,
  type Subject,
  type SubjectOptions,
  subjectOf,
  subjectPath,
} from './options.ts';
import { printAnswer, printTable } from './output.ts';
import { confirmRetention } from './retention.ts';

type Field = PolicyField<SourcePolicy> | PolicyField<ApplicationPolicy>;

/** Every field of a policy, for the help text. */
const fields: Readonly<Record<Field, string>> = {
  ahead_seconds_max: 'largest time after the arrival, seconds or off',
  age_seconds_max: 'largest age of a time, seconds or off',
  points_max: 'largest number of points in a request (data ids)',
  metric_columns_max: 'largest number of metrics in a table (data ids)',
  dimension_columns_max: 'largest number of dimensions with their own column (data ids)',
  retention_days: 'days to keep rows, or off = for ever',
  spans_max: 'largest number of spans in a request (applications)',
  records_max: 'largest number of log records in a request (applications)',
  data_points_max: 'largest number of data points in a request (applications)',
  series_max:
    'largest number of series of data points that a receiver takes within an hour, or off (applications)',
  attributes_max: 'largest number of attributes of a span, log record or data point (applications)',
  events_max: 'largest number of events of a span (applications)',
  links_max: 'largest number of links of a span (applications)',
  value_bytes_max: 'largest number of bytes in an attribute value (applications)',
  deduplicate: 'store a byte-identical request only once, true or false (applications)',
  fill_dimensions: "fill an empty net.host.ip with the client's address, true or false (applications)",
};

/** `65536 traces, 262144 logs`: the values of a field whose signals differ. */
const ofSignals = (signals: z.output<typeof contract.policy>['signals'], field: string): string =>
  Object.entries(signals ?? {})
    .flatMap(([pipeline, values]) => (field in values ? [`${values[field]} ${pipeline}`] : []))
    .join(', ');

const print = async (
  client: AdminClient,
  { kind }: Subject,
  answer: Answered<z.output<typeof contract.policy>>,
  options: JsonOption,
): Promise<void> => {
  const defaults = options.json ? {} : (await readDefaults(client))[kind];
  const originOf = (field: string): string => {
    const origin = defaults[field]?.origin ?? 'default';
    return origin === 'default' ? 'by default' : `by default, ${origin}`;
  };
  /** Whether the retention, and neither the policy nor the file, is what ends the window of time. */
  const isKept = (field: string, value: unknown, days: unknown): boolean =>
    field === 'age_seconds_max' && typeof days === 'number' && value === days * 86_400;
  printAnswer(answer, options, ({ policy, signals, own }) =>
    printTable(
      ['FIELD', 'VALUE', 'SET'],
      Object.entries(policy)
        .filter(([field]) => field !== 'mon_data_id' && field !== 'app_id')
        .map(([field, value]) => [
          field,
          value === 'by_signal' ? ofSignals(signals, field) : String(value),
          isKept(field, value, policy['retention_days'])
            ? 'by retention_days'
            : own.includes(field)
              ? 'here'
              : originOf(field),
        ]),
    ),
  );
};

const show = async (id: number, options: JsonOption & SubjectOptions): Promise<void> => {
  const subject = subjectOf(id, options);
  const client = adminClient();
  const answer = await client.ask(contract.policy, 'GET', `${subjectPath(subject)}/policy`);
  await print(client, subject, answer, options);
};

type Value = number | boolean | 'off' | 'default';

const valueArgument = (text: string): Value => {
  if (text === 'default' || text === 'off') return text;
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be an integer, true, false, off or default.');
};

const kebab = (field: string): string => field.replaceAll('_', '-');
const camel = (field: string): string =>
  field.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());

const changeOf = (
  { kind, id }: Subject,
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> => {
  const [schema, what] =
    kind === 'data_id' ? [sourcePolicySchema, 'a data id'] : [applicationPolicySchema, 'an application'];
  const given = Object.keys(fields).filter((field) => options[camel(field)] !== undefined);
  const wrong = given.find((field) => !(field in schema.shape));
  if (wrong !== undefined) {
    throw new Fault(
      'permanent',
      'invalid_value',
      `--${kebab(wrong)} cannot be set for ${id}, which is ${what}`,
    );
  }
  if (given.length === 0) {
    throw new Fault('permanent', 'invalid_value', 'nothing to set: give at least one field, see --help');
  }
  return Object.fromEntries(
    given.map((field) => {
      const value = options[camel(field)];
      return [field, value === 'default' ? null : value];
    }),
  );
};

/** A retention that the API may accept; it refuses any other. */
const valueArgumentOf = (value: unknown): number | 'off' | 'default' | undefined =>
  typeof value === 'number' || value === 'off' || value === 'default' ? value : undefined;

const set = async (
  id: number,
  options: JsonOption & SubjectOptions & YesOption & Record<string, unknown>,
): Promise<void> => {
  const subject = subjectOf(id, options);
  const body = changeOf(subject, options);
  const days = valueArgumentOf(options['retentionDays']);
  if (days !== undefined) await confirmRetention(subject, days, options);
  const client = adminClient();
  const answer = await client.ask(contract.policy, 'PATCH', `${subjectPath(subject)}/policy`, { body });
  await print(client, subject, answer, options);
};

/** `tidemark policy show | set`. */
export const register = (program: Command): void => {
  const policy = program
    .command('policy')
    .description('windows of time, limits and retention of a data id or an application');
  addJsonOption(
    addSubject(policy.command('show')).description(
      'show the effective policy, and the fields that were set here',
    ),
  ).action(show);
  const command = addSubject(policy.command('set')).description(
    'change a policy; receivers apply it within a second. Each field takes a value, `default` (the value of the pipeline file), ' +
      'or `off` where its text lists it',
  );
  for (const [field, text] of Object.entries(fields)) {
    command.option(`--${kebab(field)} <value>`, text, valueArgument);
  }
  addJsonOption(addYesOption(command)).action(set);
};
