import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { bulkAnswer, listedSchema, shownSchema } from '../metadata/answers/dead-letters.ts';
import { counted } from '../model/counted.ts';
import { Fault } from '../model/fault.ts';
import { pipelines } from '../model/signals.ts';
import { type AdminClient, adminClient } from './client.ts';
import { addYesOption, confirm, type Terminal, type YesOption } from './confirm.ts';
import { printList } from './list.ts';
import { requireOwner } from './lookups.ts';
import {
  addJsonOption,
  addPageOptions,
  idArgument,
  type JsonOption,
  momentArgument,
  type PageOptions,
} from './options.ts';
import {
  printAnswer,
  printFields,
  printJson,
  printLine,
  printLines,
  sayLines,
  shortened,
  timeText,
} from './output.ts';
import { ownerText } from './owner-text.ts';
import { reasonArgument } from './reason.ts';

const doneSchema = bulkAnswer.extend({
  // A metadata process of an earlier version gives none, and takes what came later, too.
  first_cursor: bulkAnswer.shape.first_cursor.default(null),
});

type Letter = z.output<typeof listedSchema>;
type Done = z.output<typeof doneSchema>;
/** What was done; with the error of a later call, which ended it. */
type Ended = Done & { readonly error?: unknown };

const path = '/api/v1/dead-letters';

/** A call processes up to a thousand dead letters, one after the other. */
const callTimeoutMs = 300_000;

type Filter = {
  pipeline?: string;
  reason?: string;
  dataId?: number;
  appId?: number;
  table?: string;
  since?: number;
  until?: number;
};

const letterPipelines = [...pipelines, 'ledger'];

const addFilter = (command: Command): Command =>
  command
    .addOption(new Option('--pipeline <name>', 'only of this pipeline').choices(letterPipelines))
    .option('--reason <code>', 'only with this reason (see tidemark explain <code>)', reasonArgument)
    .option('--data-id <id>', 'only of this data id', idArgument)
    .option('--app-id <id>', 'only of this application', idArgument)
    .option('--table <name>', 'only for this table')
    .option('--since <when>', 'only those dead-lettered since: 30m, 2h, 7d, or a time (UTC)', momentArgument)
    .option(
      '--until <when>',
      'only those dead-lettered before: 30m, 2h, 7d ago, or a time (UTC)',
      momentArgument,
    );

const filterOf = ({ pipeline, reason, dataId, appId, table, since, until }: Filter) => ({
  pipeline,
  reason,
  data_id: dataId,
  app_id: appId,
  table,
  since,
  until,
});

const orphanOf = ({ orphan }: Letter): string => {
  if (orphan === null) return 'unknown';
  return orphan ? 'yes' : 'no';
};

const list = (options: PageOptions & Filter): Promise<void> =>
  printList(options, {
    path,
    query: filterOf(options),
    item: listedSchema,
    head: ['SEQUENCE', 'TIME', 'REASON', 'OWNER', 'ITEMS', 'REDRIVES', 'ORPHAN', 'ERROR'],
    row: (letter) => [
      ...[letter.sequence, timeText(letter.at), letter.reason, ownerText(letter), letter.items],
      ...[letter.redrives, orphanOf(letter), shortened(letter.error, 80)],
    ],
    ifEmpty: (client) => requireOwner(client, options),
  });

const show = async (sequence: number, options: JsonOption): Promise<void> => {
  const answer = await adminClient().ask(shownSchema, 'GET', `${path}/${sequence}`);
  printAnswer(answer, options, (letter) => {
    printFields([
      ['dead letter', letter.sequence],
      ['dead-lettered', timeText(letter.at)],
      ['reason', letter.reason],
      ['error', letter.error],
      ['owner', ownerText(letter)],
      ['table', letter.table],
      ['uid', letter.uid],
      ['items', letter.items],
      ['redrives', letter.redrives],
      ['orphan', orphanOf(letter)],
      ['can be redriven', letter.is_redrivable ? 'yes' : 'no'],
      ['bytes', letter.bytes],
    ]);
    const { form, rows, text, cut: left } = letter.shown;
    printLine('');
    if (rows === undefined) printLines((text ?? '').trimEnd());
    else printJson(rows);
    if (left > 0) printLine(`(${left} ${form === 'rows' ? 'rows' : 'bytes'} more)`);
  });
};

type BulkOptions = JsonOption & YesOption & Filter & { limit?: number; all?: true; dryRun?: true };

const notThere = (sequences: readonly number[]): string =>
  sequences.length === 1
    ? `dead letter ${sequences[0]} does not exist`
    : `none of the dead letters ${sequences.join(', ')} exists`;

/**
 * Calls until every matching dead letter is done, or `limit` of them, or a call fails; from a `first_cursor` on, none that came after it
 * was given. Throws where the first call fails: nothing was done then. Permanent Fault `not_found` where named ones match nothing.
 */
