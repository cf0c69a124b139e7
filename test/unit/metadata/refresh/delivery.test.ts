import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../../src/config/settings.ts';
import { createDelivery } from '../../../../src/metadata/refresh/delivery.ts';
import { createHttpNodeManagement } from '../../../../src/metadata/refresh/http-node-management.ts';
import type { HeldLease } from '../../../../src/metadata/refresh/lease.ts';
import type { NodeManagement } from '../../../../src/metadata/refresh/node-management.ts';
import type { WantedReport } from '../../../../src/metadata/refresh/reports.ts';
import { openSubscriptions } from '../../../../src/metadata/refresh/subscriptions.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { startNodeManagement } from '../../../support/metadata/node-management.ts';
import { createMemoryKv } from '../../../support/metadata/refresh-memory-kv.ts';
import { createRigNodeManagement, rigLease } from '../../../support/metadata/refresh-rig.ts';

const dataId = 1_500_001;
const report: WantedReport = {
  customReportId: 1,
  name: 'demo',
  values: { dataId, bizId: 2, token: 'a'.repeat(32), qps: 1, aheadSecondsMax: 1 },
  previous: undefined,
};

/** A report whose first create call, for a host that does not exist, got no answer. */
const setUp = async () => {
  const server = await startNodeManagement();
  const subscriptions = openSubscriptions(createMemoryKv(), (fault) => {
    throw fault;
  });
  const orphans: unknown[] = [];
  const deliveryTo = (hosts: string) => {
    const { nodeManagement } = loadSettings({ TIDEMARK_NODE_MANAGEMENT_HOSTS: hosts });
    const settings = { ...nodeManagement, url: server.url };
    return createDelivery({
      subscriptions,
      nodeManagement: createHttpNodeManagement({
        settings,
        backOffMs: 0,
        signal: new AbortController().signal,
      }),
      documentPrefix: 'bk',
      lease: rigLease,
      now: () => 1,
      onOrphan: ({ intent }, why) => orphans.push([why, intent?.key]),
      onBlind: () => {},
      otherForms: new Map(),
      onOtherForm: () => {},
    });
  };
  server.behave(() => 'error');
  await expect(deliveryTo('0:999').deliver(report)).rejects.toMatchObject({ kind: 'transient' });
  const [first] = server.calls;
  server.behave(({ body }) => (JSON.stringify(body.scope ?? '').includes('999') ? 'refuse' : undefined));
  const held = async () => (await subscriptions.read(dataId))?.value;
  return { server, orphans, deliveryTo, held, refused: [['create_refused', first?.key]] };
};

describe('a subscription whose first create call got no answer', () => {
  it('is created with the parameters of now once they differ, under another key', async () => {
    const { server, orphans, deliveryTo, held, refused } = await setUp();
    expect(await deliveryTo('0:5').deliver(report)).toBe('created');
    expect(await held()).toMatchObject({ state: 'active' });
    expect([...server.subscriptions.values()]).toMatchObject([
      { enabled: true, params: { scope: { nodes: [{ mon_host_id: 5 }] } } },
    ]);
    expect(orphans).toEqual(refused);
  });

  it('is named once it is created, as one more may be there', async () => {
    const { server, orphans, deliveryTo, held } = await setUp();
    server.behave(() => undefined);
    const key = (await held())?.intent?.key;
    expect(await deliveryTo('0:999').deliver(report)).toBe('created');
    expect(orphans).toEqual([['create_repeated', key]]);
    await deliveryTo('0:999').deliver({ ...report, values: { ...report.values, qps: 2 } });
    expect(orphans).toHaveLength(1);
  });

  it('keeps its key while its parameters are those of now', async () => {
    const { orphans, deliveryTo, held } = await setUp();
    const before = await held();
    await expect(deliveryTo('0:999').deliver(report)).rejects.toThrow('code 42');
    expect(await held()).toEqual(before);
    expect(orphans).toEqual([]);
  });

  it('can be removed', async () => {
    const { orphans, deliveryTo, held, refused } = await setUp();
    await deliveryTo('0:999').remove(dataId, undefined);
    expect(await held()).toBeUndefined();
    expect(orphans).toEqual(refused);
  });

  it('keeps its key where the API refuses who asks, which says nothing of the subscription', async () => {
    const { server, orphans, deliveryTo, held } = await setUp();
    const before = await held();
    server.behave(() => 'unauthorized');
    await expect(deliveryTo('0:5').deliver(report)).rejects.toThrow('HTTP 401');
    await expect(deliveryTo('0:5').remove(dataId, undefined)).rejects.toThrow('HTTP 401');
    expect(await held()).toEqual(before);
    expect(orphans).toEqual([]);
  });
});

// Its last look at the lease may be before a pause, and the next leader may have delivered since.
it('a removal leaves a subscription that the next leader wrote meanwhile', async () => {
  const subscriptions = openSubscriptions(createMemoryKv(), (fault) => {
    throw fault;
  });
  const rig = createRigNodeManagement();
  let beforeWrite = async (): Promise<void> => {};
  const deliveryUnder = (check: () => Promise<void>) =>
    createDelivery({
      ...{ subscriptions, nodeManagement: rig.nodeManagement, documentPrefix: 'bk', now: () => 1 },
      lease: { ...rigLease, check },
      onOrphan: () => {},
      onBlind: () => {},
      otherForms: new Map(),
      onOtherForm: () => {},
    });
  const paused = deliveryUnder(() => beforeWrite());
  const next = deliveryUnder(async () => {});
  await paused.deliver(report);
  beforeWrite = async () => {
    if (!rig.calls.some(({ action }) => action === 'delete')) return;
    beforeWrite = async () => {};
    await next.deliver({ ...report, values: { ...report.values, qps: 2 } });
  };
  await expect(paused.remove(dataId, undefined)).rejects.toMatchObject({ code: 'kv_conflict' });
  expect((await subscriptions.read(dataId))?.value).toMatchObject({ state: 'active', subscription_id: 2 });
});

