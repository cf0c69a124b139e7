import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../../src/config/settings.ts';
import { createDelivery } from '../../../../src/metadata/refresh/delivery.ts';
import { createHttpNodeManagement } from '../../../../src/metadata/refresh/http-node-management.ts';
import type { WantedReport } from '../../../../src/metadata/refresh/reports.ts';
import { openSubscriptions } from '../../../../src/metadata/refresh/subscriptions.ts';
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
    });
  };
  server.behave(() => 'error');
  await expect(deliveryTo('0:999').deliver(report)).rejects.toMatchObject({ kind: 'transient' });
  const [first] = server.calls;
  server.behave(({ body }) => (JSON.stringify(body.scope ?? '').includes('999') ? 'refuse' : undefined));
  const held = async () => (await subscriptions.read(dataId))?.value;
  return { server, orphans, deliveryTo, held, refused: [['create_refused', first?.key]] };
};

describe('a subscription whose first create call got no answer and is refused at each repeat', () => {
  it('is created with the parameters of now once they differ, under another key', async () => {
    const { server, orphans, deliveryTo, held, refused } = await setUp();
    expect(await deliveryTo('0:5').deliver(report)).toBe('created');
    expect(await held()).toMatchObject({ state: 'active' });
    expect([...server.subscriptions.values()]).toMatchObject([
      { enabled: true, params: { scope: { nodes: [{ mon_host_id: 5 }] } } },
    ]);
    expect(orphans).toEqual(refused);
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
