import type { Command } from 'commander';
import { z } from 'zod';
import { column, customReport, dataSource, resultTable, timeSeriesGroup } from '../metadata/api/contract.ts';
import { Fault } from '../model/fault.ts';
import { adminClient, pageOf } from './client.ts';
import { addYesOption, confirm, type YesOption } from './confirm.ts';
import { reportOfDataId, requireGroup, requireReport } from './lookups.ts';
import {
  addJsonOption,
  addListOptions,
  idArgument,
  type JsonOption,
  type ListOptions,
  listQuery,
  queryText,
} from './options.ts';
import {
  integerArgument,
  nothing,
  printAnswer,
  printFields,
  printMore,
  printTable,
  timeText,
} from './output.ts';
import { listInSteps, printInSteps, recordsInSteps, rowInSteps } from './reports-in-steps.ts';
import { shownToken } from './token.ts';

const recordsSchema = z.object({
  custom_report: customReport,
  data_source: dataSource.extend({ token: z.string() }).optional(),
  time_series_group: timeSeriesGroup.optional(),
  result_table: resultTable.optional(),
});
const pageSchema = pageOf(customReport);
const columnsSchema = pageOf(column);

type ReportRecords = z.output<typeof recordsSchema>;

const createOperation = '/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries';
const path = '/api/v1/custom-reports';

const stateText = ({
  custom_report,
  data_source,
  time_series_group,
  result_table,
}: ReportRecords): string => {
  if (custom_report.state === 'creating') {
    return 'half created; to finish it, repeat tidemark report create with the same values';
  }
  if (custom_report.state !== 'active') return custom_report.state;
  const isEnabled = [data_source, time_series_group, result_table].every((record) => record?.is_enable);
  return `active, ${isEnabled ? 'enabled' : 'disabled'}`;
};

const printReport = (records: ReportRecords): void => {
  const { custom_report: report, data_source: source, time_series_group: group } = records;
  printFields([
    ['report', `${report.name} (business ${report.mon_biz_id})`],
    ['report id', report.custom_report_id],
    ['data id', report.mon_data_id],
    ['access token', source && shownToken(source.token, report.mon_data_id)],
    ['table', report.table_id],
    ['layout', report.is_split_measurement ? 'split: one row and one view per metric' : 'one row per point'],
    ['max rate', group?.max_rate],
    ['scenario', report.scenario],
    ['data label', report.data_label || nothing],
    ['description', report.description || nothing],
    ['state', stateText(records)],
  ]);
};

type CreateOptions = JsonOption & {
  biz: number;
  name: string;
  split?: true;
  platform?: true;
  maxRate?: number;
  spaceUid?: string;
  questdb?: string;
  dataLabel?: string;
  scenario?: string;
  description?: string;
};

const create = async (options: CreateOptions): Promise<void> => {
  const body = {
    mon_biz_id: options.biz,
    name: options.name,
    is_split_measurement: options.split,
    is_platform: options.platform,
    max_rate: options.maxRate,
    space_uid: options.spaceUid,
    questdb: options.questdb,
    data_label: options.dataLabel,
    scenario: options.scenario,
    description: options.description,
  };
  const answer = await adminClient().ask(recordsSchema, 'POST', createOperation, { body });
  printAnswer(answer, options, printReport);
};

const list = async (options: ListOptions): Promise<void> => {
  const { limit, cursor } = options;
  const client = adminClient();
  const { value, json } = await client.ask(
    pageSchema,
    'GET',
    `${path}${queryText({ ...listQuery(options), limit, cursor })}`,
  );
  const inSteps = value.next_cursor === null ? await listInSteps(client, options) : [];
  const answer = { value, json: { ...z.looseObject({}).parse(json), in_steps: inSteps } };
  printAnswer(answer, options, ({ items, next_cursor }) => {
    const rows = items.map((report) => [
      report.mon_data_id,
      report.mon_biz_id,
      report.name,
      report.state,
      report.is_split_measurement ? 'yes' : 'no',
      report.table_id,
    ]);
    printTable(
      ['DATA ID', 'BUSINESS', 'NAME', 'STATE', 'SPLIT', 'TABLE'],
      [...rows, ...inSteps.map(rowInSteps)],
    );
    printMore(next_cursor);
  });
};

const show = async (dataId: number, options: JsonOption): Promise<void> => {
  const client = adminClient();
  const report = await reportOfDataId(client, dataId);
  if (report === undefined) {
    const inSteps = await recordsInSteps(client, dataId);
    if (inSteps !== undefined) return printAnswer({ value: inSteps, json: inSteps }, options, printInSteps);
  }
  const { custom_report_id: id } = report ?? (await requireReport(client, dataId));
  printAnswer(await client.ask(recordsSchema, 'GET', `${path}/${id}/records`), options, printReport);
};

