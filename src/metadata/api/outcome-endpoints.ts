import { z } from 'zod';
import { readOwnerAccounts } from '../../account/accounts.ts';
import { csvName } from '../../model/csv.ts';
import type { Fault } from '../../model/fault.ts';
import { readAccounts } from '../../outcomes/accounts.ts';
import { type Bucket, bucketSeconds, endOfPeriod, startOfBucket } from '../../outcomes/buckets.ts';
import { type DropPlace, readDrops } from '../../outcomes/drops.ts';
import type { OutcomeReads } from '../../outcomes/reads.ts';
import { accountsMax, balancesAnswer, drop } from '../answers/outcomes.ts';
import { fieldFault, parseInput } from '../problem.ts';
import { pageQuery, systemQuery } from '../records/listing.ts';
import { pageOf } from './contract.ts';
import type { ApiDeps } from './deps.ts';
import { endlessAnswer } from './endless.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import {
  exceptOf,
  formatQuery,
  ownerOf,
  ownerQuery,
  periodOf,
  refuseReversed,
  refuseUnknownOwner,
  timeQuery,
} from './queries.ts';
import { reasonFilter } from './reason-filter.ts';
import { removedRows } from './removed-rows.ts';
import { notKnown, notKnownSinceOf, notRead, shownAccount, shownSince } from './shown-account.ts';
import { keptAccounts, outcomesCsv, shownBuckets } from './shown-outcomes.ts';

const tag = 'Outcomes';

const placeText = ({ atMs, boot, seq }: DropPlace): string =>
  Buffer.from(`${atMs}.${boot}.${seq}`).toString('base64url');

const placeOf = (cursor: string | undefined): DropPlace | undefined => {
  if (cursor === undefined) return undefined;
  const [, atMs, boot, seq] =
    /^(\d{1,14})\.(\d{1,10})\.(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (seq === undefined) throw fieldFault('invalid_value', 'cursor', 'is not a next_cursor of this list');
  return { atMs: Number(atMs), boot: Number(boot), seq: Number(seq) };
};

const hourSeconds = 3_600;
/** A chart has room for no more. */
const bucketsMax = 600;

const outcomesQuery = z.strictObject({
  ...ownerQuery,
  ...timeQuery,
  by: z.enum(['minute', 'hour', 'day'], 'must be minute, hour or day').optional().meta({
    description: 'One row per minute, hour or day (UTC) of arrival. The first one counts whole',
  }),
  group: z
    .literal('reason', 'must be reason')
    .optional()
    .meta({
      description: `Fills \`buckets\` instead of \`items\`: outcomes by reason, of all owners that the query is for; at most ${bucketsMax} buckets`,
    }),
  ...systemQuery,
  format: formatQuery,
});

/** From `since` on and before `end`, Unix seconds. */
type Window = { readonly since: number; readonly end: number };

/** The smallest step that the window has room for, unless one is asked for. Permanent Fault `invalid_value`. */
const stepOf = ({ since, end }: Window, by: Bucket | undefined): Bucket => {
  const countOf = (step: Bucket): number =>
    Math.ceil(end / bucketSeconds[step]) - Math.floor(since / bucketSeconds[step]);
  const steps = by === undefined ? (['minute', 'hour', 'day'] as const) : [by];
  const step = steps.find((each) => countOf(each) <= bucketsMax);
  if (step !== undefined) return step;
  throw fieldFault(
    'invalid_value',
    by === undefined ? 'since' : 'by',
    `makes more than ${bucketsMax} buckets`,
  );
};

/** A table of CSV has no place that says that it is cut. */
const tooManyForCsv = (found: number): Fault =>
  fieldFault(
    'invalid_value',
    'since',
    `the period has ${found} accounts, the limit of CSV is ${accountsMax}; choose a shorter period, a longer step, or one owner with data_id or app_id`,
  );

const shownStreams = (streams: Awaited<ReturnType<ApiDeps['outcomes']['inFlight']>>) =>
  streams.map(({ name, messages, bytes, bytesMax, ackPending }) => ({
    stream: name,
    messages,
    bytes,
    bytes_max: bytesMax,
    ack_pending: ackPending,
  }));

const balances = ({ outcomes, ...deps }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/outcomes',
    tag,
    summary: 'Outcomes of acknowledged items; by default of the last hour',
    role: 'viewer',
    namesRecord: true,
    query: outcomesQuery,
    hasCsv: true,
    answer: balancesAnswer,
    run: async ({ query, records }) => {
      const now = Math.floor(outcomes.now() / 1000);
      const { since, until } = periodOf(query, now, hourSeconds);
      const { dataId, appId } = ownerOf(query);
      await refuseUnknownOwner(records, query);
      const notKnownSince = notKnownSinceOf(deps);
      const not_known_since = shownSince(notKnownSince);
      const owners = [dataId ?? appId ?? 0].filter((id) => id !== 0);
      const { unreadStreams } = deps.account;
      const not_known = [
        ...notKnown(notKnownSince, until, owners),
        ...notRead(unreadStreams, { dataId, appId }, until),
      ];
      const end = endOfPeriod(query.until, now);
      const by = query.group === undefined ? query.by : stepOf({ since, end }, query.by);
      const filter = {
        ...(dataId === undefined ? {} : { dataId }),
        ...(appId === undefined ? {} : { appId }),
        // A bucket that the window cuts counts whole.
        sinceMs: 1000 * startOfBucket(since, by ?? 'minute'),
        untilMs: 1000 * end,
        isUntilNow: query.until === undefined,
      };
      const except = exceptOf(records, query);
      const { clickhouse } = outcomes;
      const [accounts, sums, streams] = await Promise.all([
        query.group === undefined
          ? readOwnerAccounts(clickhouse, filter, by, not_known_since === null, unreadStreams.of)
          : [],
        query.group === undefined ? [] : readAccounts(clickhouse, { ...filter, except }, by, false),
        outcomes.inFlight(),
      ]);
      const shown = accounts.filter(
        ({ dataId: id, appId: app }) =>
          except?.dataIds.includes(id) !== true && except?.appIds.includes(app) !== true,
      );
      const kept = keptAccounts(shown, accountsMax);
      const items = kept.map((each) => shownAccount(each, notKnownSince, until));
      const truncated = shown.length > accountsMax;
      const keeping = { records, ttls: deps.pipelineRetention, nowMs: outcomes.now() };
      const removed = removedRows(keeping, kept, since);
      const buckets = shownBuckets(sums);
      return {
        body: {
          ...{ since, until, not_known_since, not_known, items, truncated, removed, buckets },
          in_flight: shownStreams(streams),
        },
        csv: {
          name: csvName('outcomes', since, until),
          text: () => {
            if (truncated) throw tooManyForCsv(shown.length);
            return outcomesCsv(items, buckets);
          },
        },
      };
    },
  });

