import { type Command, Option } from 'commander';
import { z } from 'zod';
import {
  failingAnswer,
  failingSender,
  silentAnswer,
  silentOwner,
  usageAnswer,
  usageRow,
} from '../metadata/answers/usage.ts';
import type { CsvCell } from '../model/csv.ts';
import { Fault } from '../model/fault.ts';
import { bytesText } from './amounts.ts';
import { type Answered, adminClient } from './client.ts';
import { requireOwner } from './lookups.ts';
import {
  addJsonOption,
  addOwnerOptions,
  addPeriodOptions,
  addSystemOption,
  type JsonOption,
  type OwnerOptions,
  type PeriodOptions,
  queryText,
  type SystemOption,
} from './options.ts';
import { type Cell, integerArgument, nothing, printAnswer, printTable, timeText } from './output.ts';
import { ownerText } from './owner-text.ts';
import { printCsvOf, printDiskUsage } from './usage-disk.ts';

// Missing in answers of earlier versions.
const usageSchema = usageRow.extend({ last_sent: usageRow.shape.last_sent.default(null) });

type Usage = z.output<typeof usageSchema>;

const groups = ['owner', 'business', 'day', 'signal', 'owner_signal'] as const;
type By = (typeof groups)[number];

type UsageOptions = JsonOption &
  OwnerOptions &
  PeriodOptions &
  SystemOption & {
    by: By;
    biz?: number;
    csv?: true;
    silent?: true;
    disk?: true;
    failing?: true;
    hours?: number;
  };

/** To the second. */
const seenText = (seconds: number | null): string => timeText(seconds === null ? null : Math.floor(seconds));

const senderCells = ({
  last_seen: seen,
  last_sender: sender,
  last_sdk: sdk,
}: Pick<Usage, 'last_seen' | 'last_sender' | 'last_sdk'>): string[] => [
  seenText(seen),
  sender || nothing,
  sdk || nothing,
];

const groupTitles: Readonly<Record<By, readonly string[]>> = {
  owner: ['WHOSE', 'BUSINESS'],
  business: ['BUSINESS'],
  day: ['DAY'],
  signal: ['PIPELINE'],
  owner_signal: ['WHOSE', 'PIPELINE', 'BUSINESS'],
};

const groupCells: Readonly<Record<By, (usage: Usage) => readonly Cell[]>> = {
  owner: (usage) => [ownerText(usage), usage.mon_biz_id],
  business: (usage) => [usage.mon_biz_id],
  day: ({ day }) => [day],
  signal: ({ pipeline }) => [pipeline],
  owner_signal: (usage) => [ownerText(usage), usage.pipeline, usage.mon_biz_id],
};

/** Prints the rows of an answer: as they are, as CSV with all their fields, or as a table. */
const printRows = <Row extends Readonly<Record<string, CsvCell>>>(
  answered: Answered<{ items: Row[] }>,
  options: UsageOptions,
  schema: z.ZodObject,
  head: readonly string[],
  cells: (row: Row) => readonly Cell[],
): void =>
  printAnswer(answered, options, ({ items }) =>
    options.csv ? printCsvOf(schema, items) : printTable(head, items.map(cells)),
  );

const usage = async (options: UsageOptions): Promise<void> => {
  const { by, biz, dataId, appId, since, until, system } = options;
  const query = queryText({ by, mon_biz_id: biz, data_id: dataId, app_id: appId, since, until, system });
  const client = adminClient();
  const answered = await client.ask(
    usageAnswer.extend({ items: z.array(usageSchema) }),
    'GET',
    `/api/v1/usage${query}`,
  );
  if (answered.value.items.length === 0) await requireOwner(client, options);
  const head = [
    ...groupTitles[by],
    ...['REQUESTS', 'ITEMS', 'BYTES SENT', 'INFLATED', 'BUSIEST SECOND', 'REFUSED', 'REPEATED'],
    ...['LAST SENT', 'LAST SEEN', 'LAST SENDER', 'SDK'],
  ];
  printRows(answered, options, usageSchema, head, (row) => [
    ...groupCells[by](row),
    row.requests,
    row.items,
    bytesText(row.wire_bytes),
    bytesText(row.inflated_bytes),
    row.requests_per_second_max,
    row.refused_requests,
    row.repeated_requests,
    seenText(row.last_sent),
    ...senderCells(row),
  ]);
};

