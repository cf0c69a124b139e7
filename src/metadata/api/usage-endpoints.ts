import { z } from 'zod';
import { csvName, csvOf } from '../../model/csv.ts';
import { type Pipeline, pipelines } from '../../model/signals.ts';
import { daySeconds } from '../../model/time.ts';
import { endOfUsage, startOfBucket } from '../../outcomes/buckets.ts';
import { type FailingSender, readFailingSenders } from '../../outcomes/failing-senders.ts';
import {
  addUsage,
  type FoundUsage,
  noUsage,
  readUsage,
  type Usage,
  type UsageGroup,
} from '../../outcomes/usage.ts';
import {
  failingAnswer,
  failingSender,
  silentAnswer,
  silentOwner,
  usageAnswer,
  usageRow,
} from '../answers/usage.ts';
import { systemQuery } from '../records/listing.ts';
import type { Records } from '../records/store.ts';
import { bizOfOwner, ownersOfBiz, silentProducers } from '../usage.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import {
  bizQuery,
  exceptOf,
  formatQuery,
  number,
  ownerOrBizOf,
  ownerQuery,
  periodOf,
  refuseUnknownOwner,
  timeQuery,
} from './queries.ts';

const tag = 'Outcomes';

type UsageRow = z.output<typeof usageRow>;

type Group = Pick<UsageRow, 'mon_biz_id' | 'pipeline' | 'data_id' | 'app_id' | 'day'>;

const shownUsage = (group: Group, usage: Usage): UsageRow => ({
  ...group,
  requests: usage.requests,
  items: usage.items,
  wire_bytes: usage.wireBytes,
  inflated_bytes: usage.inflatedBytes,
  requests_per_second_max: usage.secondMax,
  refused_requests: usage.refusedRequests,
  repeated_requests: usage.repeatedRequests,
  last_seen: usage.lastAt ?? null,
  last_sender: usage.sender,
  last_sdk: usage.sdk,
  last_sent: usage.lastSentAt ?? null,
});

const byOwner = (records: Records, found: readonly FoundUsage[]): UsageRow[] =>
  found
    .map((usage) =>
      shownUsage(
        {
          mon_biz_id: bizOfOwner(records, usage),
          pipeline: usage.dataId === 0 ? (usage.pipeline ?? null) : 'metrics',
          data_id: usage.dataId,
          app_id: usage.appId,
          day: null,
        },
        usage,
      ),
    )
    .toSorted(
      (a, b) =>
        b.items - a.items ||
        a.data_id - b.data_id ||
        a.app_id - b.app_id ||
        b.requests - a.requests ||
        (a.pipeline ?? '').localeCompare(b.pipeline ?? ''),
    );

const ofGroup = { pipeline: null, data_id: 0, app_id: 0 } as const;

const byBusiness = (records: Records, found: readonly FoundUsage[]): UsageRow[] => {
  const sums = new Map<number | null, Usage>();
  for (const usage of found) {
    const biz = bizOfOwner(records, usage);
    sums.set(biz, addUsage(sums.get(biz) ?? noUsage, usage));
  }
  return [...sums]
    .map(([biz, usage]) => shownUsage({ ...ofGroup, mon_biz_id: biz, day: null }, usage))
    .toSorted((a, b) => b.items - a.items || (a.mon_biz_id ?? 0) - (b.mon_biz_id ?? 0));
};

const bySignal = (found: readonly FoundUsage[]): UsageRow[] => {
  const sums = new Map<Pipeline | undefined, Usage>();
  for (const usage of found) sums.set(usage.pipeline, addUsage(sums.get(usage.pipeline) ?? noUsage, usage));
  return [...pipelines, undefined].flatMap((pipeline) => {
    const sum = sums.get(pipeline);
    if (sum === undefined) return [];
    return shownUsage({ ...ofGroup, mon_biz_id: null, pipeline: pipeline ?? null, day: null }, sum);
  });
};

const byDay = (found: readonly FoundUsage[]): UsageRow[] =>
  found
    .map((usage) => shownUsage({ ...ofGroup, mon_biz_id: null, day: usage.day }, usage))
    .toSorted((a, b) => (a.day ?? '').localeCompare(b.day ?? ''));

const columns = usageRow.keyof().options;

const usageQuery = z.strictObject({
  ...ownerQuery,
  ...timeQuery,
  by: z
    .enum(
      ['owner', 'business', 'day', 'signal', 'owner_signal'],
      'must be owner, business, day, signal or owner_signal',
    )
    .default('owner')
    .meta({
      description:
        'One row per data id or application, per business, per day of UTC (the first one counts whole), per signal, or per signal of ' +
        'each owner',
    }),
  mon_biz_id: bizQuery,
  format: formatQuery,
  ...systemQuery,
});

