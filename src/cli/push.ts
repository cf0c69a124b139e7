import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { Fault } from '../model/fault.ts';
import { parseJson } from '../model/json.ts';
import { dayMs } from '../model/time.ts';
import { daysText } from './amounts.ts';
import { type AdminClient, createAdminClient } from './client.ts';
import { requireReport, tokenOf } from './lookups.ts';
import { addJsonOption, idArgument, type JsonOption, timeoutOption } from './options.ts';
import { integerArgument } from './output.ts';
import { loadCommandSettings } from './running-stack.ts';
import {
  accountStage,
  hasStored,
  openAccount,
  receiverUrls,
  type SentAccount,
  send,
  waitForRow,
} from './sending.ts';
import { followStages, type Stage } from './stations.ts';
import { usableToken, writeToken } from './usable-token.ts';

type Named<V> = { readonly name: string; readonly value: V };

/** A point has one value of each name. */
const splitArgument = (text: string, like: string, before: readonly Named<unknown>[]): Named<string> => {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError(`It must look like ${like}.`);
  const name = text.slice(0, at);
  if (before.some((each) => each.name === name))
    throw new InvalidArgumentError(`${name} is given twice: leave one of them out.`);
  return { name, value: text.slice(at + 1) };
};

const metricArgument = (text: string, before: readonly Named<number>[] = []): Named<number>[] => {
  const { name, value } = splitArgument(text, 'cpu_load=10.5', before);
  const number = value.trim() === '' ? Number.NaN : Number(value);
  if (!Number.isFinite(number)) throw new InvalidArgumentError('The value must be a number.');
  return [...before, { name, value: number }];
};

const dimensionArgument = (text: string, before: readonly Named<string>[] = []): Named<string>[] => [
  ...before,
  splitArgument(text, 'module=db', before),
];

type PushOptions = JsonOption & {
  target: string;
  dimension?: Named<string>[];
  timestamp?: number;
  url?: string;
  token?: string;
  timeout: number;
};

const replySchema = z.object({
  message: z.string().default(''),
  reason: z.string().optional(),
  dropped: z.record(z.string(), z.number()).default({}),
  values_dropped: z.record(z.string(), z.number()).default({}),
  examples: z.array(z.object({ field: z.string(), detail: z.string() })).default([]),
});

/** What the receiver said. Throws where the point is not stored whole. */
const accepted = async (answer: Response): Promise<string> => {
  const text = await answer.text();
  const { message, dropped, values_dropped, examples } = replySchema.parse(parseJson(text) ?? {});
  const isWhole = Object.keys(dropped).length + Object.keys(values_dropped).length === 0;
  if (answer.status === 200 && isWhole) {
    const id = answer.headers.get('x-request-id');
    return `200${message === '' ? '' : `, ${message}`}${id === null ? '' : `; request ${id}`}`;
  }
  const details = examples.map(({ field, detail }) => `; ${field}: ${detail}`).join('');
  throw new Fault('permanent', 'refused', `${answer.status} ${message || text.slice(0, 300)}${details}`);
};

const rowsSchema = z.object({ raw: z.object({ rows: z.array(z.unknown()) }) });

/** Faults that pass: the table or a column has no row yet. */
const notYet: ReadonlySet<string> = new Set(['not_stored_yet', 'unknown_name']);

type SentPoint = { readonly metric: string; readonly target: string; readonly timestamp: number };

/** Whether a row of exactly this time and target is stored with this metric, the first one of the point. */
export const isStored = async (client: AdminClient, dataId: number, point: SentPoint): Promise<boolean> => {
  const since = Math.floor(point.timestamp / 1000);
  const body = {
    data_id: dataId,
    // A query takes four metrics at most; a point that is accepted whole has all of its own stored or none.
    metrics: [point.metric],
    raw: true,
    filter: [{ dimension: 'target', operator: '=', values: [point.target] }],
    // The second of the point, and its rows of exactly this time: a busy target may have thousands in a second.
    ...{ since, until: since + 1, at: point.timestamp },
  };
  try {
    const { raw } = (await client.ask(rowsSchema, 'POST', '/api/v1/query/points', { body })).value;
    return raw.rows.length > 0;
  } catch (error) {
    if (error instanceof Fault && notYet.has(error.code)) return false;
    throw error;
  }
};

