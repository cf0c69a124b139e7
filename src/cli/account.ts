import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { comparedStores, storeItem } from '../metadata/answers/account.ts';
import { counted } from '../model/counted.ts';
import { eventDayOf } from '../model/event-day.ts';
import { Fault } from '../model/fault.ts';
import { isOfApplications, isStreamOfApplications } from '../model/signals.ts';
import type { ExportBookOptions } from './account-book.ts';
import { adminClient } from './client.ts';
import { addYesOption, confirm, type YesOption } from './confirm.ts';
import {
  type Difference,
  differenceSchema,
  differenceText,
  isOfAccount,
  isOfUnreadStream,
  joinedDays,
  storedText,
  verdictText,
} from './differences.ts';
import { addJsonOption, idArgument, type JsonOption, queryText } from './options.ts';
import { nothing, printAnswer, printLine, printTable } from './output.ts';

const differencesSchema = z.object({ items: z.array(differenceSchema) });

const storesSchema = comparedStores.extend({
  items: z.array(storeItem.extend({ differences: z.array(differenceSchema) })),
});

const path = '/api/v1/account';
/** A comparison reads all records of the owners. */
const storesTimeoutMs = 300_000;

const dayArgument = (text: string): string => {
  const day = eventDayOf(text, Date.now());
  if (typeof day === 'string') throw new InvalidArgumentError(`It ${day}.`);
  return text;
};

type AccountOptions = JsonOption & { stores?: true; owner?: number; day?: string };

const ownerText = (difference: Difference): string => {
  const [owner] = difference.owners;
  if (owner === undefined || isOfAccount(difference)) return nothing;
  return isStreamOfApplications(difference.stream) ? `application ${owner}` : `data id ${owner}`;
};

const showDifferences = async (options: AccountOptions): Promise<void> => {
  if (options.day !== undefined) throw new Fault('permanent', 'invalid_value', '--day needs --stores');
  const answered = await adminClient().ask(
    differencesSchema,
    'GET',
    `${path}/differences${queryText({ owner: options.owner })}`,
  );
  printAnswer(answered, options, ({ items }) => {
    if (items.length === 0) printLine('no differences: the books agree');
    else
      printTable(
        ['WHOSE', 'DIFFERENCE'],
        items.map((each) => [ownerText(each), `${differenceText(each)}${storedText(each, items)}`]),
      );
  });
};

const showStores = async (options: AccountOptions): Promise<void> => {
  const { owner, day } = options;
  const answered = await adminClient().ask(
    storesSchema,
    'GET',
    `${path}/stores${queryText({ owner, day })}`,
    { timeoutMs: storesTimeoutMs },
  );
  printAnswer(answered, options, ({ compared, items }) => {
    printTable(
      ['WHOSE', 'PIPELINE', 'ADDS UP', 'DIFFERENCES'],
      items.map((item) => [
        isOfApplications(item.pipeline) ? `application ${item.app_id}` : `data id ${item.data_id}`,
        item.pipeline,
        verdictText(item.adds_up),
        [...joinedDays(item.differences).map(differenceText), item.why]
          .filter((text) => text !== '')
          .join('; ') || nothing,
      ]),
    );
    printLine(
      `compared: ${counted(compared.rows, 'recorded row')} of ${counted(compared.days, 'owner and event day', 'owners and event days')}`,
    );
  });
};

type CloseOptions = JsonOption &
  YesOption & { dataId?: number; appId?: number; kind?: string; stream?: string; reason: string };

const closedSchema = z.object({ closed: z.array(differenceSchema) });

/** Whether the difference is of the owner that the options name; 0: of no known one. */
const isOf = ({ stream, owners }: Difference, { dataId, appId }: CloseOptions): boolean => {
  const id = dataId ?? appId;
  if (id === 0) return owners.length === 0;
  return isStreamOfApplications(stream) === (dataId === undefined) && owners.includes(id ?? 0);
};

/** Asks where the call would close anything; the admin API refuses one that would not. */
const confirmClose = async (options: CloseOptions): Promise<void> => {
  if (options.yes === true) return;
  const { value } = await adminClient().ask(differencesSchema, 'GET', `${path}/differences`);
  const open = value.items.filter(
    (each) =>
      each.is_open &&
      !isOfAccount(each) &&
      !isOfUnreadStream(each) &&
      (options.kind === undefined ? each.kind !== 'not_known' : each.kind === options.kind) &&
      (options.stream === undefined || each.stream === options.stream) &&
      isOf(each, options),
  );
  if (open.length === 0) return;
  const named = open.map((each) => `${ownerText(each)}: ${differenceText(each)}`);
  await confirm(`the account no longer counts ${named.join('; ')}`, options);
};

const close = async (options: CloseOptions): Promise<void> => {
  const { dataId, appId, kind, stream, reason } = options;
  await confirmClose(options);
  const answered = await adminClient().ask(closedSchema, 'POST', `${path}/differences/close`, {
    body: { data_id: dataId, app_id: appId, kind, stream, reason },
  });
  printAnswer(answered, options, ({ closed }) => {
    for (const each of closed) printLine(`closed: ${ownerText(each)}: ${differenceText(each)}`);
  });
};

/** `tidemark account`. */
export const register = (program: Command): void => {
  const command = program
    .command('account')
    .description('show the differences between the books, and compare the stores with the records')
    .option('--stores', 'compare QuestDB and ClickHouse with the records, by owner and event day')
    .option('--owner <id>', 'only this data id or application', idArgument)
    .option('--day <date>', 'with --stores: only this event day, UTC', dayArgument);
  addJsonOption(command).action((options: AccountOptions) =>
    options.stores === true ? showStores(options) : showDifferences(options),
  );
  const closing = command
    .command('close')
    .description('close the open differences of an owner with a reason; they stay visible; cannot be undone')
    .option('--data-id <id>', 'of this data id; 0: without a known owner', idArgument)
    .option('--app-id <id>', 'of this application', idArgument)
    .option('--kind <kind>', 'only of this kind, such as lost_in_the_stream')
    .option('--stream <name>', 'only in this stream, such as METRICS')
    .requiredOption('--reason <text>', 'why');
  addJsonOption(addYesOption(closing)).action((_: CloseOptions, each: Command) =>
    close(each.optsWithGlobals<CloseOptions>()),
  );
  const exporting = command
    .command('export-book')
    .description(
      'write the items that receivers acknowledged since a backup began; import-book adds them after its restore',
    )
    .requiredOption('--backup <folder>', 'folder of the backup')
    .requiredOption('--output <file>', 'write the lines to this file');
  addJsonOption(exporting).action(async (_: unknown, each: Command) => {
    const { exportBook } = await import('./account-book.ts');
    await exportBook(each.optsWithGlobals<ExportBookOptions>());
  });
  const importing = command
    .command('import-book')
    .description(
      'add the lines of export-book: the account then names the items that this installation lacks',
    )
    .argument('<file>', 'file of tidemark account export-book');
  addJsonOption(importing).action(async (file: string, _: unknown, each: Command) => {
    const { importBook } = await import('./account-book.ts');
    await importBook(file, each.optsWithGlobals<JsonOption>());
  });
};