const ownersAsked = (records: Records, query: z.output<typeof usageQuery>) => {
  const { dataId, appId, biz } = ownerOrBizOf(query);
  if (biz !== undefined) return ownersOfBiz(records, biz);
  if (dataId !== undefined) return { dataIds: [dataId], appIds: [] };
  return appId === undefined ? undefined : { dataIds: [], appIds: [appId] };
};

/** What is read for each `by`, and its rows. */
const groups: Readonly<
  Record<
    z.output<typeof usageQuery>['by'],
    { readonly readBy: UsageGroup; rows(records: Records, found: readonly FoundUsage[]): UsageRow[] }
  >
> = {
  owner: { readBy: 'owner', rows: byOwner },
  business: { readBy: 'owner', rows: byBusiness },
  day: { readBy: 'day', rows: (_, found) => byDay(found) },
  signal: { readBy: 'pipeline', rows: (_, found) => bySignal(found) },
  owner_signal: { readBy: 'pipeline', rows: byOwner },
};

const usage = ({ outcomes }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/usage',
    tag,
    summary: 'Usage of the receivers in a period; by default of the last day',
    role: 'viewer',
    namesRecord: true,
    query: usageQuery,
    hasCsv: true,
    answer: usageAnswer,
    run: async ({ query, records }) => {
      const now = Math.floor(outcomes.now() / 1000);
      const { since, until } = periodOf(query, now, daySeconds);
      await refuseUnknownOwner(records, query);
      const owners = ownersAsked(records, query);
      // A minute or day that the start of the period cuts counts whole; a minute that its end cuts is of the next period.
      const filter = {
        since: startOfBucket(since, query.by === 'day' ? 'day' : 'minute'),
        until: endOfUsage(query.until, now),
        owners,
        except: exceptOf(records, query),
      };
      const { readBy, rows } = groups[query.by];
      const items = rows(records, await readUsage(outcomes.clickhouse, filter, readBy));
      return {
        body: { since, until, items },
        csv: { name: csvName('usage', since, until), text: () => csvOf(columns, items) },
      };
    },
  });

const silent = ({ outcomes }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/usage/silent',
    tag,
    summary:
      'Enabled data ids and applications that were seen on seven days in a row, and then not for a day or more',
    role: 'viewer',
    query: z.strictObject({ format: formatQuery }),
    hasCsv: true,
    answer: silentAnswer,
    run: async ({ records }) => {
      const now = Math.floor(outcomes.now() / 1000);
      const found = await silentProducers(outcomes.clickhouse, records, now);
      const items = found.map((owner) => ({
        mon_biz_id: bizOfOwner(records, owner),
        data_id: owner.dataId,
        app_id: owner.appId,
        last_seen: owner.lastAt,
        last_sender: owner.sender,
        last_sdk: owner.sdk,
      }));
      return {
        body: { items },
        csv: { name: csvName('silent', now), text: () => csvOf(silentOwner.keyof().options, items) },
      };
    },
  });

const shownFailing = ({ dataId, appId, firstAt, lastAt, ...sender }: FailingSender) => ({
  ...sender,
  data_id: dataId,
  app_id: appId,
  first_seen: firstAt,
  last_seen: lastAt,
});

const hoursText = 'must be an integer from 1 to 720';

const failing = ({ outcomes }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/usage/failing',
    tag,
    summary: 'Senders whose requests failed authorisation in several hours; by default of the last week',
    role: 'viewer',
    query: z.strictObject({
      ...timeQuery,
      hours: number(/^[1-9]\d{0,2}$/, hoursText, 720, 'In at least this many different hours; default 6', 6),
      format: formatQuery,
    }),
    hasCsv: true,
    answer: failingAnswer,
    run: async ({ query }) => {
      const { since, until } = periodOf(query, Math.floor(outcomes.now() / 1000), 7 * daySeconds);
      const found = await readFailingSenders(outcomes.clickhouse, {
        since,
        until,
        hoursMin: query.hours ?? 6,
      });
      const items = found.map(shownFailing);
      return {
        body: { since, until, items },
        csv: {
          name: csvName('failing', since, until),
          text: () => csvOf(failingSender.keyof().options, items),
        },
      };
    },
  });

/** Who uses the receivers, who no longer does, and which senders fail authorisation (docs/usage.md). */
export const usageEndpoints = (deps: ApiDeps): Endpoint[] => [usage(deps), silent(deps), failing(deps)];