const silent = async (options: UsageOptions): Promise<void> => {
  const answered = await adminClient().ask(silentAnswer, 'GET', '/api/v1/usage/silent');
  const head = ['WHOSE', 'BUSINESS', 'LAST SEEN', 'LAST SENDER', 'SDK'];
  printRows(answered, options, silentOwner, head, (owner) => [
    ownerText(owner),
    owner.mon_biz_id,
    ...senderCells(owner),
  ]);
};

const failing = async (options: UsageOptions): Promise<void> => {
  const { since, until, hours } = options;
  const query = queryText({ since, until, hours });
  const answered = await adminClient().ask(failingAnswer, 'GET', `/api/v1/usage/failing${query}`);
  const head = ['SENDER', 'SDK', 'NAMES', 'REASON', 'HOURS', 'SAMPLES', 'FIRST SEEN', 'LAST SEEN'];
  printRows(answered, options, failingSender, head, (one) => [
    one.sender || nothing,
    one.sdk || nothing,
    ownerText(one),
    one.reason,
    one.hours,
    one.samples,
    seenText(one.first_seen),
    seenText(one.last_seen),
  ]);
};

const disk = ({ by, ...options }: UsageOptions): Promise<void> => {
  if (by !== 'owner' && by !== 'day')
    throw new Fault(
      'permanent',
      'invalid_value',
      '--by is owner or day with --disk; --biz chooses a business',
    );
  return printDiskUsage({ ...options, by });
};

/** `tidemark usage`. */
export const register = (program: Command): void => {
  const command = program
    .command('usage')
    .description(
      'print requests, items and bytes of data ids and applications, their bytes on the disks, who is silent, and who fails authorisation',
    )
    .addOption(
      new Option(
        '--by <group>',
        'one line per data id or application, per business, per day (UTC), per signal, or per signal of each owner',
      )
        .choices(groups)
        .default('owner')
        .conflicts(['silent', 'failing']),
    )
    .addOption(
      new Option('--biz <id>', 'only the owners of this business')
        .argParser(integerArgument)
        .conflicts(['dataId', 'appId']),
    )
    .addOption(
      new Option(
        '--silent',
        'owners that sent on seven days in a row, and then nothing for a day or more',
      ).conflicts(['failing', 'since', 'until', 'biz', 'dataId', 'appId', 'system']),
    )
    .addOption(
      new Option('--failing', 'senders whose requests failed authorisation in several hours').conflicts([
        'biz',
        'dataId',
        'appId',
        'system',
      ]),
    )
    .addOption(
      new Option(
        '--disk',
        'bytes on the disks by owner or day, what a day adds, and when each disk is full',
      ).conflicts(['silent', 'failing', 'since', 'until', 'system']),
    )
    .option(
      '--hours <n>',
      'with --failing: in at least this many different hours, default 6',
      integerArgument,
    )
    .addOption(new Option('--csv', 'print CSV, with the field names of the admin API').conflicts('json'));
  addPeriodOptions(command, '1h, 1d (default; --failing: 7d), 30d');
  addJsonOption(addSystemOption(addOwnerOptions(command))).action((options: UsageOptions) => {
    if (options.hours !== undefined && !options.failing)
      throw new Fault('permanent', 'invalid_value', '--hours needs --failing');
    if (options.disk) return disk(options);
    if (options.silent) return silent(options);
    return options.failing ? failing(options) : usage(options);
  });
};
