import { type Command, Option } from 'commander';
import { z } from 'zod';
import { dataSource, resultTable, timeSeriesGroup } from '../metadata/api/contract.ts';
import { Fault } from '../model/fault.ts';
import { type AdminClient, adminClient } from './client.ts';
import { addYesOption, confirm, type YesOption } from './confirm.ts';
import { printList } from './list.ts';
import { groupPath, tablePath } from './lookups.ts';
import {
  addJsonOption,
  addListOptions,
  idArgument,
  type JsonOption,
  type ListOptions,
  listQuery,
} from './options.ts';
import { integerArgument, nothing, printAnswer, printFields, timeText } from './output.ts';
import { shownToken } from './token.ts';

type Shown = Readonly<Record<string, unknown>>;

/** An option of a command, and the field of the request that it fills. */
type FieldOption = {
  readonly flags: string;
  readonly text: string;
  readonly field: string;
  readonly parse?: (text: string) => unknown;
  readonly isRequired?: true;
};

/** One kind of the records that a report consists of; each command names a record by its data id. */
type Kind = {
  readonly command: string;
  readonly noun: string;
  readonly path: string;
  readonly schema: z.ZodType<Shown>;
  readonly operation: string;
  readonly head: readonly string[];
  readonly row: (item: Shown) => readonly unknown[];
  readonly pathOf: (client: AdminClient, dataId: number) => Promise<string>;
  readonly create: readonly FieldOption[];
  readonly set: readonly FieldOption[];
  /** Undefined where it stays as long as its data id. */
  readonly deletion: string | undefined;
};

const label: FieldOption = { flags: '--label <label>', text: 'label of its subject', field: 'label' };
const dataLabel: FieldOption = {
  flags: '--data-label <names>',
  text: 'other names of the data, separated by commas',
  field: 'data_label',
};
const maxRate: FieldOption = {
  flags: '--max-rate <n>',
  text: 'requests per second; -1 the default, 0 unlimited, below -1 none',
  field: 'max_rate',
  parse: integerArgument,
};
const dataId: FieldOption = {
  flags: '--data-id <mon_data_id>',
  text: 'data id of its data source',
  field: 'mon_data_id',
  parse: idArgument,
  isRequired: true,
};
const aboutSource: readonly FieldOption[] = [
  { flags: '--description <text>', text: 'a note', field: 'data_description' },
  { flags: '--custom-label <text>', text: 'a label of your own, for filters', field: 'custom_label' },
  { flags: '--source-system <name>', text: 'the system that asks for it', field: 'source_system' },
];

const stateOf = ({ is_enable, is_delete, is_deleted }: Shown): string => {
  if (is_delete === true || is_deleted === true) return 'deleted';
  return is_enable === true ? 'enabled' : 'disabled';
};

const kinds: readonly Kind[] = [
  {
    command: 'data-source',
    noun: 'data source',
    path: '/api/v1/data-sources',
    schema: dataSource.extend({ token: z.string() }),
    operation: 'metadata.resources.resources.CreateDataIDResource',
    head: ['DATA ID', 'DATA NAME', 'SPACE', 'STATE'],
    row: (item) => [item['mon_data_id'], item['data_name'], item['space_uid'], stateOf(item)],
    pathOf: async (_, id) => `/api/v1/data-sources/${id}`,
    create: [
      {
        flags: '--data-name <name>',
        text: '<biz_id>_custom_time_series_<name>, unique',
        field: 'data_name',
        isRequired: true,
      },
      {
        flags: '--platform',
        text: 'it belongs to business 0 and to all spaces',
        field: 'is_platform_data_id',
      },
      {
        flags: '--space-uid <uid>',
        text: '<space_type_id>__<id>, for a business below 0',
        field: 'space_uid',
      },
      ...aboutSource,
    ],
    set: aboutSource,
    deletion: undefined,
  },
  {
    command: 'group',
    noun: 'time series group',
    path: '/api/v1/time-series-groups',
    schema: timeSeriesGroup,
    operation: 'metadata.resources.resources.CreateTimeSeriesGroupResource',
    head: ['DATA ID', 'GROUP ID', 'BUSINESS', 'NAME', 'MAX RATE', 'STATE', 'TABLE'],
    row: (item) => [
      ...[
        item['mon_data_id'],
        item['time_series_group_id'],
        item['mon_biz_id'],
        item['time_series_group_name'],
      ],
      ...[item['max_rate'], stateOf(item), item['table_id']],
    ],
    pathOf: groupPath,
    create: [
      dataId,
      {
        flags: '--biz <id>',
        text: 'business of the data source, 0 for one of the platform',
        field: 'mon_biz_id',
        parse: integerArgument,
        isRequired: true,
      },
      {
        flags: '--name <name>',
        text: 'name, unique within the business',
        field: 'time_series_group_name',
        isRequired: true,
      },
      { flags: '--split', text: 'one row and one view per metric', field: 'is_split_measurement' },
      { flags: '--questdb <instance>', text: 'QuestDB instance of its table', field: 'questdb' },
      label,
      maxRate,
    ],
    set: [label, maxRate],
    deletion: 'delete a group without a report; pushes of its data id are refused; cannot be undone',
  },
  {
    command: 'result-table',
    noun: 'result table',
    path: '/api/v1/result-tables',
    schema: resultTable,
    operation: 'metadata.models.result_table.ResultTable.create_result_table',
    head: ['TABLE', 'BUSINESS', 'NAME', 'LABEL', 'STATE'],
    row: (item) => [
      ...[item['table_id'], item['mon_biz_id'], item['table_name_zh'], item['label'], stateOf(item)],
    ],
    pathOf: tablePath,
    create: [
      dataId,
      { flags: '--name <name>', text: 'name for people, default that of the group', field: 'table_name_zh' },
      label,
      dataLabel,
    ],
    set: [{ flags: '--name <name>', text: 'name for people', field: 'table_name_zh' }, label, dataLabel],
    deletion: 'delete the record of a table without a report; its rows stay; cannot be undone',
  },
];

