import type { Command } from 'commander';
import { z } from 'zod';
import { drop } from '../metadata/answers/outcomes.ts';
import { counted } from '../model/counted.ts';
import { errorText, Fault } from '../model/fault.ts';
import { parseJson } from '../model/json.ts';
import { isOfApplications } from '../model/signals.ts';
import { type AdminClient, adminClient, pageOf } from './client.ts';
import { requireOwner } from './lookups.ts';
import type { PageOptions } from './options.ts';
import {
  addOwnerOptions,
  addPageOptions,
  durationArgument,
  type OwnerOptions,
  queryText,
} from './options.ts';
import {
  nothing,
  printAnswer,
  printJsonLine,
  printLine,
  printMore,
  printTable,
  sayLines,
  timeText,
} from './output.ts';
import { ownerText } from './owner-text.ts';
import { readAnswer } from './read-answer.ts';
import { reasonArgument } from './reason.ts';

// Missing in answers of earlier versions.
const dropSchema = drop.extend({ request: drop.shape.request.default('') });

type Drop = z.output<typeof dropSchema>;

const skippedSchema = z.object({ skipped: z.number() });

const head = ['TIME', 'WHOSE', 'REASON', 'FIELD', 'VALUE', 'SENDER', 'SDK', 'REQUEST', 'DETAIL'];

const cellsOf = (drop: Drop): string[] => [
  timeText(Math.floor(drop.at)),
  // A request without a valid credential has no id.
  ownerText(drop, isOfApplications(drop.pipeline) ? drop.pipeline : 'a push'),
  drop.reason,
  drop.field || nothing,
  drop.value || nothing,
  drop.sender || nothing,
  drop.sdk || nothing,
  drop.request || nothing,
  drop.detail || nothing,
];

type DropsOptions = PageOptions &
  OwnerOptions & { tail?: true; reason?: string; since?: number; payload?: true };

const printDrop = (drop: Drop, { payload }: DropsOptions): void => {
  printLine(cellsOf(drop).join('  '));
  if (payload && drop.payload !== '') printLine(`    ${drop.payload}`);
};

const list = async (options: DropsOptions): Promise<void> => {
  const { limit, cursor, dataId, appId, reason, since } = options;
  const query = queryText({
    limit,
    cursor,
    data_id: dataId,
    app_id: appId,
    reason,
    since: since === undefined ? undefined : Math.floor(Date.now() / 1_000) - since,
  });
  const client = adminClient();
  const answer = await client.ask(pageOf(dropSchema), 'GET', `/api/v1/drops${query}`);
  if (answer.value.items.length === 0) await requireOwner(client, options);
  printAnswer(answer, options, ({ items, next_cursor }) => {
    if (options.payload) for (const drop of items) printDrop(drop, options);
    else printTable(head, items.map(cellsOf));
    printMore(next_cursor);
  });
};

const againMs = 1_000;

const printLive = (line: string, options: DropsOptions): void => {
  const value = parseJson(line);
  const skipped = skippedSchema.safeParse(value);
  if (skipped.success) {
    sayLines(`… ${counted(skipped.data.skipped, 'sample')} skipped: they arrived faster than this reader`);
    return;
  }
  const sample = readAnswer(dropSchema, value);
  if (!sample.success) return;
  if (options.json) printJsonLine(value);
  else printDrop(sample.data, options);
};

/** Continues through restarts of metadata; only a refusal of the first call ends it. */
const follow = async (client: AdminClient, path: string, options: DropsOptions): Promise<void> => {
  let isFirst = true;
  for (;;) {
    try {
      await client.follow(
        path,
        () => {
          sayLines(isFirst ? 'waiting for drops; Ctrl-C ends' : 'connected again');
          isFirst = false;
        },
        (line) => printLive(line, options),
      );
      sayLines('the admin API closed the stream; reconnecting');
    } catch (error) {
      if (isFirst || (error instanceof Fault && error.kind === 'permanent')) throw error;
      sayLines(errorText(error));
    }
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
};

const tail = async (options: DropsOptions): Promise<void> => {
  const { dataId, appId, reason } = options;
  // `| head` has read enough.
  process.stdout.on('error', () => process.exit(0));
  const query = queryText({ data_id: dataId, app_id: appId, reason });
  const client = adminClient();
  await requireOwner(client, options);
  await follow(client, `/api/v1/drops/live${query}`, options);
};

const run = async (options: DropsOptions, command: Command): Promise<void> => {
  if (!options.tail) return list(options);
  if (options.since !== undefined || options.limit !== undefined || options.cursor !== undefined)
    command.error(
      'error: --tail shows new samples only and cannot be combined with --since, --limit or --cursor',
    );
  return tail(options);
};

/** `tidemark drops`. */
export const register = (program: Command): void => {
  const drops = program
    .command('drops')
    .description(
      'list samples of dropped, refused and dead-lettered items with reason and sender, newest first',
    )
    .option('--tail', 'print samples as they arrive, until Ctrl-C; with --json one per line')
    .option('--reason <code>', 'only this reason (see tidemark explain)', reasonArgument)
    .option(
      '--since <duration>',
      'only of the last 15m, 1h, 7d; default: the 30 days that are kept',
      durationArgument,
    )
    .option('--payload', 'print the item, too (its first 1 KiB, redacted)');
  addPageOptions(addOwnerOptions(drops)).action(run);
};
