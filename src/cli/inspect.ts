import type { Command } from 'commander';
import { z } from 'zod';
import { activity } from '../metadata/answers/activity.ts';
import { cardinalityAnswer, storesAnswer, tableAnswer } from '../metadata/answers/stores.ts';
import { counted } from '../model/counted.ts';
import { errorText } from '../model/fault.ts';
import { explain } from '../model/reasons.ts';
import { daysText } from './amounts.ts';
import { adminClient } from './client.ts';
import { furtherTerms } from './differences.ts';
import { accountsAnswer, removedText } from './ledger.ts';
import type { SubjectOptions } from './options.ts';
import {
  addJsonOption,
  addSubject,
  idArgument,
  type JsonOption,
  momentArgument,
  queryText,
  subjectOf,
  subjectPath,
} from './options.ts';
import { nothing, printAnswer, printFields, printLine, printTable, sayLines, timeText } from './output.ts';

// What the console shows of a data id, an application and the stores, for a terminal.

const { minutes, limits, not_known_since: notKnownSince } = activity.shape;
const activitySchema = activity.extend({
  // Missing in answers of earlier versions.
  minutes: z.array(
    minutes.element.extend({
      repeated_requests: z.int().default(0),
      ...{ repeated: z.int().default(0), lost: z.int().default(0) },
      ...{ stuck: z.int().default(0), unrecorded: z.int().default(0) },
    }),
  ),
  not_known_since: notKnownSince.default(null),
  // A newer metadata may have further limits.
  limits: z.array(limits.element.extend({ name: z.string() })),
});

type Activity = z.output<typeof activitySchema>;

const second = (seconds: number | undefined): string =>
  timeText(seconds === undefined ? null : Math.floor(seconds));

/** Use beside a limit. That of requests per second is the busiest second of an hour: a single request makes it 1. */
export const limitField = ({ name, limit, used }: Activity['limits'][number]): [string, string] => {
  const count = used ?? nothing;
  if (name === 'requests_per_second')
    return ['busiest second', `${count} of ${limit ?? 'any number of'} requests, in the last hour`];
  return [name.replaceAll('_', ' '), `${count} of ${limit ?? 'any number'}`];
};

type Day = z.output<typeof accountsAnswer>;
type Balances = Day['items'];

/** How often each reason was the outcome of an item, a refusal or the loss of a value, in words. */
const countsOf = (accounts: Balances): Map<string, string> => {
  const counts = new Map<string, { dropped: number; requests: number; items: number; values: number }>();
  const of = (reason: string) => {
    const found = counts.get(reason) ?? { dropped: 0, requests: 0, items: 0, values: 0 };
    counts.set(reason, found);
    return found;
  };
  for (const { dropped, refusals } of accounts) {
    for (const [reason, items] of Object.entries(dropped)) of(reason).dropped += items;
    for (const { kind, reason, requests, items } of refusals) {
      if (kind === 'value_lost') of(reason).values += items;
      if (kind === 'refused') of(reason).requests += requests;
      if (kind === 'refused') of(reason).items += items;
    }
  }
  const shown = [...counts].map(([reason, { dropped, requests, items, values }]): [string, string] => [
    reason,
    [
      dropped > 0 && counted(dropped, 'item'),
      requests > 0 && `${counted(requests, 'request')}${items > 0 ? ` with ${counted(items, 'item')}` : ''}`,
      values > 0 && counted(values, 'value'),
    ]
      .filter(Boolean)
      .join(', '),
  ]);
  return new Map(shown.filter(([, text]) => text !== ''));
};

/** `day`: the accounts of the last day; undefined where they cannot be read. */
const printActivity = (shown: Activity, day: Day | undefined): void => {
  const { state, last_request: last, refusals, minutes, limits, not_known_since: since } = shown;
  const total = (name: keyof Activity['minutes'][number]): string =>
    String(minutes.reduce((sum, minute) => sum + minute[name], 0));
  const gone = new Set(day?.removed.map(removedText));
  printFields([
    ['state', state],
    ['last request', second(last?.at)],
    ['sender', last?.sender || nothing],
    ['sdk', last?.sdk || nothing],
    ['received', `${total('received')} in the last hour`],
    ['stored', [total('stored'), ...gone].join(', ')],
    ['dropped', total('dropped')],
    ['dead-lettered', total('dead_lettered')],
    ...furtherTerms.flatMap((term): [string, string][] => (total(term) === '0' ? [] : [[term, total(term)]])),
    ...(since === null
      ? []
      : [['not known', `since ${timeText(since)}, newer items are not counted yet`] as [string, string]]),
    ['refused', `${total('refused_requests')} requests`],
    ['duplicates', `${total('repeated_requests')} requests, not stored again`],
    ...limits.map(limitField),
  ]);
  const counts = countsOf(day?.items ?? []);
  const sampled = new Set(refusals.map(({ reason }) => reason));
  const rows = [
    ...refusals.map((each) => [
      second(each.at),
      each.reason,
      counts.get(each.reason) ?? nothing,
      each.field || nothing,
      each.value || nothing,
      each.sender || nothing,
      each.remedy,
    ]),
    // Of a flood of reasons no sample may be kept.
    ...[...counts]
      .filter(([reason]) => !sampled.has(reason))
      .map(([reason, text]) => [
        nothing,
        reason,
        text,
        nothing,
        nothing,
        nothing,
        explain(reason)?.remedy ?? nothing,
      ]),
  ];
  if (rows.length === 0) return;
  printLine('');
  printTable(['NEWEST', 'REASON', 'THE LAST DAY', 'FIELD', 'VALUE', 'SENDER', 'REMEDY'], rows);
};