const fieldText = (name: string, value: unknown, item: Shown): string => {
  if (typeof value === 'number' && name.endsWith('_time')) return timeText(value);
  if (name === 'token' && typeof value === 'string') return shownToken(value, Number(item['mon_data_id']));
  return value === null || value === '' ? nothing : String(value);
};

const print = (item: Shown): void =>
  printFields(Object.entries(item).map(([name, value]) => [name, fieldText(name, value, item)]));

/** The body that the options of a command give; absent ones have no field. */
const bodyOf = (options: readonly FieldOption[], given: Readonly<Record<string, unknown>>): Shown =>
  Object.fromEntries(
    options.flatMap(({ flags, field }) => {
      const value = given[new Option(flags).attributeName()];
      return value === undefined ? [] : [[field, value]];
    }),
  );

const addFields = (command: Command, options: readonly FieldOption[]): Command => {
  for (const { flags, text, parse, isRequired } of options) {
    const option = new Option(flags, text).makeOptionMandatory(isRequired === true);
    command.addOption(parse === undefined ? option : option.argParser(parse));
  }
  return addJsonOption(command);
};

const list =
  ({ path, schema, head, row }: Kind) =>
  (options: ListOptions & { withoutReport?: true }): Promise<void> =>
    printList(options, {
      path,
      query: { ...listQuery(options), has_report: options.withoutReport && 'false' },
      item: schema,
      head,
      row: (item) => row(item).map(String),
    });

/** Calls the API for the record of a data id, and prints the record as it is then. */
const call =
  (kind: Kind, method: 'GET' | 'POST' | 'DELETE', verb: string) =>
  async (id: number, options: JsonOption): Promise<void> => {
    const client = adminClient();
    const path = `${await kind.pathOf(client, id)}${verb}`;
    const request = method === 'GET' ? {} : { body: {} };
    printAnswer(await client.ask(kind.schema, method, path, request), options, print);
  };

const create =
  (kind: Kind) =>
  async (options: JsonOption & Readonly<Record<string, unknown>>): Promise<void> => {
    const body = bodyOf(kind.create, options);
    const path = `/operations/${kind.operation}`;
    printAnswer(await adminClient().ask(kind.schema, 'POST', path, { body }), options, print);
  };

const set =
  (kind: Kind) =>
  async (id: number, options: JsonOption & Readonly<Record<string, unknown>>): Promise<void> => {
    const body = bodyOf(kind.set, options);
    if (Object.keys(body).length === 0) {
      const flags = kind.set.map((each) => each.flags.split(' ')[0]).join(', ');
      throw new Fault('permanent', 'invalid_value', `nothing to set: give one of ${flags}`);
    }
    const client = adminClient();
    const path = await kind.pathOf(client, id);
    printAnswer(await client.ask(kind.schema, 'PATCH', path, { body }), options, print);
  };

const remove =
  (kind: Kind) =>
  async (id: number, options: JsonOption & YesOption): Promise<void> => {
    await confirm(`the ${kind.noun} of data id ${id} is deleted`, options);
    await call(kind, 'DELETE', '')(id, options);
  };

const registerKind = (program: Command, kind: Kind): void => {
  const { noun } = kind;
  const group = program
    .command(kind.command)
    .description(`${noun}s, one of the three records of a report; \`report\` changes all three at once`);
  const one = (verb: string, text: string): Command =>
    group.command(verb).description(text).argument('<mon_data_id>', 'its data id', idArgument);
  addListOptions(group.command('list').description(`list ${noun}s`))
    .option('--without-report', 'only those that were created step by step, without a report')
    .action(list(kind));
  addJsonOption(one('show', `show a ${noun}`)).action(call(kind, 'GET', ''));
  addFields(group.command('create').description(`create only a ${noun}`), kind.create).action(create(kind));
  addFields(one('set', `change fields of a ${noun}`), kind.set).action(set(kind));
  addJsonOption(
    one('enable', `enable this ${noun}; data is accepted once all three records are enabled`),
  ).action(call(kind, 'POST', '/enable'));
  addJsonOption(one('disable', `disable this ${noun}: data of its data id is refused`)).action(
    call(kind, 'POST', '/disable'),
  );
  if (kind.deletion === undefined) return;
  addYesOption(addJsonOption(one('delete', kind.deletion))).action(remove(kind));
};

/** `tidemark data-source | group | result-table` with `list | show | create | set | enable | disable | delete`. */
export const register = (program: Command): void => {
  for (const kind of kinds) registerKind(program, kind);
};
