import type { Command } from 'commander';
import { z } from 'zod';
import { adminClient, pageOf } from './client.ts';
import {
  addJsonOption,
  addPageOptions,
  idArgument,
  type JsonOption,
  type PageOptions,
  queryText,
} from './options.ts';
import {
  integerArgument,
  nothing,
  printAnswer,
  printFields,
  printLines,
  printMore,
  printTable,
  timeText,
} from './output.ts';

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

type Subscription = z.output<typeof subscriptionSchema>;

const path = '/api/v1/subscriptions';

const idText = ({ subscription_id: id }: Subscription): string => (id === null ? nothing : String(id));

type SubscriptionListOptions = PageOptions & { biz?: number };

const list = async (options: SubscriptionListOptions): Promise<void> => {
  const { biz, limit, cursor } = options;
  const answer = await adminClient().ask(
    pageOf(subscriptionSchema),
    'GET',
    `${path}${queryText({ mon_biz_id: biz, limit, cursor })}`,
  );
  printAnswer(answer, options, ({ items, next_cursor }) => {
    printTable(
      ['DATA ID', 'SUBSCRIPTION', 'BUSINESS', 'ADAPTER', 'STATE', 'UPDATED', 'MD5'],
      items.map((item) => [
        String(item.mon_data_id),
        idText(item),
        String(item.mon_biz_id),
        item.adapter,
        item.state,
        timeText(item.updated),
        item.md5,
      ]),
    );
    printMore(next_cursor);
  });
};

const show = async (id: number, options: JsonOption): Promise<void> => {
  printAnswer(await adminClient().ask(subscriptionSchema, 'GET', `${path}/${id}`), options, (item) => {
    printFields([
      ['data id', String(item.mon_data_id)],
      ['subscription', idText(item)],
      [
        'report id',
        item.custom_report_id === null ? 'none: made step by step' : String(item.custom_report_id),
      ],
      ['business', String(item.mon_biz_id)],
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
export const registerSubscription = (program: Command): void => {
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
