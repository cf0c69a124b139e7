import { createHash } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import { bearerToken, hasForm } from '../../model/text-forms.ts';
import { numberText } from '../number-text.ts';
import { type Problem, parseInput, toProblem } from '../problem.ts';
import { collectorPrefixDefault, documentName } from './document.ts';
import type { Subscription, Subscriptions } from './subscriptions.ts';

/** The forms of a business in the path, and of a cursor. */
export const bizForm = /^-?\d{1,10}$/;
export const cursorForm = /^\d{1,15}\.[0-9a-f]{32}$/;

/** The path that nodes poll. */
export const pollingPath = '/v1/subscriptions/{biz}';

/** The subscriptions that a node token may read: of one business, or of all (null). */
export type NodeIdentity = { readonly bizId: number | null };

/** The identity of a node token; undefined for any other text. */
export type AuthorizeNode = (token: string) => NodeIdentity | undefined | Promise<NodeIdentity | undefined>;

/**
 * One file for a collector: `name` tells it from all others, `document` is its content, with the access token. During the
 * overlap of a rotation a data id has two, one for each token.
 */
export const nodeSubscriptionSchema = z.strictObject({
  subscription_id: z.int(),
  mon_data_id: z.int().meta({ examples: [1_500_001] }),
  name: z.string().meta({
    description: 'The name of the file, unique in the list',
    examples: [documentName(1_500_001, collectorPrefixDefault)],
  }),
  md5: z.string().meta({ description: 'MD5 of the document in hex' }),
  document: z.string().meta({ description: 'The content of the file: YAML with the access token' }),
});

/**
 * A page of the files of a business. All pages of a reading are of one state of the whole set, which `total` counts.
 */
export const nodeSubscriptionsSchema = z.strictObject({
  items: z.array(nodeSubscriptionSchema),
  next_cursor: z.string().nullable(),
  total: z.int().nonnegative(),
});

const limitText = 'must be an integer from 1 to 1000';
const querySchema = z.strictObject({
  limit: numberText(/^\d{1,4}$/, limitText, z.int().min(1, limitText).max(1000, limitText)).default(1000),
  cursor: z.string().regex(cursorForm, 'is not a next_cursor of this endpoint').optional(),
});

type Item = z.output<typeof nodeSubscriptionSchema>;

/** `until`: when the first of its files ends by itself, Unix seconds. */
type View = { readonly etag: string; readonly items: readonly Item[]; readonly until: number };

/** The platform prefix of the files, and the time in Unix seconds. */
export type PollingOptions = { readonly prefix: string; readonly now: () => number };

/** The file of a subscription, and that of the token before a rotation while receivers take it. */
const itemsOf = (one: Subscription, { prefix, now }: PollingOptions): Item[] => {
  const { mon_data_id, md5, document, previous } = one;
  const common = { subscription_id: one.subscription_id ?? mon_data_id, mon_data_id };
  const current = { ...common, name: documentName(mon_data_id, prefix), md5, document };
  if (previous === undefined || previous.expires_at <= now()) return [current];
  const name = documentName(mon_data_id, prefix, 'previous');
  return [current, { ...common, name, md5: previous.md5, document: previous.document }];
};

/** A business, or all of them. */
type Whose = number | 'all';

/** Business 0 stands for all where the token is of all; a token of business 0 has the files of that one alone. */
const whoseOf = (bizId: number, identity: NodeIdentity): Whose =>
  bizId === 0 && identity.bizId === null ? 'all' : bizId;

/** The files of each business with their ETag, built again only after a change of the subscriptions. */
const createViews = (subscriptions: Subscriptions, options: PollingOptions): ((whose: Whose) => View) => {
  let source: readonly Subscription[] | undefined;
  const views = new Map<Whose, View>();
  const make = (all: readonly Subscription[], whose: Whose): View => {
    const isOf = ({ mon_biz_id, state }: Subscription): boolean =>
      (state === 'active' || state === 'installing') && (whose === 'all' || mon_biz_id === whose);
    const own = all.filter(isOf);
    const items = own.flatMap((one) => itemsOf(one, options));
    const ends = own.flatMap(({ previous }) => previous?.expires_at ?? []).filter((at) => at > options.now());
    const hash = createHash('sha256');
    for (const { name, md5 } of items) hash.update(`${name}:${md5}\n`);
    return { etag: hash.digest('hex').slice(0, 32), items, until: Math.min(...ends) };
  };
  return (whose) => {
    const all = subscriptions.list();
    if (all !== source) {
      views.clear();
      source = all;
    }
    const known = views.get(whose);
    if (known !== undefined && known.until > options.now()) return known;
    const view = make(all, whose);
    // A token for all businesses may read any number.
    if (view.items.length > 0) views.set(whose, view);
    return view;
  };
};