const drops = ({ outcomes }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/drops',
    tag,
    summary:
      'Samples of dropped items and refused requests, newest first. /api/v1/drops/live streams them without an end: ' +
      'newline-delimited JSON, filtered by data_id, app_id and reason',
    role: 'viewer',
    query: z.strictObject({ ...pageQuery, ...ownerQuery, ...timeQuery, reason: reasonFilter }),
    answer: pageOf(drop),
    run: async ({ query }) => {
      const { since, until, limit, cursor } = query;
      refuseReversed({ since, until });
      const filter = { ...ownerOf(query), reason: query.reason, since, until };
      const { items, next } = await readDrops(outcomes.clickhouse, filter, limit, placeOf(cursor));
      return { body: { items, next_cursor: next === undefined ? null : placeText(next) } };
    },
  });

/** The balance of each data id and application, and samples of dropped items (architecture 10). */
export const outcomeEndpoints = (deps: ApiDeps): Endpoint[] => [balances(deps), drops(deps)];

/** The path that streams samples as they arrive. */
export const liveDropsPath = '/api/v1/drops/live';

const liveQuery = z.strictObject({ ...ownerQuery, reason: reasonFilter });

/** The answer to a call of `liveDropsPath`. Throws a permanent Fault for an unusable query, and those of `LiveDrops`. */
export const answerLiveDrops = async (
  { live }: OutcomeReads,
  query: Readonly<Record<string, string>>,
  isHead: boolean,
): Promise<Response> => {
  const asked = parseInput(liveQuery, query);
  const filter = { ...ownerOf(asked), reason: asked.reason };
  return endlessAnswer('application/x-ndjson', isHead, () => live.open(filter));
};