export const bulk = async (
  client: AdminClient,
  action: 'redrive' | 'purge',
  sequences: readonly number[],
  options: BulkOptions,
  first: string | null = null,
): Promise<Ended> => {
  const total: Done = { matched: 0, items: 0, done: 0, failed: [], next_cursor: null, first_cursor: first };
  let room = options.limit ?? Number.POSITIVE_INFINITY;
  for (let cursor = first ?? undefined; room > 0; ) {
    const body = {
      ...filterOf(options),
      ...(sequences.length === 0 ? {} : { sequences }),
      all: options.all,
      dry_run: options.dryRun,
      limit: Math.min(room, 1_000),
      cursor,
    };
    const asked = client.ask(doneSchema, 'POST', `${path}/${action}`, { body, timeoutMs: callTimeoutMs });
    const answer = await asked.catch((error: unknown) => ({ error }));
    if ('error' in answer) {
      if (total.next_cursor === null) throw answer.error;
      return { ...total, error: answer.error };
    }
    const { value } = answer;
    total.matched += value.matched;
    total.items += value.items;
    total.done += value.done;
    total.failed.push(...value.failed);
    total.next_cursor = value.next_cursor;
    total.first_cursor = value.first_cursor;
    room -= value.matched;
    if (value.next_cursor === null) break;
    cursor = value.next_cursor;
  }
  if (total.matched === 0) {
    await requireOwner(client, options);
    if (sequences.length > 0) throw new Fault('permanent', 'not_found', notThere(sequences));
  }
  return total;
};

/** Prints what was done, and throws the error that ended it. */
export const printDone = ({ error, ...done }: Ended, verb: string, options: BulkOptions): void => {
  if (options.json) printJson(done);
  else {
    const would = options.dryRun ? `would be ${verb}` : verb;
    printLine(`${counted(done.done, 'dead letter')} (${counted(done.items, 'item')}) ${would}`);
    for (const { sequence, detail } of done.failed) sayLines(`${sequence}: ${detail}`);
  }
  if (done.failed.length > 0) process.exitCode = 1;
  if (error !== undefined) throw error;
};

const redrive = async (sequences: readonly number[], options: BulkOptions): Promise<void> => {
  printDone(await bulk(adminClient(), 'redrive', sequences, options), 'redriven', options);
};

/** A purge, once the operator has confirmed what its dry run counted. What came after the dry run nobody has confirmed. */
export const confirmedPurge = async (
  client: AdminClient,
  sequences: readonly number[],
  options: BulkOptions,
  terminal?: Terminal,
): Promise<Ended> => {
  if (options.yes === true || options.dryRun === true) return bulk(client, 'purge', sequences, options);
  const meant = await bulk(client, 'purge', sequences, { ...options, dryRun: true });
  if (meant.error !== undefined) throw meant.error;
  // There is nothing to lose, and nothing to confirm.
  if (meant.matched === 0) return meant;
  const what = `${counted(meant.matched, 'dead letter')} (${counted(meant.items, 'item')})`;
  await confirm(`the purge removes ${what} for ever`, options, terminal);
  return bulk(client, 'purge', sequences, options, meant.first_cursor);
};

const purge = async (sequences: readonly number[], options: BulkOptions): Promise<void> => {
  printDone(await confirmedPurge(adminClient(), sequences, options), 'purged', options);
};

const resume = async (pipeline: string, options: JsonOption): Promise<void> => {
  const answer = await adminClient().ask(
    z.object({ pipeline: z.string() }),
    'POST',
    `/api/v1/consumers/${pipeline}/resume`,
    { body: {} },
  );
  printAnswer(answer, options, () => printLine(`${pipeline} is resumed`));
};

const sequenceArgument = (text: string, before: number[] = []): number[] => [...before, idArgument(text)];

const limitArgument = (text: string): number => {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number from 1 on.');
};

const addBulk = (command: Command): Command =>
  addJsonOption(
    addFilter(
      command.argument('[sequence...]', 'only these ids (see tidemark dlq list)', sequenceArgument, []),
    )
      .option('--all', 'all of them')
      .option('--limit <n>', 'at most this many', limitArgument)
      .addOption(new Option('--dry-run', 'report the effect, change nothing')),
  );

/** `tidemark dlq list | show | redrive | purge | resume`. */
export const register = (program: Command): void => {
  const dlq = program
    .command('dlq')
    .description('dead letters: items that the databases refuse, with their bytes');
  addPageOptions(addFilter(dlq.command('list').description('list dead letters, newest first'))).action(list);
  addJsonOption(
    dlq
      .command('show')
      .description('show a dead letter with its content')
      .argument('<sequence>', 'id of the dead letter (see tidemark dlq list)', idArgument),
  ).action(show);
  addBulk(
    dlq
      .command('redrive')
      .description('return dead letters to their stream, oldest first; each row is stored once'),
  ).action(redrive);
  addYesOption(
    addBulk(dlq.command('purge').description('remove dead letters for ever; their items count as dropped')),
  ).action(purge);
  addJsonOption(
    dlq
      .command('resume')
      .description('resume a consumer that stopped because too many items went to the dead letters')
      .addArgument(dlq.createArgument('<pipeline>', 'name of the consumer').choices(letterPipelines)),
  ).action(resume);
};
