import { type Command, Option } from 'commander';
import { z } from 'zod';
import { accountSchema } from '../metadata/answers/account.ts';
import { balancesAnswer } from '../metadata/answers/outcomes.ts';
import { counted } from '../model/counted.ts';
import { applicationPipelines, isOfApplications, type Pipeline } from '../model/signals.ts';
import { sumOf } from '../model/sums.ts';
import { adminClient } from './client.ts';
import { differenceSchema, differenceText, equationText, furtherTerms, verdictText } from './differences.ts';
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
import {
  type Cell,
  nothing,
  printAnswer,
  printFields,
  printLine,
  printSentence,
  printTable,
  timeText,
} from './output.ts';

const balanceSchema = accountSchema.extend({ differences: z.array(differenceSchema) });

/** The answer with the accounts, of this and of earlier versions. */
export const accountsAnswer = balancesAnswer.extend({
  items: z.array(balanceSchema),
  // A metadata of an earlier version does not answer these.
  not_known: z.array(differenceSchema).default([]),
  truncated: balancesAnswer.shape.truncated.default(false),
  removed: balancesAnswer.shape.removed.default([]),
});

type Removed = z.output<typeof accountsAnswer>['removed'][number];
type OfOwner = Pick<Removed, 'pipeline' | 'data_id' | 'app_id'>;

/** What is gone of the rows that were stored of an owner, as the end of a phrase. */
export const removedText = ({ purged, expired_before: before }: Removed): string =>
  purged ? 'purged since' : `rows of days before ${before} may have expired since`;

const isOfOne = (one: OfOwner, other: OfOwner): boolean =>
  one.pipeline === other.pipeline && one.data_id === other.data_id && one.app_id === other.app_id;

type Answer = z.output<typeof accountsAnswer>;
type Balance = z.output<typeof balanceSchema>;
type Kind = Balance['refusals'][number]['kind'];

const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .toSorted(([, left], [, right]) => right - left)
    .map(([reason, items]) => `${reason} ${items}`)
    .join(', ');

const ownerText = ({ pipeline, data_id: dataId, app_id: appId }: OfOwner): string =>
  isOfApplications(pipeline) ? `application ${appId || nothing}` : `data id ${dataId || nothing}`;

/** Refusals of a kind: requests and items, and both by reason. */
const refusedText = ({ refusals }: Pick<Balance, 'refusals'>, kind: Kind): string => {
  const rows = refusals.filter((row) => row.kind === kind);
  if (rows.length === 0) return '0';
  const items = rows.reduce((sum, row) => sum + row.items, 0);
  if (kind === 'value_lost')
    return `${items} (${rows.map((row) => `${row.reason} ${row.items}`).join(', ')})`;
  const requests = rows.reduce((sum, row) => sum + row.requests, 0);
  const reasons = rows.map(
    (row) => `${row.reason} ${row.requests === 0 ? `${counted(row.items, 'item')}` : row.requests}`,
  );
  const shown = kind === 'duplicate' ? '' : ` (${reasons.join(', ')})`;
  return `${counted(requests, 'request')}, ${counted(items, 'item')}${shown}`;
};

const inFlightText = ({ in_flight: streams }: Answer): string =>
  streams
    .map(
      ({ stream, messages, ack_pending: held }) =>
        `${stream} ${messages}${held === 0 ? '' : ` (${held} held by workers)`}`,
    )
    .join(', ');

const equationOf = (balance: Balance): string =>
  equationText({ ...balance, dropped: sumOf(Object.values(balance.dropped)) });

const openDifferences = ({ differences }: Balance): string =>
  differences
    .filter((difference) => difference.is_open)
    .map(differenceText)
    .join('; ');

const verdict = (balance: Balance): string => {
  if (balance.adds_up === null) return `not known: ${equationOf(balance)}`;
  if (!balance.adds_up) return `NO: ${equationOf(balance)}; ${openDifferences(balance)}`;
  return `${balance.in_flight === 0 ? 'yes' : 'yes, so far'}: ${equationOf(balance)}`;
};

const droppedText = ({ dropped }: Pick<Balance, 'dropped'>): string =>
  sumOf(Object.values(dropped)) === 0 ? '0' : `${sumOf(Object.values(dropped))} (${listed(dropped)})`;

const windowText = ({ since, until }: Answer): string => `from ${timeText(since)} until ${timeText(until)}`;

