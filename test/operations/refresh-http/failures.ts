import { describe, expect, it } from 'vitest';
import { type Behaviour, dataIdOf, startNodeManagement } from '../../support/metadata/node-management.ts';
import { putReport } from '../../support/metadata/refresh-fleet.ts';
import { openTestRefresh } from '../../support/metadata/refresh-test.ts';
import { until } from '../../support/until.ts';
import {
  actions,
  apiToken,
  envOf,
  held,
  known,
  natsUrl,
  remoteIds,
  setEnabled,
  setRate,
  setUp,
} from './setup.ts';

const bad: Behaviour[] = ['error', 'refuse', 'hang', 'garbage', 'huge', 'redirect'];
const creating = ['create', 'switch', 'run'].flatMap((action) =>
  bad.map((behaviour) => [action, behaviour] as const),
);

describe('a failing node management API', () => {
  // Each call of each report may go wrong in each way: that report fails, and nothing of it stays wrong.
  it.each([...creating, ['create', 'wrong_shape'], ['create', 'lost'], ['run', 'lost']] as const)(
    'fails one report where %s answers with %s, and the next run brings it',
    async (action, behaviour) => {
      const { server, refresh, registryText, made } = await setUp(4);
      server.behave((call) =>
        call.action === action && dataIdOf(call, server.subscriptions) === 1_500_002 ? behaviour : undefined,
      );
      const run = await refresh.runNow();
      expect(run).toMatchObject({ state: 'done', created: 3, failed_count: 1 });
      expect(run.failed).toMatchObject([{ mon_data_id: 1_500_002, report: 'report 2' }]);
      const told = JSON.stringify([run, await refresh.runs.list(), await registryText()]);
      for (const secret of [apiToken, ...made.map(({ dataSource }) => dataSource.token)]) {
        expect(told).not.toContain(secret);
      }
      server.behave(() => undefined);
      expect(await refresh.runNow()).toMatchObject({ created: 1, unchanged: 3, failed: [] });
      expect(remoteIds(server)).toEqual([1_500_001, 1_500_002, 1_500_003, 1_500_004]);
      expect([...server.subscriptions.values()].every(({ enabled }) => enabled)).toBe(true);
      expect(await refresh.runNow()).toMatchObject({ unchanged: 4 });
    },
  );

  it.each(['error', 'refuse', 'hang', 'garbage', 'lost'] as const)(
    'keeps an update that is answered with %s for the next run',
    async (behaviour) => {
      const { server, opened, refresh } = await setUp(2);
      await refresh.runNow();
      await setRate(opened, 1_500_001, 9);
      server.behave(({ action }) => (action === 'update' ? behaviour : undefined));
      expect(await refresh.runNow()).toMatchObject({ updated: 0, unchanged: 1, failed_count: 1 });
      server.behave(() => undefined);
      expect(await refresh.runNow()).toMatchObject({ updated: 1, unchanged: 1, failed: [] });
    },
  );

  it.each(['error', 'refuse', 'hang', 'garbage', 'lost'] as const)(
    'keeps a delete that is answered with %s for the next run',
    async (behaviour) => {
      const { server, opened, refresh } = await setUp(2);
      await refresh.runNow();
      await setEnabled(opened, 1_500_001, false);
      server.behave(({ action }) => (action === 'delete' ? behaviour : undefined));
      expect(await refresh.runNow()).toMatchObject({ deleted: 0, unchanged: 1, failed_count: 1 });
      server.behave(() => undefined);
      await refresh.runNow();
      expect(remoteIds(server)).toEqual([1_500_002]);
      expect(await held(opened, 1_500_001)).toBeUndefined();
    },
  );

  it('gets the removing action again while it is busy, and the delete only after that', async () => {
    const { server, opened, refresh } = await setUp(1);
    await refresh.runNow();
    await setEnabled(opened, 1_500_001, false);
    let isBusy = true;
    server.behave(({ action }) => (action === 'run' && isBusy ? 'refuse' : undefined));
    const before = server.calls.length;
    for (let times = 0; times < 2; times++) {
      expect(await refresh.runNow()).toMatchObject({ deleted: 0, failed_count: 1 });
    }
    isBusy = false;
    expect(await refresh.runNow()).toMatchObject({ deleted: 1, failed: [] });
    // One update: another would make node management busy again.
    expect(actions(server).slice(before)).toEqual([
      ...['info', 'update', 'run', 'info', 'info', 'run', 'info', 'info', 'run', 'switch disable', 'delete'],
    ]);
    expect(server.subscriptions.size).toBe(0);
  });

  it('brings a report that is enabled in the midst of its removal back to its hosts', async () => {
    const { server, opened, refresh } = await setUp(1);
    await refresh.runNow();
    await setEnabled(opened, 1_500_001, false);
    server.behave(({ action }) => (action === 'run' ? 'refuse' : undefined));
    expect(await refresh.runNow()).toMatchObject({ failed_count: 1 });
    await setEnabled(opened, 1_500_001, true);
    server.behave(() => undefined);
    expect(await refresh.runNow()).toMatchObject({ updated: 1, failed: [] });
    const [remote] = server.subscriptions.values();
    expect(remote).toMatchObject({ enabled: true });
    expect(remote?.params.steps?.[0]?.params.context['qps_config']).toMatchObject({ qps: 1000 });
    expect(await held(opened, 1_500_001)).toMatchObject({ state: 'active' });
    expect(await held(opened, 1_500_001)).not.toHaveProperty('removal');
  });

  it('is tried again within the run where that may help, and only there', async () => {
    const { server, opened, refresh } = await setUp(1);
    let left = 2;
    server.behave(({ action }) => (action === 'switch' && left-- > 0 ? 'error' : undefined));
    expect(await refresh.runNow()).toMatchObject({ created: 1, failed: [] });
    expect(server.calls.filter(({ action }) => action === 'switch')).toHaveLength(3);

    await putReport(opened.records, 2);
    await known(opened, 2);
    server.behave(({ action }) => (action === 'create' ? 'refuse' : undefined));
    expect(await refresh.runNow()).toMatchObject({ unchanged: 1, failed_count: 1 });
    expect(server.calls.filter(({ action }) => action === 'create')).toHaveLength(2);
    expect(await held(opened, 1_500_002)).toBeUndefined();
  });

  it('gets one create call of a report in a run while it does not answer, with one key', async () => {
    const { server, refresh } = await setUp(1);
    server.behave(({ action }) => (action === 'create' ? 'hang' : undefined));
    const created = () => server.calls.filter(({ action }) => action === 'create').map(({ key }) => key);
    for (const count of [1, 2]) {
      expect(await refresh.runNow()).toMatchObject({ created: 0, failed_count: 1 });
      expect(created()).toHaveLength(count);
    }
    expect(new Set(created()).size).toBe(1);
  });

  it('cannot keep a run from its end', async () => {
    const server = await startNodeManagement();
    const opened = await openTestRefresh(natsUrl(), envOf(server), { runMsMax: 500 });
    for (let index = 1; index <= 40; index++) await putReport(opened.records, index);
    await known(opened, 40);
    server.behave(() => 'hang');
    const run = await opened.refresh.runNow();
    expect(run).toMatchObject({ state: 'done', created: 0, failed_count: 40 });
    expect(run.failed.filter(({ error }) => error.startsWith('run_deadline'))).not.toEqual([]);
  });

  it('does not make a call by hand wait without end', async () => {
    const server = await startNodeManagement();
    const opened = await openTestRefresh(natsUrl(), envOf(server), { waitMsMax: 200 });
    await putReport(opened.records, 1);
    await known(opened, 1);
    server.behave(() => 'hang');
    await expect(opened.refresh.runNow()).rejects.toMatchObject({
      kind: 'transient',
      code: 'refresh_running',
    });
    const [run] = await until('the run ends', async () => {
      const runs = await opened.refresh.runs.list();
      return runs[0]?.state === 'done' && runs;
    });
    expect(run).toMatchObject({ failed_count: 1 });
  });
});

describe('settings that cannot be used', () => {
  it.each([
    ['TIDEMARK_NODE_MANAGEMENT_HOSTS', undefined],
    ['TIDEMARK_NODE_MANAGEMENT_HOSTS', 'all'],
    ['TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS', '0'],
    ['TIDEMARK_REFRESH_CRON', 'never'],
  ])('are refused before anything runs: %s=%s', async (name, value) => {
    const server = await startNodeManagement();
    const opening = openTestRefresh(natsUrl(), envOf(server, { [name]: value }));
    await expect(opening).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(name),
    });
  });
});
