import { z } from 'zod';
import { sumDifferences } from '../../account/accounts.ts';
import { differenceKey, differenceKinds, type Owner } from '../../account/difference.ts';
import { closeDifferences, readDifferences } from '../../account/difference-table.ts';
import { eventDayForm, eventDayFormText, eventDayOf } from '../../model/event-day.ts';
import { Fault } from '../../model/fault.ts';
import { applicationPipelines, ownerIds } from '../../model/signals.ts';
import { endsByItselfText, notedClosing, nothingOpenText, openOf } from '../account/closing.ts';
import { whyLeftOut } from '../account/left-out.ts';
import { comparedStores, differenceSchema, type storeItem } from '../answers/account.ts';
import { fieldFault, notFound } from '../problem.ts';
import { operator } from '../records/requests.ts';
import type { Records } from '../records/store.ts';
import { shownStores } from './account-stores.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { ownerOf, ownerQuery, refuseReversed, refuseUnknownOwner, timeQuery } from './queries.ts';
import {
  notKnown,
  notKnownSinceOf,
  notRead,
  shownDifference,
  shownSince,
  unreadOf,
} from './shown-account.ts';

const tag = 'Account';
const count = z.int();

/** The owner with this id: a data id, else an application. */
const namedOwner = async (records: Pick<Records, 'dataSources' | 'applications'>, id: number) => {
  if ((await records.dataSources.get(id)) !== undefined) return { data_id: id };
  if ((await records.applications.get(id)) !== undefined) return { app_id: id };
  throw notFound(`data id or application ${id}`);
};

type Asked = { readonly owner?: number | undefined } & Parameters<typeof ownerOf>[0];

/** The owner that a query names in one of the three ways. Permanent Faults `invalid_value` and `not_found`. */
const askedOwner = async (
  records: Pick<Records, 'dataSources' | 'applications'>,
  { owner, data_id, app_id }: Asked,
): Promise<ReturnType<typeof ownerOf>> => {
  const named = ownerOf({ data_id, app_id });
  if (owner === undefined) {
    await refuseUnknownOwner(records, { data_id, app_id });
    return named;
  }
  if (named.dataId !== undefined || named.appId !== undefined)
    throw fieldFault('invalid_value', 'owner', 'cannot be combined with data_id or app_id');
  return ownerOf(await namedOwner(records, owner));
};

const differences = ({ outcomes, ...deps }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/account/differences',
    tag,
    summary: 'Differences between the books, and between the books and the stores, the newest first',
    role: 'viewer',
    namesRecord: true,
    query: z.strictObject({ ...ownerQuery, ...timeQuery, owner: ownerQuery.data_id }),
    answer: z.strictObject({ items: z.array(differenceSchema) }),
    run: async ({ query, records }) => {
      const { since, until } = query;
      refuseReversed(query);
      const owner = await askedOwner(records, query);
      const found = await readDifferences(outcomes.clickhouse, { ...owner, since, until });
      const items = sumDifferences(found).map(shownDifference);
      const owners = [owner.dataId ?? owner.appId ?? 0].filter((id) => id !== 0);
      const now = Math.floor(outcomes.now() / 1000);
      const unread = notRead(deps.account.unreadStreams, owner, now);
      return { body: { items: [...notKnown(notKnownSinceOf(deps), now, owners), ...unread, ...items] } };
    },
  });

const closeRequest = z
  .strictObject({
    data_id: count.min(0).optional().meta({ description: '0: those without a known owner' }),
    app_id: count.min(0).optional(),
    kind: z.enum(differenceKinds).optional().meta({ description: 'Only this kind' }),
    stream: z
      .string('must be text')
      .min(1, 'must not be empty')
      .max(64, 'must have at most 64 characters')
      .optional()
      .meta({ description: 'Only in this stream', examples: ['METRICS'] }),
    reason: z
      .string('must be text')
      .trim()
      .min(1, 'must not be empty')
      .max(500, 'must have at most 500 characters')
      .meta({ description: 'Why it is closed; it stays visible. White space at its ends is removed' }),
    operator,
  })
  .meta({ examples: [{ data_id: 1500001, kind: 'lost_in_the_stream', reason: 'purged by hand' }] });

