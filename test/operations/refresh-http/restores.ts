import { describe, expect, it } from 'vitest';
import { recordKeys } from '../../../src/directory/keys.ts';
import type { NodeManagementServer } from '../../support/metadata/node-management.ts';
import { putReport } from '../../support/metadata/refresh-fleet.ts';
import { until } from '../../support/until.ts';
import { actions, held, known, type Opened, remoteIds, setEnabled, setUp } from './setup.ts';

const contextThere = (server: NodeManagementServer, id: number) =>
  server.subscriptions.get(id)?.params.steps?.[0]?.params.context;

const idOf = async (opened: Opened, dataId: number): Promise<number> =>
  (await held(opened, dataId))?.subscription_id ?? 0;

const setToken = async ({ records }: Opened, dataId: number, token: string): Promise<void> => {
  await records.dataSources.change(dataId, (one) => ({ ...one, token }));
  await until('the copy has it', () => records.dataSources.known(dataId)?.value.token === token);
};

describe('node management that comes back with the data of a backup', () => {
  it('gets the token of now at the next run: a revoked one is not delivered for ever', async () => {
    const { server, opened, refresh } = await setUp(120);
    await refresh.runNow();
    const restore = server.save();
    await setToken(opened, 1_500_001, 'b'.repeat(32));
    expect(await refresh.runNow()).toMatchObject({ updated: 1, unchanged: 119 });
    restore();
    const before = server.calls.length;
    expect(await refresh.runNow()).toMatchObject({ updated: 1, unchanged: 119, failed: [] });
    const context = contextThere(server, await idOf(opened, 1_500_001));
    expect(context).toMatchObject({ mon_data_token: 'b'.repeat(32) });
    expect(context).toMatchObject({ token_config: { proxy_token: 'b'.repeat(32) } });
    // One call shows what a hundred have, and another the rest; the one that differs is looked at before its update and after.
    expect(
      actions(server)
        .slice(before)
        .filter((action) => action === 'info'),
    ).toHaveLength(4);
    expect(await refresh.runNow()).toMatchObject({ updated: 0, unchanged: 120 });
  });

  it('gets the hosts of now, too', async () => {
    const { server, refresh } = await setUp(1);
    await refresh.runNow();
    const [remote] = server.subscriptions.values();
    if (remote === undefined) throw new Error('there is no subscription');
    const now = remote.params;
    remote.params = { ...now, scope: { nodes: [{ mon_host_id: 11 }] } };
    expect(await refresh.runNow()).toMatchObject({ updated: 1, failed: [] });
    expect(remote.params.scope).toEqual(now.scope);
  });

  it('has a subscription for each report again where it gave an id to a second one', async () => {
    const { server, opened, refresh } = await setUp(1);
    await refresh.runNow();
    const restore = server.save();
    await putReport(opened.records, 2);
    await known(opened, 2);
    await refresh.runNow();
    restore();
    await putReport(opened.records, 3);
    await known(opened, 3);
    expect(await refresh.runNow()).toMatchObject({ created: 2, unchanged: 1, failed: [] });
    expect(remoteIds(server)).toEqual([1_500_001, 1_500_002, 1_500_003]);
    const ids = await Promise.all([1_500_001, 1_500_002, 1_500_003].map((dataId) => idOf(opened, dataId)));
    expect(new Set(ids).size).toBe(3);
    expect(await refresh.runNow()).toMatchObject({ unchanged: 3 });
  });

  it.each([
    ['shows', true],
    ['does not show', false],
  ])(
    'keeps the subscription of a live report when one with the same id is removed, where it %s whose it is',
    async (_, isShown) => {
      const { server, opened, refresh } = await setUp(2);
      if (!isShown) server.hideContent();
      await refresh.runNow();
      const shared = await idOf(opened, 1_500_002);
      const older = await held(opened, 1_500_001);
      await opened.records.bucket.put(recordKeys.subscription(1_500_001), {
        ...older,
        subscription_id: shared,
      });
      await setEnabled(opened, 1_500_001, false);
      const before = server.calls.length;
      expect(await refresh.runNow()).toMatchObject({ deleted: 1, unchanged: 1, failed: [] });
      expect(server.calls.slice(before).map(({ action }) => action)).not.toContain('delete');
      expect(server.subscriptions.get(shared)).toMatchObject({ enabled: true, updates: 0 });
      expect(await held(opened, 1_500_001)).toBeUndefined();
      expect(await idOf(opened, 1_500_002)).toBe(shared);
    },
  );
});
