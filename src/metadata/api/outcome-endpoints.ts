import { z } from 'zod';
import { type AccountOf, readAccounts } from '../../outcomes/accounts.ts';
import { type DropPlace, readDrops } from '../../outcomes/drops.ts';
import type { OutcomeReads } from '../../outcomes/reads.ts';
import { pageQuery } from '../listing.ts';
import { fieldFault, parseInput } from '../problem.ts';
import { pageOf } from './answers.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint, none } from './endpoint.ts';

const tag = 'Outcomes';
const idText = 'must be an id: digits only';
const timeText = 'must be Unix seconds';

const number = (digits: RegExp, why: string, max: number, description: string, example: number) =>
  z
    .string()
    .regex(digits, why)
    .transform(Number)
    .pipe(
      z
        .int()
        .min(0)
        .max(max)
        .meta({ description, examples: [example] }),
    )
    .optional();

const ownerQuery = {
  data_id: number(/^\d{1,15}$/, idText, 999_999_999_999_999, 'Only this data id', 1500001),
  app_id: number(/^\d{1,15}$/, idText, 999_999_999_999_999, 'Only this application', 1),
};

/** Up to what a DateTime holds. */
const secondsMax = 4_294_967_295;
const timeQuery = {
  since: number(/^\d{1,10}$/, timeText, secondsMax, 'From this time on, Unix seconds', 1_800_000_000),
  until: number(/^\d{1,10}$/, timeText, secondsMax, 'Up to this time, Unix seconds', 1_800_003_600),
};

const reason = z.string().min(1).max(64).optional().meta({ description: 'Only this reason' });

const count = z.int();
const balance = z
  .strictObject({
    pipeline: z.enum(['metrics', 'traces']),
    data_id: count.meta({ description: '0 for spans' }),
    app_id: count.meta({ description: '0 for points' }),
    minute: count.nullable().meta({ description: 'Unix seconds; null where the whole time is summed up' }),
    received: count.meta({ description: 'Items of requests that were answered 2xx and are settled' }),
    stored: count,
    dead_lettered: count,
    dropped: z.record(z.string(), count).meta({ description: 'By reason' }),
    adds_up: z.boolean().meta({ description: 'received = stored + dead_lettered + all dropped' }),
    refusals: z
      .array(
        z.strictObject({
          kind: z.enum(['refused', 'duplicate', 'value_lost']),
          reason: z.string(),
          requests: count,
          items: count,
        }),
      )
      .meta({ description: 'Beside the balance, best effort: what was turned away, repeated or left out' }),
  })
  .meta({ id: 'Balance' });

const stream = z
  .strictObject({
    stream: z.string(),
    messages: count,
    bytes: count,
    bytes_max: count,
    ack_pending: count.meta({ description: 'Of the messages those that a worker holds' }),
  })
  .meta({ id: 'StreamInFlight' });

const drop = z
  .strictObject({
    at: z.number().meta({ description: 'Unix seconds to the millisecond' }),
    pipeline: z.enum(['metrics', 'traces']),
    data_id: count.meta({ description: '0 for spans, and where nobody has shown a right to one' }),
    app_id: count.meta({ description: '0 for points, and where nobody has shown a right to one' }),
    stage: z.string(),
    reason: z.string(),
    ordinal: count.meta({ description: 'Place in the request; -1: the request as a whole' }),
    field: z.string(),
    value: z.string(),
    detail: z.string(),
    payload: z.string().meta({ description: 'The item as received, redacted, at most 1 KiB' }),
    sender: z.string(),
    sdk: z.string(),
  })
  .meta({ id: 'Drop' });

type Owners = { readonly data_id?: number | undefined; readonly app_id?: number | undefined };

const ownerOf = ({ data_id: dataId, app_id: appId }: Owners) => {
  if (dataId !== undefined && appId !== undefined)
    throw fieldFault('invalid_value', 'app_id', 'cannot be given beside data_id');
  return { dataId, appId };
};

const placeText = ({ atMs, boot, seq }: DropPlace): string =>
  Buffer.from(`${atMs}.${boot}.${seq}`).toString('base64url');

