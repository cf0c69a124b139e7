import type { Command } from 'commander';
import { z } from 'zod';
import { loadSettings } from '../config/settings.ts';
import { createAdminClient } from './client.ts';
import type { JsonOption } from './options.ts';
import { booleanArgument, integerArgument, printFields, printJson } from './output.ts';

const answerSchema = z.object({
  policy: z.object({ app_id: z.number(), deduplicate: z.boolean(), fill_dimensions: z.boolean() }),
});

type Answer = z.output<typeof answerSchema>;

const print = ({ policy }: Answer, { json }: JsonOption): void => {
  if (json) return printJson({ policy });
  printFields([
    ['app id', String(policy.app_id)],
    ['deduplicate', String(policy.deduplicate)],
    ['fill dimensions', String(policy.fill_dimensions)],
  ]);
};

const show = async (appId: number, options: JsonOption): Promise<void> => {
  const client = createAdminClient(loadSettings());
  print(await client.ask(answerSchema, 'GET', `/api/v1/applications/${appId}/policy`), options);
};

type SetOptions = JsonOption & { deduplicate?: boolean; fillDimensions?: boolean };

const set = async (appId: number, options: SetOptions): Promise<void> => {
  const client = createAdminClient(loadSettings());
  const change = { deduplicate: options.deduplicate, fill_dimensions: options.fillDimensions };
  print(await client.ask(answerSchema, 'PATCH', `/api/v1/applications/${appId}/policy`, change), options);
};

/** `tidemark policy show | set`. */
export const registerPolicy = (program: Command): void => {
  const policy = program.command('policy').description('how the requests of an application are treated');
  policy
    .command('show')
    .description('show the policy of an application')
    .argument('<app_id>', 'application', integerArgument)
    .option('--json', 'print {policy} as JSON')
    .action(show);
  policy
    .command('set')
    .description('change the policy of an application; receivers follow within a second')
    .argument('<app_id>', 'application', integerArgument)
    .option('--deduplicate <bool>', 'store a byte-identical request once', booleanArgument)
    .option(
      '--fill-dimensions <bool>',
      "fill an empty net.host.ip with the client's address",
      booleanArgument,
    )
    .option('--json', 'print {policy} as JSON')
    .action(set);
};