/** A leader, the next one, and a node management API that both call. What the first sends can be held on its way. */
const setUpTwoLeaders = async () => {
  const server = await startNodeManagement();
  const subscriptions = openSubscriptions(createMemoryKv(), (fault) => {
    throw fault;
  });
  const losing = new AbortController();
  let isLost = false;
  let gate: { action: string; reached: () => void; opened: Promise<void> } | undefined;
  const pass = async (action: string): Promise<void> => {
    if (gate?.action !== action) return;
    gate.reached();
    await gate.opened;
  };
  const { nodeManagement: given } = loadSettings({ TIDEMARK_NODE_MANAGEMENT_HOSTS: '0:5' });
  const settings = { ...given, url: server.url };
  const real = createHttpNodeManagement({ settings, backOffMs: 0, signal: new AbortController().signal });
  const slow: NodeManagement = {
    ...real,
    enable: (id) => pass('enable').then(() => real.enable(id)),
    update: (id, params) => pass('update').then(() => real.update(id, params)),
    endingWith: () => slow,
  };
  const check = async (): Promise<void> => {
    if (isLost) throw new Fault('transient', 'lease_lost', 'another process may have the lease');
  };
  const leaderWith = (nodeManagement: NodeManagement, lease: HeldLease) =>
    createDelivery({
      ...{ subscriptions, nodeManagement, lease, documentPrefix: 'bk', now: () => 1 },
      onOrphan: () => {},
      onBlind: () => {},
      otherForms: new Map(),
      onOtherForm: () => {},
    });
  return {
    server,
    subscriptions,
    losing,
    first: leaderWith(slow, { ...rigLease, check }),
    firstUnslowed: leaderWith(real, { ...rigLease, check, signal: losing.signal }),
    next: leaderWith(real, rigLease),
    /** The first leader's next call of this kind waits, and until then `work` goes on; answers how it is let go. */
    holdAt: async (action: string, work: () => Promise<unknown>) => {
      const held = Promise.withResolvers<void>();
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      gate = { action, reached: resolve, opened: held.promise };
      const outcome = work().catch((error: unknown) => (error instanceof Fault ? error.code : error));
      await reached;
      isLost = true;
      return async (): Promise<unknown> => {
        held.resolve();
        return outcome;
      };
    },
    tokenThere: () =>
      [...server.subscriptions.values()].map(
        ({ params }) => params.steps?.[0]?.params.context['mon_data_token'],
      ),
  };
};

const withToken = (letter: string): WantedReport => ({
  ...report,
  values: { ...report.values, token: letter.repeat(32) },
});

// Collectors that keep the token before a rotation are refused once its grace is over.
describe('a leader that loses its lease while it sends', () => {
  it('sends nothing after a call that took longer than the lease', async () => {
    const { first, next, holdAt, tokenThere } = await setUpTwoLeaders();
    await first.deliver(withToken('a'));
    const letGo = await holdAt('enable', () => first.deliver(withToken('b')));
    await next.deliver(withToken('c'));
    expect(await letGo()).toBe('lease_lost');
    expect(tokenThere()).toEqual(['c'.repeat(32)]);
  });

  it('leaves a record by which the next run sends again what a late call replaced', async () => {
    const { first, next, holdAt, tokenThere, subscriptions } = await setUpTwoLeaders();
    await first.deliver(withToken('a'));
    const letGo = await holdAt('update', () => first.deliver(withToken('b')));
    await next.deliver(withToken('c'));
    expect(await letGo()).toBe('lease_lost');
    expect(subscriptions.known(dataId)).toMatchObject({ state: 'installing' });
    await next.deliver(withToken('c'));
    expect(tokenThere()).toEqual(['c'.repeat(32)]);
    expect(await next.deliver(withToken('c'))).toBe('unchanged');
  });

  it('leaves such a record also where its late call limits a report that is wanted again', async () => {
    const { first, next, holdAt, server } = await setUpTwoLeaders();
    const qpsThere = () => JSON.stringify([...server.subscriptions.values()]).match(/"qps":(-?\d+)/)?.[1];
    await first.deliver(report);
    const letGo = await holdAt('update', () => first.remove(dataId, { ...report.values, qps: 0 }));
    await next.deliver(report);
    expect(await letGo()).toBe('lease_lost');
    expect(qpsThere()).toBe('0');
    await next.deliver(report);
    expect(qpsThere()).toBe('1');
  });

  it('gives up a call without an answer at once', { timeout: 5_000 }, async () => {
    const { firstUnslowed, server, losing } = await setUpTwoLeaders();
    await firstUnslowed.deliver(withToken('a'));
    server.behave(({ action }) => {
      if (action !== 'update') return undefined;
      losing.abort();
      return 'hang';
    });
    await expect(firstUnslowed.deliver(withToken('b'))).rejects.toMatchObject({ kind: 'transient' });
    expect(server.calls.filter(({ action }) => action === 'update')).toHaveLength(1);
  });
});