const policySchema = z.object({
  policy: z.object({ retention_days: z.union([z.number(), z.literal('off')]) }),
});

/** That QuestDB removes the row of a point by the retention of its data id, although the receiver takes it; undefined where it is kept. */
export const expiryOf = async (
  client: AdminClient,
  dataId: number,
  timestamp: number,
): Promise<string | undefined> => {
  const { policy } = (await client.ask(policySchema, 'GET', `/api/v1/data-sources/${dataId}/policy`)).value;
  const { retention_days: days } = policy;
  const day = Math.floor(timestamp / dayMs);
  // A day expires once all of it is older than the retention.
  if (days === 'off' || (day + 1 + days) * dayMs > Date.now()) return undefined;
  const date = new Date(day * dayMs).toISOString().slice(0, 10);
  return `rows of ${date} are removed by the retention of ${daysText(days)}: see tidemark retention show ${dataId}`;
};

type Waiting = {
  readonly account: SentAccount;
  readonly timeoutMs: number;
  /** `expiryOf` the point. */
  readonly expiry: string | undefined;
};

/**
 * Waits for the row of a point that the receiver took. Throws `not_in_time` with what is known of the point, and the permanent Fault
 * `removed_by_retention` once the account has it as stored although its day is over.
 */
export const waitForPoint = async (
  client: AdminClient,
  dataId: number,
  point: SentPoint,
  { account, timeoutMs, expiry }: Waiting,
): Promise<void> => {
  const isThere = async (): Promise<boolean> => {
    // Before the rows: one that is counted as stored was there, if anywhere.
    const isCounted = expiry !== undefined && (await hasStored(account));
    if (await isStored(client, dataId, point)) return true;
    if (isCounted) throw new Fault('permanent', 'removed_by_retention', `stored, and not kept: ${expiry}`);
    return false;
  };
  await waitForRow(account, timeoutMs, isThere, expiry);
};

const push = async (dataId: number, metrics: Named<number>[], options: PushOptions): Promise<void> => {
  const given = options.token === undefined ? undefined : usableToken(options.token, writeToken);
  const settings = loadCommandSettings();
  const client = createAdminClient(settings);
  const { target, dimension = [], timestamp = Date.now() } = options;
  const timeoutMs = options.timeout * 1000;
  const { table_id: table } = await requireReport(client, dataId);
  const token = given ?? (await tokenOf(client, { kind: 'data_id', id: dataId }));
  const account = await openAccount(client, { data_id: dataId });
  const expiry = await expiryOf(client, dataId, timestamp);
  const { pushUrl } = receiverUrls(settings, options.url === undefined ? {} : { pushUrl: options.url });
  const point = {
    metrics: Object.fromEntries(metrics.map(({ name, value }) => [name, value])),
    target,
    dimension: Object.fromEntries(dimension.map(({ name, value }) => [name, value])),
    timestamp,
  };
  const body = { data_id: dataId, access_token: token, data: [point] };
  const metric = metrics[0]?.name ?? '';
  const stages: Stage[] = [
    ['receiver', async () => accepted(await send(`${pushUrl}/v2/push/`, '--url', {}, body))],
    [
      'QuestDB',
      async () => {
        await waitForPoint(client, dataId, { metric, target, timestamp }, { account, timeoutMs, expiry });
        return `a row in "${table}", timestamp ${new Date(timestamp).toISOString()}`;
      },
    ],
    accountStage(account, timeoutMs),
  ];
  await followStages(stages, options);
};

/** `tidemark push`. */
export const register = (program: Command): void => {
  const command = program
    .command('push')
    .description(
      'send one point and follow it to its row, with the time of each station; exit code 1 if it is not stored',
    )
    .argument('<mon_data_id>', 'data id', idArgument)
    .argument('<metric=value...>', 'such as cpu_load=10.5; each new name becomes a column', metricArgument)
    .option('--target <target>', 'target of the point', 'tidemark push')
    .option('--dimension <name=value>', 'such as module=db; may be repeated', dimensionArgument)
    .option('--timestamp <ms>', 'Unix milliseconds, default now', integerArgument)
    .option('--url <url>', 'the push receiver, default the local one')
    .option('--token <token>', 'default: that of the data id, which the audit log records')
    .addOption(timeoutOption('for each station'));
  addJsonOption(command).action(push);
};