const printOne = (balance: Balance, names: readonly Pipeline[], answer: Answer): void => {
  const isApplication = isOfApplications(balance.pipeline);
  const gone = answer.removed.filter((each) => isOfOne(each, balance));
  printFields([
    [isApplication ? 'application' : 'data id', String(balance.data_id || balance.app_id)],
    ['pipeline', names.join(', ')],
    ['from', timeText(answer.since)],
    ['until', timeText(answer.until)],
    ['received', balance.received],
    ['stored', [balance.stored, ...gone.map(removedText)].join(', ')],
    ['dropped', droppedText(balance)],
    ['dead-lettered', balance.dead_lettered],
    ['adds up', verdict(balance)],
    ['differences', balance.differences.map(differenceText).join('; ') || 'none'],
    ['in flight', `${inFlightText(answer)} (messages of all data ids and applications)`],
    ['refused', refusedText(balance, 'refused')],
    ['duplicates', refusedText(balance, 'duplicate')],
    ['values dropped', refusedText(balance, 'value_lost')],
  ]);
};

/** One owner. An application has an account for each signal that it has sent. */
const printOwner = (options: OwnerOptions, answer: Answer): void => {
  if (answer.items.length === 0) {
    const empty = emptyOf(options, answer);
    return printOne(empty, isOfApplications(empty.pipeline) ? applicationPipelines : ['metrics'], answer);
  }
  for (const [index, balance] of answer.items.entries()) {
    if (index > 0) printLine('');
    printOne(balance, [balance.pipeline], answer);
  }
};

const printBuckets = (answer: Answer): void => {
  printTable(
    ['TIME', 'PIPELINE', 'STORED', 'DROPPED', 'DEAD-LETTERED', 'REFUSED', 'DUPLICATES', 'VALUES DROPPED'],
    // The newest first, as with --by-minute.
    answer.buckets
      .toSorted((left, right) => right.at - left.at)
      .map((bucket) => [
        timeText(bucket.at),
        bucket.pipeline,
        bucket.stored,
        droppedText(bucket),
        bucket.dead_lettered,
        refusedText(bucket, 'refused'),
        refusedText(bucket, 'duplicate'),
        refusedText(bucket, 'value_lost'),
      ]),
  );
  printLine(windowText(answer));
};

/** Counts of an overview; their reasons stand below, where they have room. */
const countText = (balance: Balance, kind: Kind): string =>
  refusedText(balance, kind).replace(/ \(.*\)$/, '');

/** The reasons of an owner for each kind that has some, one line each. */
const reasonLines = (balance: Balance): string[] => {
  const told = [
    ['dropped', droppedText(balance)],
    ['refused', refusedText(balance, 'refused')],
    ['values dropped', refusedText(balance, 'value_lost')],
  ] as const;
  return told.flatMap(([name, text]) => {
    const reasons = /\((.*)\)$/.exec(text)?.[1];
    return reasons === undefined ? [] : [`${ownerText(balance)}, ${balance.pipeline}: ${name}: ${reasons}`];
  });
};

/** The table of several accounts: its head and its rows. A further term has a column where an owner has some, so that a row adds up as it is shown. */
export const accountsTable = (
  items: readonly Balance[],
  by: By | undefined,
): readonly (readonly Cell[])[] => {
  const further = furtherTerms.filter((term) => items.some((balance) => balance[term] !== 0));
  return [
    [
      ...(by === undefined ? [] : [by.toUpperCase()]),
      ...['WHOSE', 'PIPELINE', 'RECEIVED', 'STORED', 'DROPPED', 'DEAD-LETTERED'],
      ...further.map((term) => term.toUpperCase()),
      ...['IN FLIGHT', 'ADDS UP', 'REFUSED', 'DUPLICATES', 'VALUES DROPPED'],
    ],
    ...items.map((balance) => [
      ...(by === undefined ? [] : [timeText(balance.minute)]),
      ownerText(balance),
      balance.pipeline,
      balance.received,
      balance.stored,
      String(sumOf(Object.values(balance.dropped))),
      balance.dead_lettered,
      ...further.map((term) => balance[term]),
      balance.in_flight,
      verdictText(balance.adds_up),
      countText(balance, 'refused'),
      countText(balance, 'duplicate'),
      countText(balance, 'value_lost'),
    ]),
  ];
};

const removedLinesMax = 20;

/** Whose rows are gone, one line each, and how many lines are left out. */
export const removedLines = (removed: readonly Removed[]): string[] => {
  const left = removed.length - removedLinesMax;
  return [
    ...removed
      .slice(0, removedLinesMax)
      .map((each) => `${ownerText(each)}, ${each.pipeline}: stored: ${removedText(each)}`),
    ...(left > 0
      ? [`rows of ${left} more are gone or may be: see them with --json, or one with --data-id or --app-id`]
      : []),
  ];
};

