import type { Command } from 'commander';
import { z } from 'zod';
import { adminClient } from './client.ts';
import { printList } from './list.ts';
import { addJsonOption, addPageOptions, idArgument, type JsonOption, type PageOptions } from './options.ts';
import { integerArgument, printAnswer, printFields, printLines, timeText } from './output.ts';

const subscriptionSchema = z.object({
  subscription_id: z.number().nullable(),
  mon_data_id: z.number(),
  custom_report_id: z.number().nullable(),
  mon_biz_id: z.number(),
  adapter: z.string(),
  md5: z.string(),
  document: z.string(),
  state: z.string(),
  created: z.number(),
  updated: z.number(),
  previous: z.object({ md5: z.string(), expires_at: z.number() }).optional(),
});

const path = '/api/v1/subscriptions';

const list = (options: PageOptions & { biz?: number }): Promise<void> =>
  printList(options, {
    path,
    query: { mon_biz_id: options.biz },
    item: subscriptionSchema,
    head: ['DATA ID', 'SUBSCRIPTION', 'BUSINESS', 'ADAPTER', 'STATE', 'UPDATED', 'MD5'],
    row: (item) => [
      ...[item.mon_data_id, item.subscription_id, item.mon_biz_id, item.adapter, item.state],
      ...[timeText(item.updated), item.md5],
    ],
  });

const show = async (id: number, options: JsonOption): Promise<void> => {
  printAnswer(await adminClient().ask(subscriptionSchema, 'GET', `${path}/${id}`), options, (item) => {
    printFields([
      ['data id', item.mon_data_id],
      ['subscription', item.subscription_id],
      ['report id', item.custom_report_id ?? 'none: made step by step'],
      ['business', item.mon_biz_id],
      ['adapter', item.adapter],
      ['state', item.state],
      ['created', timeText(item.created)],
      ['updated', timeText(item.updated)],
      ['md5', item.md5],
      ...(item.previous === undefined
        ? []
        : [['previous token', `has a file of its own until ${timeText(item.previous.expires_at)}`] as const]),
    ]);
    printLines(`\n${item.document.trimEnd()}`);
  });
};

/** `tidemark subscription list | show`. */
export const register = (program: Command): void => {
  const subscription = program
    .command('subscription')
    .description('subscriptions of collectors, as the last refresh wrote them');
  addPageOptions(
    subscription
      .command('list')
      .description('list subscriptions')
      .option('--biz <id>', 'only this business', integerArgument),
  ).action(list);
  addJsonOption(
    subscription
      .command('show')
      .description('show a subscription with its document')
      .argument('<mon_data_id>', 'data id of the report', idArgument),
  ).action(show);
};
