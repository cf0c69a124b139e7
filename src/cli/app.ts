import type { Command } from 'commander';
import { z } from 'zod';
import * as contract from '../metadata/api/contract.ts';
import { adminClient } from './client.ts';
import { addYesOption, confirm, type YesOption } from './confirm.ts';
import { printList } from './list.ts';
import {
  addJsonOption,
  addListOptions,
  idArgument,
  type JsonOption,
  type ListOptions,
  listQuery,
} from './options.ts';
import { booleanArgument, integerArgument, printAnswer, printFields } from './output.ts';
import { shownToken } from './token.ts';

const application = contract.application.extend({ token: z.string() });
const answerSchema = z.object({ application });

type Application = z.output<typeof application>;

const path = '/api/v1/applications';

const stateOf = ({ is_enable, is_delete }: Application): string => {
  if (is_delete) return 'deleted';
  return is_enable ? 'enabled' : 'disabled';
};

const print = (shown: Application): void => {
  printFields([
    ['application', `${shown.app_name} (business ${shown.mon_biz_id})`],
    ['app id', shown.app_id],
    ['X-MON-TOKEN', shownToken(shown.token, shown.app_id)],
    ['max rate', shown.max_rate],
    ['state', stateOf(shown)],
  ]);
};

type CreateOptions = JsonOption & {
  biz: number;
  name: string;
  maxRate?: number;
  deduplicate?: boolean;
  fillDimensions?: boolean;
};

const create = async (options: CreateOptions): Promise<void> => {
  const body = {
    mon_biz_id: options.biz,
    app_name: options.name,
    max_rate: options.maxRate,
    deduplicate: options.deduplicate,
    fill_dimensions: options.fillDimensions,
  };
  const answer = await adminClient().ask(answerSchema, 'POST', path, { body });
  printAnswer(answer, options, ({ application: created }) => print(created));
};

const list = (options: ListOptions): Promise<void> =>
  printList(options, {
    path,
    query: listQuery(options),
    item: application,
    head: ['APP ID', 'BUSINESS', 'NAME', 'STATE'],
    row: (item) => [item.app_id, item.mon_biz_id, item.app_name, stateOf(item)],
  });

const show = async (appId: number, options: JsonOption): Promise<void> => {
  printAnswer(await adminClient().ask(application, 'GET', `${path}/${appId}`), options, print);
};

const change =
  (method: 'POST' | 'DELETE', verb: string) =>
  async (appId: number, options: JsonOption): Promise<void> => {
    const answer = await adminClient().ask(answerSchema, method, `${path}/${appId}${verb}`, { body: {} });
    printAnswer(answer, options, ({ application: changed }) => print(changed));
  };

const remove = async (appId: number, options: JsonOption & YesOption): Promise<void> => {
  const { value } = await adminClient().ask(application, 'GET', `${path}/${appId}`);
  const named = `application ${value.app_name} (app id ${appId})`;
  await confirm(`${named} is deleted and its name becomes free`, options);
  await change('DELETE', '')(appId, options);
};

/** `tidemark app create | list | show | enable | disable | delete`. */
export const register = (program: Command): void => {
  const app = program
    .command('app')
    .description('applications: the owners of OTLP traces, logs and metrics, and their write tokens');
  addJsonOption(
    app
      .command('create')
      .description('create an application with its write token')
      .requiredOption('--biz <id>', 'business', integerArgument)
      .requiredOption('--name <name>', 'name, unique within the business')
      .option('--max-rate <n>', 'requests per second, default 0 (unlimited)', integerArgument)
      .option(
        '--deduplicate <bool>',
        'store a byte-identical request only once, default true',
        booleanArgument,
      )
      .option(
        '--fill-dimensions <bool>',
        "fill an empty net.host.ip with the client's address, default true",
        booleanArgument,
      ),
  ).action(create);
  addListOptions(app.command('list').description('list applications')).action(list);
  const one = (verb: string, text: string): Command =>
    addJsonOption(app.command(verb).description(text).argument('<app_id>', 'application', idArgument));
  one('show', 'show an application with its token masked (see tidemark token show)').action(show);
  one('enable', 'accept traces, logs and metrics of an application again').action(change('POST', '/enable'));
  one('disable', 'refuse traces, logs and metrics of an application').action(change('POST', '/disable'));
  addYesOption(one('delete', 'delete an application and free its name; cannot be undone')).action(remove);
};
