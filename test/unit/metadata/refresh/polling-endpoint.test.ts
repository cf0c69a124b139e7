import { describe, expect, it } from 'vitest';
import {
  createPollingApp,
  type NodeIdentity,
  nodeSubscriptionsSchema,
} from '../../../../src/metadata/refresh/polling-endpoint.ts';
import type { Subscription, Subscriptions } from '../../../../src/metadata/refresh/subscriptions.ts';

const subscriptionOf = (dataId: number, bizId: number): Subscription => ({
  subscription_id: null,
  mon_data_id: dataId,
  custom_report_id: null,
  mon_biz_id: bizId,
  adapter: 'polling',
  md5: `md5 of ${dataId}`,
  params_md5: '',
  document: `token of ${dataId}`,
  state: 'active',
  created: 1,
  updated: 1,
});

const all = [subscriptionOf(1_500_001, 0), subscriptionOf(1_500_002, 2), subscriptionOf(1_500_003, 3)];

const subscriptions: Subscriptions = {
  list: () => all,
  known: (dataId) => all.find(({ mon_data_id }) => mon_data_id === dataId),
  unreadable: () => [],
  read: async () => undefined,
  save: async (value) => ({ value, revision: 1 }),
  remove: async () => {},
  ready: Promise.resolve(),
  isReady: true,
  stop: () => {},
};

const identities = new Map<string, NodeIdentity>([
  ['of-0', { bizId: 0 }],
  ['of-2', { bizId: 2 }],
  ['of-all', { bizId: null }],
]);

const app = createPollingApp(subscriptions, (token) => identities.get(token), {
  prefix: 'bk',
  now: () => 1_000,
});

const ask = (token: string, biz: number): Promise<Response> =>
  Promise.resolve(app.request(`/v1/subscriptions/${biz}`, { headers: { Authorization: `Bearer ${token}` } }));

const read = async (token: string, biz: number) => {
  const answer = await ask(token, biz);
  const { items, total } = nodeSubscriptionsSchema.parse(await answer.json());
  return { ids: items.map(({ mon_data_id }) => mon_data_id), total, etag: answer.headers.get('ETag') };
};

describe('the files that a node token reads', () => {
  it('are those of its business alone, also where that is business 0', async () => {
    // In this order the whole set has a view before the business asks.
    const whole = await read('of-all', 0);
    expect(whole).toMatchObject({ ids: [1_500_001, 1_500_002, 1_500_003], total: 3 });
    const platform = await read('of-0', 0);
    expect(platform).toMatchObject({ ids: [1_500_001], total: 1 });
    expect(platform.etag).not.toBe(whole.etag);
    expect(await read('of-all', 0)).toEqual(whole);
    expect(await read('of-2', 2)).toMatchObject({ ids: [1_500_002], total: 1 });
  });

  it.each([
    ['of-0', 2],
    ['of-2', 0],
    ['of-2', 3],
  ])('are refused to a token %s for business %i', async (token, biz) => {
    expect((await ask(token, biz)).status).toBe(403);
  });
});
