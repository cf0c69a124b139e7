import { describe, expect, it } from 'vitest';
import { dataIdOf, type NodeManagementServer } from '../../support/metadata/node-management.ts';
import { spawnRefresh } from '../../support/metadata/refresh-test.ts';
import { until } from '../../support/until.ts';
import { envOf, held, natsUrl, type Opened, remoteIds, setEnabled, setUp } from './setup.ts';

describe('a leader that is killed', () => {
  /** No answer is late on a busy machine: those that do not come are made so. */
  const patient = { TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS: '60000' };
  const spawnPatient = (server: NodeManagementServer) => spawnRefresh(natsUrl(), envOf(server, patient));

  /** A leader that has requested five subscriptions and got none of the answers. */
  const leaderAtWork = async () => {
    const { server, opened } = await setUp(5, patient);
    server.behave(({ action }) => (action === 'create' ? 'lost' : undefined));
    const leader = await spawnPatient(server);
    await until('the leader is at work', () => server.calls.length === 5);
    return { server, opened, leader };
  };

  /** The state after an undisturbed run. */
  const expectComplete = async (
    opened: Opened,
    server: NodeManagementServer,
    count: number,
  ): Promise<void> => {
    const ids = Array.from({ length: count }, (_, index) => 1_500_001 + index);
    expect(remoteIds(server)).toEqual(ids);
    for (const dataId of ids) {
      const one = await held(opened, dataId);
      expect(one).toMatchObject({ state: 'active', adapter: 'http' });
      const remote = server.subscriptions.get(one?.subscription_id ?? 0);
      expect(remote?.params.steps?.[0]?.params.context['mon_data_id']).toBe(dataId);
      expect(remote?.enabled).toBe(true);
      expect((remote?.installs ?? 0) + (remote?.updates ?? 0)).toBeGreaterThan(0);
    }
    expect(await opened.refresh.runNow()).toMatchObject({ unchanged: count, failed: [] });
  };

  it.each([
    ['before the create call is done', 'create', 'hang'],
    ['after the create call was done and before its answer', 'create', 'lost'],
    ['before the switch', 'switch', 'hang'],
    ['after the first delivery and before it is written down', 'run', 'lost'],
  ] as const)('%s leaves what another process brings to the same end', async (_, action, behaviour) => {
    const count = 20;
    const { server, opened } = await setUp(count, patient);
    // The eighth report and all after it get no further until the process is dead.
    let passed = 0;
    const stuck = new Set<unknown>();
    server.behave((call) => {
      if (call.action !== action) return undefined;
      if (passed++ < 7) return undefined;
      stuck.add(dataIdOf(call, server.subscriptions));
      return behaviour;
    });
    const leader = await spawnPatient(server);
    await until('the leader is in the midst of eight reports', () => stuck.size === 8);
    await leader.kill();
    server.behave(() => undefined);
    const run = await opened.refresh.runNow();
    expect(run).toMatchObject({ run_id: 2, state: 'done', failed: [] });
    expect(await opened.refresh.runs.get(1)).toMatchObject({ state: 'interrupted' });
    await expectComplete(opened, server, count);
  });

  it('is taken over by a process that follows the time table only', async () => {
    const { server, opened, leader } = await leaderAtWork();
    opened.refresh.start();
    await leader.kill();
    server.behave(() => undefined);
    const run = await until('another process takes over', async () => {
      const two = await opened.refresh.runs.get(2);
      return two?.state === 'done' && two;
    });
    expect(run).toMatchObject({ trigger: 'schedule', created: 5 });
    await expectComplete(opened, server, 5);
  });

  // A paused machine does not notice its pause.
  it('or was only paused, writes nothing once another has taken over', async () => {
    const { server, opened, leader } = await leaderAtWork();
    leader.pause();
    server.behave(() => undefined);
    expect(await opened.refresh.runNow()).toMatchObject({ run_id: 2, created: 5, failed: [] });
    const before = await Promise.all([1, 2, 3, 4, 5].map((index) => held(opened, 1_500_000 + index)));
    leader.resume();
    await expectComplete(opened, server, 5);
    expect(await Promise.all([1, 2, 3, 4, 5].map((index) => held(opened, 1_500_000 + index)))).toEqual(
      before,
    );
    expect(await opened.refresh.runs.get(1)).toMatchObject({ state: 'interrupted' });
  });

  it('in the midst of deletes leaves none behind', async () => {
    const { server, opened, refresh } = await setUp(3);
    await refresh.runNow();
    for (const dataId of [1_500_001, 1_500_002]) await setEnabled(opened, dataId, false);
    const before = server.calls.length;
    server.behave(({ action }) => (action === 'delete' ? 'lost' : undefined));
    const leader = await spawnPatient(server);
    await until('both are deleted', () => server.subscriptions.size === 1 && server.calls.length > before);
    await leader.kill();
    server.behave(() => undefined);
    expect(await refresh.runNow()).toMatchObject({ state: 'done', deleted: 2, unchanged: 1, failed: [] });
    expect(remoteIds(server)).toEqual([1_500_003]);
  });

  it('with a create of unknown outcome and a report that is disabled since leaves no orphan', async () => {
    const { server, opened, refresh } = await setUp(1);
    server.behave(({ action }) => (action === 'create' ? 'lost' : undefined));
    const leader = await spawnPatient(server);
    await until('it is created', () => server.subscriptions.size === 1);
    await leader.kill();
    server.behave(() => undefined);
    await setEnabled(opened, 1_500_001, false);
    expect(await refresh.runNow()).toMatchObject({ deleted: 1, failed: [] });
    expect(server.subscriptions.size).toBe(0);
    expect(await held(opened, 1_500_001)).toBeUndefined();
  });
});