const registerActivity = (program: Command): void => {
  const command = program
    .command('activity')
    .description(
      'show the activity of an owner: state, last sender, the counts of an hour, limits, newest refusals',
    );
  addJsonOption(addSubject(command)).action(async (id: number, options: JsonOption & SubjectOptions) => {
    const subject = subjectOf(id, options);
    const client = adminClient();
    const answered = await client.ask(activitySchema, 'GET', `${subjectPath(subject)}/activity`);
    if (options.json) return printAnswer(answered, options, () => undefined);
    const owner = subject.kind === 'data_id' ? { data_id: id } : { app_id: id };
    const path = `/api/v1/outcomes${queryText({ ...owner, since: momentArgument('1d') })}`;
    const day = await client.ask(accountsAnswer, 'GET', path).then(
      ({ value }) => value,
      (error: unknown) => {
        sayLines(`the counts of the last day cannot be read: ${errorText(error)}`);
        return undefined;
      },
    );
    printAnswer(answered, options, (shown) => printActivity(shown, day));
    if (day === undefined) process.exitCode = 1;
  });
};

const countTimeoutMs = 60_000;

const table = async (id: number, options: JsonOption & { cardinality?: true }): Promise<void> => {
  const path = `/api/v1/data-sources/${id}`;
  if (options.cardinality) {
    const answered = await adminClient().ask(cardinalityAnswer, 'GET', `${path}/cardinality`, {
      timeoutMs: countTimeoutMs,
    });
    return printAnswer(answered, options, (shown) => {
      printLine(`metric columns: ${shown.metric_columns} of ${shown.metric_columns_max ?? nothing}`);
      printLine(`dimension columns: ${shown.dimension_columns} of ${shown.dimension_columns_max ?? nothing}`);
      printTable(
        ['DIMENSION', 'VALUES IN A DAY', 'THE DAY BEFORE', 'EVER', 'FULL SINCE'],
        shown.dimensions.map((each) => [
          each.name,
          each.values,
          each.values_before,
          each.values_known,
          timeText(each.full_since),
        ]),
      );
      printLine(`a dimension is full at: ${shown.dimension_values_max ?? nothing} values`);
      printLine('EVER counts one more for a dimension that some points lack');
      if (shown.why !== '') printLine(`not counted: ${shown.why}`);
    });
  }
  printAnswer(await adminClient().ask(tableAnswer, 'GET', `${path}/table`), options, (shown) =>
    printFields([
      ['table', shown.table_id],
      ['layout', shown.layout],
      ['instance', shown.instance],
      ['rows', shown.rows],
      ['bytes', shown.bytes],
      ['days', `${shown.partitions}, ${shown.oldest_day ?? nothing} to ${shown.newest_day ?? nothing}`],
      ['retention', daysText(shown.retention_days)],
      ['suspended', shown.is_suspended ? `YES: ${shown.why}` : 'no'],
      ['behind', counted(shown.pending_commits, 'commit')],
    ]),
  );
};

const registerTable = (program: Command): void => {
  const command = program
    .command('table')
    .description('show the QuestDB table of a data id: rows, bytes, days, lag; or its distinct values')
    .argument('<mon_data_id>', 'data id', idArgument)
    .option('--cardinality', 'count the distinct values of each dimension, today and the day before');
  addJsonOption(command).action(table);
};

const registerStores = (program: Command): void => {
  const command = program
    .command('stores')
    .description('show QuestDB instances with suspended tables, and parts and disks of ClickHouse');
  addJsonOption(command).action(async (options: JsonOption) => {
    const answered = await adminClient().ask(storesAnswer, 'GET', '/api/v1/stores');
    printAnswer(answered, options, ({ questdb, clickhouse }) => {
      printTable(
        ['QUESTDB', 'TABLES', 'ROWS', 'BYTES', 'BEHIND', 'SUSPENDED'],
        questdb.map((each) => [
          each.why === '' ? each.instance : `${each.instance}: ${each.why}`,
          each.tables,
          each.rows,
          each.bytes,
          each.pending_commits_max,
          each.suspended.map(({ table_id, why }) => `${table_id} (${why})`).join(', ') || 'none',
        ]),
      );
      if (clickhouse.why !== '') printLine(`clickhouse: ${clickhouse.why}`);
      printTable(
        ['CLICKHOUSE', 'ROWS', 'BYTES', 'PARTS'],
        clickhouse.tables.map((each) => [each.table, each.rows, each.bytes, each.parts]),
      );
      for (const { disk, free_bytes: free, total_bytes: of } of clickhouse.disks)
        printLine(`disk ${disk}: ${free} of ${of} bytes free`);
    });
  });
};

/** `tidemark activity`, `tidemark table` and `tidemark stores`. */
export const register = (program: Command): void => {
  registerActivity(program);
  registerTable(program);
  registerStores(program);
};
