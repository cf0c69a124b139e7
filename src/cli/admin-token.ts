import { type Command, Option } from 'commander';
import { z } from 'zod';
import { adminRoles } from '../metadata/api/contract.ts';
import { nowSeconds } from '../model/time.ts';
import { adminClient } from './client.ts';
import { addYesOption, confirm, type YesOption } from './confirm.ts';
import { printList } from './list.ts';
import {
  addJsonOption,
  addPageOptions,
  durationArgument,
  idArgument,
  type JsonOption,
  type PageOptions,
} from './options.ts';
import { type Cell, integerArgument, printAnswer, printFields, printJson, timeText } from './output.ts';
import { loadCommandSettings } from './running-stack.ts';

const tokenSchema = z.object({
  token_id: z.number(),
  name: z.string(),
  role: z.string(),
  mon_biz_id: z.number().nullable(),
  create_time: z.number(),
  expires_at: z.number().nullable(),
  is_revoked: z.boolean(),
});
const createdSchema = z.object({ admin_token: tokenSchema, token: z.string() });

type AdminToken = z.output<typeof tokenSchema>;

const path = '/api/v1/admin-tokens';

const stateOf = ({ is_revoked, expires_at }: AdminToken): string => {
  if (is_revoked) return 'revoked';
  return expires_at !== null && expires_at <= nowSeconds() ? 'expired' : 'valid';
};

/** A node's token without a business reads the files of all; no other role is bound to one. */
const businessOf = ({ role, mon_biz_id: biz }: AdminToken): Cell => (role === 'node' ? (biz ?? 'all') : biz);

const fieldsOf = (token: AdminToken): (readonly [string, Cell])[] => [
  ['token id', token.token_id],
  ['name', token.name],
  ['role', token.role],
  ['business', businessOf(token)],
  ['expires', token.expires_at === null ? 'never' : timeText(token.expires_at)],
  ['state', stateOf(token)],
];

type CreateOptions = JsonOption & { name: string; role: string; biz?: number; expires?: number };

const create = async (options: CreateOptions): Promise<void> => {
  const body = {
    name: options.name,
    role: options.role,
    mon_biz_id: options.biz,
    expires_at: options.expires === undefined ? undefined : nowSeconds() + options.expires,
  };
  printAnswer(await adminClient().ask(createdSchema, 'POST', path, { body }), options, (created) =>
    printFields([...fieldsOf(created.admin_token), ['token', `${created.token} (shown only once)`]]),
  );
};

const list = (options: PageOptions): Promise<void> =>
  printList(options, {
    path,
    item: tokenSchema,
    head: ['TOKEN ID', 'NAME', 'ROLE', 'BUSINESS', 'CREATED', 'EXPIRES', 'STATE'],
    row: (token) => [
      ...[token.token_id, token.name, token.role, businessOf(token)],
      ...[timeText(token.create_time), timeText(token.expires_at), stateOf(token)],
    ],
  });

const revoke = async (tokenId: number, options: JsonOption & YesOption): Promise<void> => {
  await confirm(`admin token ${tokenId} is revoked`, options);
  const answer = await adminClient().ask(tokenSchema, 'POST', `${path}/${tokenId}/revoke`, { body: {} });
  printAnswer(answer, options, (token) => printFields(fieldsOf(token)));
};

type ResetOptions = JsonOption & YesOption & { revokeOthers?: boolean };

const runReset = async ({ json, revokeOthers = false, yes }: ResetOptions): Promise<void> => {
  if (revokeOthers)
    await confirm(
      'every other token of the role admin is revoked; those of other roles stay valid',
      yes === true ? { yes } : {},
    );
  // Loaded here: no other command but the roles needs the client.
  const { resetAdminTokenOf } = await import('../metadata/reset-admin-token.ts');
  const { record, revoked, file } = await resetAdminTokenOf(loadCommandSettings(), revokeOthers);
  if (json) return printJson({ admin_token: record, revoked, file });
  printFields([
    ['token id', record.token_id],
    ['written to', file],
    ['revoked', revoked.length === 0 ? 'none' : revoked.map(({ token_id }) => token_id).join(', ')],
  ]);
};

/** `tidemark admin-token create | list | revoke | reset`. */
export const register = (program: Command): void => {
  const group = program.command('admin-token').description('tokens of the admin API, each with a role');
  addJsonOption(
    group
      .command('create')
      .description('issue a token of the admin API, shown only once')
      .requiredOption('--name <name>', 'name of its user in the audit log')
      .addOption(
        new Option('--role <role>', 'permissions: viewer reads, editor changes, node polls subscriptions')
          .choices(adminRoles)
          .makeOptionMandatory(),
      )
      .option(
        '--biz <id>',
        'only for role node: the business whose subscriptions it may read; default all',
        integerArgument,
      )
      .option('--expires <duration>', 'after 30s, 15m, 1h, 7d…; default never', durationArgument),
  ).action(create);
  addPageOptions(
    group.command('list').description('list the tokens of the admin API, without their values'),
  ).action(list);
  addYesOption(
    addJsonOption(
      group
        .command('revoke')
        .description('revoke a token of the admin API; cannot be undone')
        .argument('<id>', 'token id', idArgument),
    ),
  ).action(revoke);
  const reset = group
    .command('reset')
    .description('write a new admin token when all are lost; needs NATS and the data folder, no token');
  addYesOption(reset)
    .option(
      '--revoke-others',
      'revoke every other token of the role admin in the same step; those of other roles stay valid',
    )
    .option('--json', 'print {admin_token, revoked, file} as JSON')
    .action(runReset);
};