const close = ({ outcomes, ...deps }: ApiDeps): Endpoint =>
  endpoint({
    method: 'POST',
    path: '/api/v1/account/differences/close',
    tag,
    summary:
      'Closes the open differences of an owner with their present figures; a larger figure opens one again',
    role: 'editor',
    namesRecord: true,
    body: closeRequest,
    answer: z.strictObject({ closed: z.array(differenceSchema) }),
    audit: () => ({ action: 'account.close', kind: 'account', id: undefined }),
    run: async ({ body, author, records, note }) => {
      const { kind, stream, reason } = body;
      const closing = { ...ownerOf(body), kind, stream };
      const { dataId, appId } = closing;
      if (dataId === undefined && appId === undefined)
        throw fieldFault('invalid_value', 'data_id', 'or app_id must name the owner');
      const open = openOf(closing, await readDifferences(outcomes.clickhouse, { dataId, appId, kind }));
      // After the differences: an owner of an installation that was restored without its record may have some.
      if (open.length === 0) {
        if ((dataId ?? appId) !== 0) await refuseUnknownOwner(records, body);
        const unread = unreadOf(deps.account.unreadStreams, closing);
        const more = endsByItselfText(closing, shownSince(notKnownSinceOf(deps)) === null, unread);
        throw new Fault('permanent', 'not_found', `${nothingOpenText(closing)}${more}`);
      }
      await closeDifferences(outcomes.clickhouse, open, reason, author);
      note(notedClosing(closing, open, reason));
      const closed = open.map((each) => ({
        ...each,
        ...{ closedItems: each.items, closedMessages: each.messages, reason },
      }));
      return { body: { closed: sumDifferences(closed).map(shownDifference) } };
    },
  });

const dayQuery = z
  .string()
  .regex(eventDayForm, eventDayFormText)
  .transform((text, context) => {
    const day = eventDayOf(text, Date.now());
    if (typeof day === 'number') return day;
    context.addIssue({ code: 'custom', message: day });
    return z.NEVER;
  })
  .optional()
  .meta({ description: 'Only this event day, UTC; tomorrow at the latest', examples: ['2026-11-22'] });

const stores = ({ account, outcomes }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/account/stores',
    tag,
    summary: 'Compares QuestDB and ClickHouse with the records: rows and sums of uids by owner and event day',
    role: 'viewer',
    namesRecord: true,
    query: z.strictObject({ ...ownerQuery, owner: ownerQuery.data_id, day: dayQuery }),
    answer: comparedStores,
    run: async ({ query, records }) => {
      const { dataId, appId } = await askedOwner(records, query);
      const days = query.day === undefined ? {} : { days: [query.day] };
      const owner = dataId ?? appId;
      const closed = await readDifferences(outcomes.clickhouse, { dataId, appId });
      const closings = new Map(closed.map((each) => [differenceKey(each), each]));
      const whyOf = ({ pipeline, dataId, appId }: Owner) => whyLeftOut(records, pipeline, dataId || appId);
      if (owner === undefined) {
        const all = await account.compareStores(days);
        return { body: { compared: all.compared, items: shownStores(all, all.owners, closings, whyOf) } };
      }
      const compared = { days: 0, rows: 0 };
      const items: z.output<typeof storeItem>[] = [];
      for (const pipeline of appId === undefined ? (['metrics'] as const) : applicationPipelines) {
        const own = await account.compareStores({ pipeline, owner, ...days });
        compared.days += own.compared.days;
        compared.rows += own.compared.rows;
        items.push(...shownStores(own, [{ pipeline, ...ownerIds(pipeline, owner) }], closings, whyOf));
      }
      return { body: { compared, items } };
    },
  });

/** The differences of the account, and the account against the stores (architecture 10.2). */
export const accountEndpoints = (deps: ApiDeps): Endpoint[] => [differences(deps), close(deps), stores(deps)];
