import type { Command } from 'commander';
import { z } from 'zod';
import { loadSettings } from '../config/settings.ts';
import { applicationSchema } from '../metadata/records.ts';
import type { Application } from '../model/records.ts';
import { createAdminClient } from './client.ts';
import { addListOptions, type JsonOption, type ListOptions, listQuery } from './options.ts';
import { booleanArgument, integerArgument, printFields, printJson, printTable } from './output.ts';

const answerSchema = z.object({ application: applicationSchema });
const pageSchema = z.object({ items: z.array(applicationSchema), next_cursor: z.string().nullable() });

const printApplication = (application: Application, { json }: JsonOption): void => {
  if (json) return printJson({ application });
  printFields([
    ['application', `${application.app_name} (business ${application.mon_biz_id})`],
    ['app id', String(application.app_id)],
    ['X-MON-TOKEN', application.token],
    ['max rate', String(application.max_rate)],
    ['state', application.is_enable ? 'enabled' : 'disabled'],
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
  const client = createAdminClient(loadSettings());
  const request = {
    mon_biz_id: options.biz,
    app_name: options.name,
    max_rate: options.maxRate,
    deduplicate: options.deduplicate,
    fill_dimensions: options.fillDimensions,
  };
  const { application } = await client.ask(answerSchema, 'POST', '/api/v1/applications', request);
  printApplication(application, options);
};

const list = async (options: ListOptions): Promise<void> => {
  const client = createAdminClient(loadSettings());
  const page = await client.ask(pageSchema, 'GET', `/api/v1/applications${listQuery(options)}`);
  if (options.json) return printJson(page);
  printTable(
    ['APP ID', 'BUSINESS', 'NAME', 'STATE'],
    page.items.map((application) => [
      String(application.app_id),
      String(application.mon_biz_id),
      application.app_name,
      application.is_enable ? 'enabled' : 'disabled',
    ]),
  );
  if (page.next_cursor !== null) process.stderr.write(`more: --cursor ${page.next_cursor}\n`);
};

const show = async (appId: number, options: JsonOption): Promise<void> => {
  const client = createAdminClient(loadSettings());
  printApplication(await client.ask(applicationSchema, 'GET', `/api/v1/applications/${appId}`), options);
};

const switchTo =
  (verb: 'enable' | 'disable') =>
  async (appId: number, options: JsonOption): Promise<void> => {
    const client = createAdminClient(loadSettings());
    const path = `/api/v1/applications/${appId}/${verb}`;
    printApplication((await client.ask(answerSchema, 'POST', path, {})).application, options);
  };

/** `tidemark app create | list | show | enable | disable`. */
export const registerApp = (program: Command): void => {
  const app = program.command('app').description('applications: write tokens of traces');
  app
    .command('create')
    .description('create an application with its write token')
    .requiredOption('--biz <id>', 'business', integerArgument)
    .requiredOption('--name <name>', 'name, unique within the business')
    .option('--max-rate <n>', 'requests per second, default 0, unlimited', integerArgument)
    .option('--deduplicate <bool>', 'store a byte-identical request once, default true', booleanArgument)
    .option(
      '--fill-dimensions <bool>',
      "fill an empty net.host.ip with the client's address, default true",
      booleanArgument,
    )
    .option('--json', 'print {application} as JSON')
    .action(create);
  addListOptions(app.command('list').description('list applications')).action(list);
  const one = (verb: string, text: string): Command =>
    app
      .command(verb)
      .description(text)
      .argument('<app_id>', 'application', integerArgument)
      .option('--json', 'print {application} as JSON');
  one('show', 'show an application').action(show);
  one('enable', 'take traces of an application again').action(switchTo('enable'));
  one('disable', 'refuse traces of an application').action(switchTo('disable'));
};
