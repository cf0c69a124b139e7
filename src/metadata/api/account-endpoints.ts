import { z } from 'zod';
import { sumDifferences } from '../../account/accounts.ts';
import { differenceKey, differenceKinds, isOpen, type Owner } from '../../account/difference.ts';
import { closeDifferences, readDifferences } from '../../account/difference-table.ts';
import { applicationPipelines, ownerIds } from '../../model/signals.ts';
import { fieldFault, notFound } from '../problem.ts';
import { operator } from '../records/requests.ts';
import type { Records } from '../records/store.ts';
import { differenceSchema, notKnown, shownDifference } from './account-shapes.ts';
import { shownStores, storeItem } from './account-stores.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint, none } from './endpoint.ts';
import { ownerOf, ownerQuery, refuseUnknownOwner, timeQuery } from './outcome-endpoints.ts';

const tag = 'Account';
const count = z.int();
const dayMs = 86_400_000;

/** The owner with this id: a data id, else an application. */
const namedOwner = async (records: Pick<Records, 'dataSources' | 'applications'>, id: number) => {
  if ((await records.dataSources.get(id)) !== undefined) return { data_id: id };
  if ((await records.applications.get(id)) !== undefined) return { app_id: id };
  throw notFound(`data id or application ${id}`);
};

const differences = ({ outcomes, account }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/account/differences',
    tag,
    summary: 'Differences between the books, and between the books and the stores, the newest first',
    role: 'viewer',
    namesRecord: true,
    params: none,
    query: z.strictObject({ ...ownerQuery, ...timeQuery, owner: ownerQuery.data_id }),
    body: none,
    answer: z.strictObject({ items: z.array(differenceSchema) }),
    run: async ({ query, records }) => {
      await refuseUnknownOwner(records, query);
      const { since, until } = query;
      const owner = ownerOf(query.owner === undefined ? query : await namedOwner(records, query.owner));
      const found = await readDifferences(outcomes.clickhouse, { ...owner, since, until });
      const items = sumDifferences(found).map(shownDifference);
      const { notKnownSince } = account.state;
      if (notKnownSince === undefined) return { body: { items } };
      const owners = [owner.dataId ?? owner.appId ?? 0].filter((id) => id !== 0);
      const now = Math.floor(outcomes.now() / 1000);
      return { body: { items: [notKnown(Math.floor(notKnownSince / 1000), now, owners), ...items] } };
    },
  });

const closeRequest = z
  .strictObject({
    data_id: count.min(0).optional().meta({ description: '0: those without a known owner' }),
    app_id: count.min(0).optional(),
    kind: z.enum(differenceKinds).optional().meta({ description: 'Only this kind' }),
    reason: z.string('must be text').min(1, 'must not be empty').max(500).meta({
      description: 'Why it is closed; it stays visible',
    }),
    operator,
  })
  .meta({ examples: [{ data_id: 1500001, kind: 'lost_in_the_stream', reason: 'purged by hand' }] });

const close = ({ outcomes }: ApiDeps): Endpoint =>
  endpoint({
    method: 'POST',
    path: '/api/v1/account/differences/close',
    tag,
    summary:
      'Closes the open differences of an owner with their present figures; a larger figure opens one again',
    role: 'editor',
    namesRecord: true,
    params: none,
    query: none,
    body: closeRequest,
    answer: z.strictObject({ closed: z.array(differenceSchema) }),
    audit: () => ({ action: 'account.close', kind: 'account', id: undefined }),
    run: async ({ body, author }) => {
      const { kind, reason } = body;
      const owner = ownerOf(body);
      if (owner.dataId === undefined && owner.appId === undefined)
        throw fieldFault('invalid_value', 'data_id', 'or app_id must name the owner');
      const found = await readDifferences(outcomes.clickhouse, { ...owner, kind });
      const open = found.filter(
        (each) =>
          isOpen(each) &&
          (owner.dataId === undefined || each.appId === 0) &&
          (owner.appId === undefined || each.dataId === 0),
      );
      if (open.length === 0) throw notFound('open difference of this owner');
      await closeDifferences(outcomes.clickhouse, open, reason, author);
      const closed = open.map((each) => ({
        ...each,
        ...{ closedItems: each.items, closedMessages: each.messages, reason },
      }));
      return { body: { closed: sumDifferences(closed).map(shownDifference) } };
    },
  });

const dayQuery = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a date like 2026-11-22')
  .refine((text) => !Number.isNaN(Date.parse(`${text}T00:00:00Z`)), 'is not a date of the calendar')
  .transform((text) => Math.floor(Date.parse(`${text}T00:00:00Z`) / dayMs))
  .optional()
  .meta({ description: 'Only this event day, UTC', examples: ['2026-11-22'] });

const stores = ({ account, outcomes }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/account/stores',
    tag,
    summary: 'Compares QuestDB and ClickHouse with the records: rows and sums of uids by owner and event day',
    role: 'viewer',
    namesRecord: true,
    params: none,
    query: z.strictObject({ ...ownerQuery, owner: ownerQuery.data_id, day: dayQuery }),
    body: none,
    answer: z.strictObject({
      compared: z.strictObject({
        days: count.meta({ description: 'Owners and event days that were compared' }),
        rows: count.meta({ description: 'Their recorded rows' }),
      }),
      items: z.array(storeItem),
    }),
    run: async ({ query, records }) => {
      await refuseUnknownOwner(records, query);
      const { dataId, appId } = ownerOf(
        query.owner === undefined ? query : await namedOwner(records, query.owner),
      );
      const days = query.day === undefined ? {} : { days: [query.day] };
      const owner = dataId ?? appId;
      const closed = await readDifferences(outcomes.clickhouse, { dataId, appId });
      const closings = new Map(closed.map((each) => [differenceKey(each), each]));
      const isPurged = ({ dataId: id }: Owner): boolean => id !== 0 && records.purges.known(id) !== undefined;
      if (owner === undefined) {
        const all = await account.compareStores(days);
        return { body: { compared: all.compared, items: shownStores(all, all.owners, closings, isPurged) } };
      }
      const compared = { days: 0, rows: 0 };
      const items: z.output<typeof storeItem>[] = [];
      for (const pipeline of appId === undefined ? (['metrics'] as const) : applicationPipelines) {
        const own = await account.compareStores({ pipeline, owner, ...days });
        compared.days += own.compared.days;
        compared.rows += own.compared.rows;
        items.push(...shownStores(own, [{ pipeline, ...ownerIds(pipeline, owner) }], closings, isPurged));
      }
      return { body: { compared, items } };
    },
  });

/** The differences of the account, and the account against the stores (architecture 10.2). */
export const accountEndpoints = (deps: ApiDeps): Endpoint[] => [differences(deps), close(deps), stores(deps)];