const columns = async (dataId: number, options: JsonOption): Promise<void> => {
  const client = adminClient();
  const { time_series_group_id: id } = await requireGroup(client, dataId);
  const answer = await client.ask(columnsSchema, 'GET', `/api/v1/time-series-groups/${id}/columns`);
  printAnswer(answer, options, ({ items }) =>
    printTable(
      ['NAME', 'KIND', 'COLUMN', 'FIRST SEEN', 'LAST SEEN (HOURLY)'],
      items.map(({ name, kind, column, first_seen, last_seen, full_since: full }) => [
        name,
        kind,
        full === undefined ? column : `more_dimensions since ${timeText(full)}, before ${column}`,
        timeText(first_seen),
        timeText(last_seen),
      ]),
    ),
  );
};

/** Requests a change of the report of a data id, and prints the changed report. */
const change = async (
  method: 'POST' | 'PATCH' | 'DELETE',
  verb: string,
  dataId: number,
  body: object,
  options: JsonOption,
): Promise<void> => {
  const client = adminClient();
  const { custom_report_id: id } = await requireReport(client, dataId);
  const answer = await client.ask(recordsSchema, method, `${path}/${id}${verb}`, { body });
  printAnswer(answer, options, printReport);
};

const remove = async (dataId: number, options: JsonOption & YesOption): Promise<void> => {
  const { name } = await requireReport(adminClient(), dataId);
  await confirm(`report ${name} (data id ${dataId}) is deleted and its name becomes free`, options);
  await change('DELETE', '', dataId, {}, options);
};

type SetOptions = JsonOption & { description?: string; scenario?: string; dataLabel?: string };

const set = (dataId: number, options: SetOptions): Promise<void> => {
  const { description, scenario, dataLabel: data_label } = options;
  if (description === undefined && scenario === undefined && data_label === undefined) {
    throw new Fault(
      'permanent',
      'invalid_value',
      'nothing to set: give --description, --scenario or --data-label',
    );
  }
  return change('PATCH', '', dataId, { description, scenario, data_label }, options);
};

const registerCreate = (report: Command): void => {
  const command = report
    .command('create')
    .description('create a report with its data id, access token and table')
    .requiredOption('--biz <id>', 'business; 0 the platform, below 0 with --space-uid', integerArgument)
    .requiredOption('--name <name>', 'name, unique within the business')
    .option('--split', 'one row and one view per metric (is_split_measurement); fixed at creation')
    .option('--platform', 'a platform report: the name of its table has no business')
    .option(
      '--max-rate <n>',
      'requests per second; -1 the default, 0 unlimited, below -1 none',
      integerArgument,
    )
    .option('--space-uid <uid>', '<space_type_id>__<id>, for a business below 0')
    .option(
      '--questdb <instance>',
      'QuestDB instance of its table, default the instance with the fewest tables',
    )
    .option('--data-label <names>', 'other names of the data, separated by commas')
    .option('--scenario <label>', 'label of its subject, default others')
    .option('--description <text>', 'a note');
  addJsonOption(command).action(create);
};

/** `tidemark report create | list | show | columns | set | enable | disable | delete | purge`. */
export const register = (program: Command): void => {
  const report = program
    .command('report')
    .description('custom reports: data ids, tokens and tables of metrics');
  const one = (verb: string, text: string): Command =>
    addJsonOption(
      report.command(verb).description(text).argument('<mon_data_id>', 'data id of the report', idArgument),
    );
  registerCreate(report);
  addListOptions(
    report
      .command('list')
      .description(
        'list reports; those that were created step by step come last, with --json as in_steps of the last page',
      ),
  ).action(list);
  one('show', 'show a report with its records, token masked (see tidemark token show)').action(show);
  one(
    'columns',
    'list received metrics and dimensions with their columns; LAST SEEN is written once an hour',
  ).action(columns);
  one('set', 'change the descriptive fields of a report')
    .option('--description <text>', 'a note')
    .option('--scenario <label>', 'label of its subject')
    .option('--data-label <names>', 'other names of the data, separated by commas')
    .action(set);
  one('enable', 'accept data for a data id again').action((dataId: number, options: JsonOption) =>
    change('POST', '/enable', dataId, {}, options),
  );
  one('disable', 'refuse data for a data id').action((dataId: number, options: JsonOption) =>
    change('POST', '/disable', dataId, {}, options),
  );
  addYesOption(one('delete', 'delete a report and free its name; its rows stay; cannot be undone')).action(
    remove,
  );
  one('purge', 'delete a report and drop its table with all rows; cannot be undone')
    .requiredOption('--table <table_id>', 'name of the table, as confirmation')
    .action((dataId: number, options: JsonOption & { table: string }) =>
      change('POST', '/purge', dataId, { table_id: options.table }, options),
    );
};