const refused = (code: string, message: string): Fault => new Fault('permanent', code, message);

/** The differences from the admin API's problems of the same code, and the codes that only this endpoint has. */
const problems: Readonly<Record<string, Partial<Problem>>> = {
  unauthorized: {
    status: 401,
    title: 'No valid node token',
    remedy: 'Send Authorization: Bearer with a node token.',
  },
  forbidden: {
    status: 403,
    title: 'The node token belongs to another business',
    remedy: 'Request the business of the token.',
  },
  subscriptions_changed: {
    status: 409,
    title: 'The subscriptions changed between two pages',
    remedy: 'Start again with the first page.',
  },
};

const problemOf = (error: unknown): Problem => {
  const problem = toProblem(error);
  return { ...problem, ...problems[problem.code] };
};

const withoutWeak = (tag: string): string => (tag.startsWith('W/') ? tag.slice(2) : tag);

const matches = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.split(',').some((tag) => ['*', etag].includes(withoutWeak(tag.trim())));

/**
 * `GET /v1/subscriptions/<biz>`: the collector files of a business, by ascending data id; of all of them for business 0
 * and a token of all. The ETag is of the whole set, on every page; a cursor is of that set too, and after a change of the
 * set it is refused with 409, so that a complete reading of the pages is one state. 401 and 403 by the node token, 503 until the
 * subscriptions were read for the first time: a node would remove its files after an empty list.
 */
export const createPollingApp = (
  subscriptions: Subscriptions,
  authorizeNode: AuthorizeNode,
  options: PollingOptions,
): Hono => {
  const viewOf = createViews(subscriptions, options);

  const page = (context: Context, whose: Whose): Response => {
    const { limit, cursor } = parseInput(querySchema, context.req.query());
    const { etag, items } = viewOf(whose);
    const headers = { ETag: `"${etag}"`, 'Cache-Control': 'private, no-cache', Vary: 'Authorization' };
    if (matches(context.req.header('If-None-Match') ?? '', headers.ETag))
      return context.body(null, 304, headers);
    const [given = '0', of] = cursor?.split('.') ?? [];
    if (of !== undefined && of !== etag) {
      throw refused('subscriptions_changed', 'the cursor belongs to an earlier state of the subscriptions');
    }
    const from = Number(given);
    const next = from + limit;
    const answer: z.output<typeof nodeSubscriptionsSchema> = {
      items: items.slice(from, next),
      next_cursor: next < items.length ? `${next}.${etag}` : null,
      total: items.length,
    };
    return context.json(answer, 200, headers);
  };

  const app = new Hono();
  app.get('/v1/subscriptions/:biz', async (context) => {
    try {
      const token = bearerToken(context.req.header('Authorization'));
      const identity = token === undefined ? undefined : await authorizeNode(token);
      if (identity === undefined) throw refused('unauthorized', 'the request has no valid node token');
      const biz = context.req.param('biz');
      if (!hasForm(bizForm, biz)) throw refused('not_found', 'unknown business');
      if (identity.bizId !== null && identity.bizId !== Number(biz)) {
        throw refused('forbidden', `the node token belongs to business ${identity.bizId}`);
      }
      if (!subscriptions.isReady) {
        throw new Fault('transient', 'subscriptions_unread', 'the subscriptions have not been read yet');
      }
      return page(context, whoseOf(Number(biz), identity));
    } catch (error) {
      const problem = problemOf(error);
      return new Response(JSON.stringify(problem), {
        status: problem.status,
        headers: {
          'Content-Type': 'application/problem+json',
          'Cache-Control': 'no-store',
          ...(problem.status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
          ...(problem.status === 503 ? { 'Retry-After': '2' } : {}),
        },
      });
    }
  });
  return app;
};