const placeOf = (cursor: string | undefined): DropPlace | undefined => {
  if (cursor === undefined) return undefined;
  const [, atMs, boot, seq] =
    /^(\d{1,14})\.(\d{1,8})\.(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (seq === undefined) throw fieldFault('invalid_value', 'cursor', 'is none that a list answered');
  return { atMs: Number(atMs), boot: Number(boot), seq: Number(seq) };
};

/** More than these are a question for ClickHouse. */
const accountsMax = 10_000;

const shownAccount = ({ pipeline, dataId, appId, minute, deadLettered, addsUp, ...rest }: AccountOf) => ({
  pipeline,
  data_id: dataId,
  app_id: appId,
  minute: minute ?? null,
  ...rest,
  dead_lettered: deadLettered,
  adds_up: addsUp,
});

const hourSeconds = 3_600;

const balances = ({ outcomes }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/outcomes',
    tag,
    summary: 'What became of the items that were acknowledged, of the last hour unless told otherwise',
    role: 'viewer',
    params: none,
    query: z.strictObject({
      ...ownerQuery,
      ...timeQuery,
      by: z.literal('minute', 'must be minute').optional().meta({ description: 'A row for each minute' }),
    }),
    body: none,
    answer: z.strictObject({
      since: count,
      until: count,
      items: z.array(balance),
      in_flight: z.array(stream).meta({ description: 'Of all data ids and applications together' }),
    }),
    run: async ({ query }) => {
      const until = query.until ?? Math.floor(outcomes.now() / 1000);
      const since = query.since ?? Math.max(0, until - hourSeconds);
      if (since > until) throw fieldFault('invalid_value', 'since', 'must not be after until');
      const { dataId, appId } = ownerOf(query);
      const filter = {
        ...(dataId === undefined ? {} : { dataId }),
        ...(appId === undefined ? {} : { appId }),
        // Minutes that have begun in between count whole.
        sinceMs: 1000 * (since - (since % 60)),
        untilMs: 1000 * (until + 1),
      };
      const [accounts, streams] = await Promise.all([
        readAccounts(outcomes.clickhouse, filter, query.by === 'minute'),
        outcomes.inFlight(),
      ]);
      const items = accounts.slice(0, accountsMax).map(shownAccount);
      const inFlight = streams.map(({ name, messages, bytes, bytesMax, ackPending }) => ({
        stream: name,
        messages,
        bytes,
        bytes_max: bytesMax,
        ack_pending: ackPending,
      }));
      return { body: { since, until, items, in_flight: inFlight } };
    },
  });

const drops = ({ outcomes }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/drops',
    tag,
    summary:
      'Examples of what was dropped or refused, newest first. /api/v1/drops/live has them as they come, without an end: ' +
      'newline-delimited JSON, narrowed by data_id, app_id and reason',
    role: 'viewer',
    params: none,
    query: z.strictObject({ ...pageQuery, ...ownerQuery, ...timeQuery, reason }),
    body: none,
    answer: pageOf(drop),
    run: async ({ query }) => {
      const { since, until, limit, cursor } = query;
      const filter = { ...ownerOf(query), reason: query.reason, since, until };
      const { items, next } = await readDrops(outcomes.clickhouse, filter, limit, placeOf(cursor));
      return { body: { items, next_cursor: next === undefined ? null : placeText(next) } };
    },
  });

/** The balance of each data id and application, and examples of what was dropped (architecture 10). */
export const outcomeEndpoints = (deps: ApiDeps): Endpoint[] => [balances(deps), drops(deps)];

/** Where examples are answered as they come. */
export const liveDropsPath = '/api/v1/drops/live';

const liveQuery = z.strictObject({ ...ownerQuery, reason });

/** The answer to a call of `liveDropsPath`. Throws a permanent Fault for a query that cannot be used, and those of `LiveDrops`. */
export const answerLiveDrops = async (
  { live }: OutcomeReads,
  query: Readonly<Record<string, string>>,
  isHead: boolean,
): Promise<Response> => {
  const asked = parseInput(liveQuery, query);
  const filter = { ...ownerOf(asked), reason: asked.reason };
  // Nobody would read it, nor end it.
  const stream = isHead ? null : await live.open(filter);
  return new Response(stream, {
    headers: {
      'Content-Type': 'application/x-ndjson',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    },
  });
};
