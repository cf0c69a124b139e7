import type { Command } from 'commander';
import { z } from 'zod';
import { loadSettings } from '../config/settings.ts';
import {
  customReportSchema,
  dataSourceSchema,
  resultTableSchema,
  timeSeriesGroupSchema,
} from '../metadata/records.ts';
import { Fault } from '../model/fault.ts';
import type { CustomReport } from '../model/records.ts';
import { type AdminClient, createAdminClient } from './client.ts';
import { addListOptions, type JsonOption, type ListOptions, listQuery } from './options.ts';
import { integerArgument, printFields, printJson, printTable } from './output.ts';

const recordsSchema = z.object({
  custom_report: customReportSchema,
  data_source: dataSourceSchema,
  time_series_group: timeSeriesGroupSchema,
  result_table: resultTableSchema,
});
const pageSchema = z.object({ items: z.array(customReportSchema), next_cursor: z.string().nullable() });

type ReportRecords = z.output<typeof recordsSchema>;

const createOperation = '/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries';

const printReport = (records: ReportRecords, { json }: JsonOption): void => {
  if (json) return printJson(records);
  const {
    custom_report: report,
    data_source: source,
    time_series_group: group,
    result_table: table,
  } = records;
  const isEnabled = source.is_enable && group.is_enable && table.is_enable;
  printFields([
    ['report', `${report.name} (business ${report.mon_biz_id})`],
    ['data id', String(report.mon_data_id)],
    ['access token', source.token],
    ['table', table.table_id],
    ['layout', group.is_split_measurement ? 'split: one row and one view per metric' : 'one row per point'],
    ['max rate', String(group.max_rate)],
    ['state', `${report.state}, ${isEnabled ? 'enabled' : 'disabled'}`],
  ]);
};

const reportOf = async (client: AdminClient, dataId: number): Promise<CustomReport> => {
  const page = await client.ask(pageSchema, 'GET', `/api/v1/custom-reports?mon_data_id=${dataId}`);
  const [report] = page.items;
  if (report === undefined) {
    throw new Fault('permanent', 'not_found', `there is no custom report with data id ${dataId}`);
  }
  return report;
};

type CreateOptions = JsonOption & {
  biz: number;
  name: string;
  split?: true;
  platform?: true;
  maxRate?: number;
  spaceUid?: string;
  dataLabel?: string;
  scenario?: string;
  description?: string;
};

const create = async (options: CreateOptions): Promise<void> => {
  const client = createAdminClient(loadSettings());
  const request = {
    mon_biz_id: options.biz,
    name: options.name,
    is_split_measurement: options.split,
    is_platform: options.platform,
    max_rate: options.maxRate,
    space_uid: options.spaceUid,
    data_label: options.dataLabel,
    scenario: options.scenario,
    description: options.description,
  };
  printReport(await client.ask(recordsSchema, 'POST', createOperation, request), options);
};

const list = async (options: ListOptions): Promise<void> => {
  const client = createAdminClient(loadSettings());
  const page = await client.ask(pageSchema, 'GET', `/api/v1/custom-reports${listQuery(options)}`);
  if (options.json) return printJson(page);
  printTable(
    ['DATA ID', 'BUSINESS', 'NAME', 'STATE', 'SPLIT', 'TABLE'],
    page.items.map((report) => [
      String(report.mon_data_id),
      String(report.mon_biz_id),
      report.name,
      report.state,
      report.is_split_measurement ? 'yes' : 'no',
      report.table_id,
    ]),
  );
  if (page.next_cursor !== null) process.stderr.write(`more: --cursor ${page.next_cursor}\n`);
};

const show = async (dataId: number, options: JsonOption): Promise<void> => {
  const client = createAdminClient(loadSettings());
  const report = await reportOf(client, dataId);
  if (report.state === 'creating') {
    throw new Fault(
      'permanent',
      'report_not_active',
      `report ${JSON.stringify(report.name)} is half created; tidemark report create with the same values finishes it`,
    );
  }
  const [dataSource, group, table] = await Promise.all([
    client.ask(dataSourceSchema, 'GET', `/api/v1/data-sources/${dataId}`),
    client.ask(timeSeriesGroupSchema, 'GET', `/api/v1/time-series-groups/${report.time_series_group_id}`),
    client.ask(resultTableSchema, 'GET', `/api/v1/result-tables/${encodeURIComponent(report.table_id)}`),
  ]);
  printReport(
    { custom_report: report, data_source: dataSource, time_series_group: group, result_table: table },
    options,
  );
};

const switchTo =
  (verb: 'enable' | 'disable') =>
  async (dataId: number, options: JsonOption): Promise<void> => {
    const client = createAdminClient(loadSettings());
    const { custom_report_id: id } = await reportOf(client, dataId);
    printReport(await client.ask(recordsSchema, 'POST', `/api/v1/custom-reports/${id}/${verb}`, {}), options);
  };

/** `tidemark report create | list | show | enable | disable`. */
export const registerReport = (program: Command): void => {
  const report = program
    .command('report')
    .description('custom reports: data ids, tokens and tables of metrics');
  report
    .command('create')
    .description('create a report with its data id, access token and table')
    .requiredOption('--biz <id>', 'business; 0 the platform, below 0 with --space-uid', integerArgument)
    .requiredOption('--name <name>', 'name, unique within the business')
    .option('--split', 'one row and one view per metric (is_split_measurement); cannot be changed later')
    .option('--platform', 'a platform report: its table has no business in its name')
    .option('--max-rate <n>', 'requests per second; -1 the default, 0 unlimited', integerArgument)
    .option('--space-uid <uid>', '<space_type_id>__<id>, for a business below 0')
    .option('--data-label <names>', 'other names of the data, separated by commas')
    .option('--scenario <label>', 'what it is about, default others')
    .option('--description <text>', 'a note')
    .option('--json', 'print the four records as JSON')
    .action(create);
  addListOptions(report.command('list').description('list reports')).action(list);
  report
    .command('show')
    .description('show the records of a data id')
    .argument('<mon_data_id>', 'data id', integerArgument)
    .option('--json', 'print the four records as JSON')
    .action(show);
  for (const [verb, text] of [
    ['enable', 'take data for a data id again'],
    ['disable', 'refuse data for a data id'],
  ] as const) {
    report
      .command(verb)
      .description(text)
      .argument('<mon_data_id>', 'data id', integerArgument)
      .option('--json', 'print the four records as JSON')
      .action(switchTo(verb));
  }
};