/** What is not known for all, or of a stream, and that no account names: none of its owners has items. */
export const untoldOf = ({
  items,
  not_known,
}: Pick<Answer, 'items' | 'not_known'>): Balance['differences'] => {
  const told = new Set(
    items.flatMap(({ differences }) => differences.map(({ stream, kind }) => `${kind} ${stream}`)),
  );
  return not_known.filter(({ stream, kind }) => !told.has(`${kind} ${stream}`));
};

const printMany = (answer: Answer, by: By | undefined): void => {
  const [head = [], ...rows] = accountsTable(answer.items, by);
  printTable(head.map(String), rows);
  if (answer.truncated)
    printSentence(
      `only the first ${answer.items.length} are shown, and those with an open difference: narrow it with --data-id, --app-id or --since`,
    );
  for (const line of removedLines(answer.removed)) printSentence(line);
  // By time the reasons of a line would be far from it: --by-reason has them.
  if (by === undefined) for (const line of answer.items.flatMap(reasonLines)) printSentence(line);
  for (const { differences, ...balance } of answer.items)
    for (const difference of differences)
      if (difference.is_open) printSentence(`${ownerText(balance)}: ${differenceText(difference)}`);
  for (const each of untoldOf(answer)) printSentence(differenceText(each));
  printSentence(`in flight: ${inFlightText(answer)}`);
  printLine(windowText(answer));
};

type By = 'minute' | 'hour' | 'day';

type LedgerOptions = JsonOption & OwnerOptions & PeriodOptions & SystemOption & { by?: By; byReason?: true };

/** An earlier metadata says only since when it is not known. */
const notKnownOf = (
  owners: number[],
  { not_known_since: from, not_known: told, until }: Answer,
): Balance['differences'] =>
  from === null || told.length > 0
    ? told
    : [
        {
          ...({ kind: 'not_known', items: 0, messages: 0, stream: '', owners, from } as const),
          ...{ until: Math.max(from, until), is_open: true, reason: '' },
        },
      ];

/** The account of an owner without items. */
export const emptyOf = ({ dataId, appId }: OwnerOptions, answer: Answer): Balance => ({
  pipeline: dataId === undefined ? applicationPipelines[0] : 'metrics',
  data_id: dataId ?? 0,
  app_id: appId ?? 0,
  minute: null,
  received: 0,
  stored: 0,
  dead_lettered: 0,
  dropped: {},
  repeated: 0,
  lost: 0,
  stuck: 0,
  unrecorded: 0,
  in_flight: 0,
  adds_up: answer.not_known_since === null && answer.not_known.length === 0 ? true : null,
  differences: notKnownOf([dataId ?? appId ?? 0], answer),
  refusals: [],
});

const ledger = async (options: LedgerOptions): Promise<void> => {
  const { dataId, appId, since, until, by, byReason, system } = options;
  const query = queryText({
    system,
    data_id: dataId,
    app_id: appId,
    since,
    until,
    by,
    group: byReason ? 'reason' : undefined,
  });
  const client = adminClient();
  const answered = await client.ask(accountsAnswer, 'GET', `/api/v1/outcomes${query}`);
  if (answered.value.items.length === 0) await requireOwner(client, options);
  printAnswer(answered, options, (answer) => {
    if (byReason) return printBuckets(answer);
    const isOne = (dataId !== undefined || appId !== undefined) && by === undefined;
    if (isOne) printOwner(options, answer);
    else printMany(answer, by);
  });
};

type Steps = {
  byMinute?: true | undefined;
  byHour?: true | undefined;
  byDay?: true | undefined;
};

const stepOf = ({ byMinute, byHour, byDay }: Steps): { by?: By } => {
  if (byMinute) return { by: 'minute' };
  if (byHour) return { by: 'hour' };
  return byDay ? { by: 'day' } : {};
};

/** `tidemark ledger`. */
export const register = (program: Command): void => {
  const command = program
    .command('ledger')
    .description(
      'print the account of each owner: the items that NATS confirmed = stored + dropped + dead-lettered; and refusals',
    )
    .addOption(new Option('--by-minute', 'one line per minute of arrival').conflicts(['byHour', 'byDay']))
    .addOption(new Option('--by-hour', 'one line per hour of arrival, UTC').conflicts('byDay'))
    .option('--by-day', 'one line per day of arrival, UTC')
    .option('--by-reason', 'one line per reason and time, of all owners together');
  addPeriodOptions(command, '15m, 1h (default), 7d');
  addJsonOption(addSystemOption(addOwnerOptions(command))).action(
    ({ byMinute, byHour, byDay, ...options }: LedgerOptions & Steps) =>
      ledger({ ...options, ...stepOf({ byMinute, byHour, byDay }) }),
  );
};
