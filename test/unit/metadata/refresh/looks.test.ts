import { describe, expect, it, vi } from 'vitest';
import { loadSettings } from '../../../../src/config/settings.ts';
import { createHttpNodeManagement } from '../../../../src/metadata/refresh/http-node-management.ts';
import { type RunDeps, runOnce } from '../../../../src/metadata/refresh/run.ts';
import type { RefreshRun } from '../../../../src/metadata/refresh/runs.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import { type RemoteSubscription, startNodeManagement } from '../../../support/metadata/node-management.ts';
import { createRigRecords, rigLease, rigRunDeps } from '../../../support/metadata/refresh-rig.ts';

const firstId = 1_500_001;

/** Reports that node management has, and runs whose calls count from 0. */
const setUp = async (count: number) => {
  const server = await startNodeManagement();
  const reports = createRigRecords();
  for (let index = 0; index < count; index++) reports.add(firstId + index);
  const apiWithin = (timeoutMs: number) => {
    const { nodeManagement } = loadSettings({ TIDEMARK_NODE_MANAGEMENT_HOSTS: '0:5,0:6' });
    const settings = { ...nodeManagement, url: server.url, timeoutMs };
    return createHttpNodeManagement({ settings, backOffMs: 0, signal: new AbortController().signal });
  };
  const deps = rigRunDeps({ records: reports.records, nodeManagement: apiWithin(10_000) });
  let runId = 0;
  const run = async (more: Partial<RunDeps> = {}): Promise<{ result: RefreshRun; actions: string[] }> => {
    const before = server.calls.length;
    const result = await runOnce({ ...deps, ...more }, rigLease, ++runId, 'manual');
    return { result, actions: server.calls.slice(before).map(({ action }) => action) };
  };
  expect((await run()).result).toMatchObject({ created: count, failed: [] });
  const only = (): RemoteSubscription => {
    const [one] = server.subscriptions.values();
    if (one === undefined) throw new Error('there is no subscription');
    return one;
  };
  return { server, reports, apiWithin, run, only };
};

describe('a node management API whose info fails', () => {
  // Nothing was delivered any more, and nothing removed.
  it.each(['error', 'refuse', 'unauthorized', 'hang', 'garbage', 'huge'] as const)(
    'with %s gets what the records say',
    { timeout: 60_000 },
    async (behaviour) => {
      const { server, reports, apiWithin, run } = await setUp(120);
      const more = behaviour === 'hang' ? { nodeManagement: apiWithin(800) } : {};
      server.behave(({ action }) => (action === 'info' ? behaviour : undefined));
      const { result, actions } = await run(more);
      expect(result).toMatchObject({ unchanged: 120, failed: [] });
      expect(actions.filter((action) => action === 'switch')).toHaveLength(120);
      // Two of many and one for each of eight workers, three tries each at most.
      expect(actions.filter((action) => action === 'info').length).toBeLessThanOrEqual(30);
      reports.setEnabled(firstId, false);
      expect((await run(more)).result).toMatchObject({ deleted: 1, unchanged: 119, failed: [] });
    },
  );

  it('with a large answer for many still shows each alone', async () => {
    const { server, run, only } = await setUp(3);
    server.behave(({ action, body }) =>
      action === 'info' && (body.subscription_id_list?.length ?? 0) > 1 ? 'huge' : undefined,
    );
    const remote = only();
    const params = structuredClone(remote.params);
    remote.params = { ...params, scope: { nodes: [{ mon_host_id: 99 }] } };
    expect((await run()).result).toMatchObject({ updated: 1, unchanged: 2, failed: [] });
    expect(remote.params).toMatchObject({ scope: params.scope });
  });
});

/** What another program has in its subscription: in another plugin, in ours, and in two steps. */
const others = [
  [{ id: 'log-beat', params: { context: { dataid: 99 } } }],
  [{ id: 'mon-collector', params: { context: { app: 'shop' } } }],
  [
    { id: 'mon-collector', params: { context: { mon_data_id: firstId } } },
    { id: 'log-beat', params: { context: {} } },
  ],
];

describe('an id that node management has given to another program', () => {
  it.each(others.map((steps) => [steps]))(
    'is left alone, and the report gets a new one: %j',
    async (steps) => {
      const { server, run, only } = await setUp(1);
      const remote = only();
      remote.params = { scope: { nodes: [{ module: 3 }] }, steps };
      remote.enabled = false;
      expect((await run()).result).toMatchObject({ created: 1, failed: [] });
      expect(remote).toMatchObject({ enabled: false, updates: 0, params: { steps } });
      expect(server.subscriptions.size).toBe(2);
      expect((await run()).result).toMatchObject({ unchanged: 1 });
    },
  );

  it('gets no update where the report changed, and stays where that is removed', async () => {
    const changed = { defaults: { maxRate: 7, aheadSecondsMax: 3600 } };
    const { server, reports, run, only } = await setUp(1);
    const params = { scope: { nodes: [] }, steps: others[0] };
    only().params = params;
    expect((await run(changed)).result).toMatchObject({ created: 1, failed: [] });
    expect(only()).toMatchObject({ updates: 0, params });
    for (const remote of server.subscriptions.values()) remote.params = params;
    reports.setEnabled(firstId, false);
    const { result, actions } = await run(changed);
    expect(result).toMatchObject({ deleted: 1, failed: [] });
    expect(actions).toEqual(['info']);
  });

  it.each([
    ['no steps', []],
    ['no values', [{ id: 'mon-collector' }]],
    ['the data id as text', [{ id: 'mon-collector', params: { context: { mon_data_id: `${firstId}` } } }]],
    ['the names of before', [{ id: 'old-collector', params: { context: { old_data_id: firstId } } }]],
  ])('is not taken for that where it shows %s', async (_, steps) => {
    const { server, run } = await setUp(1);
    server.showAs(() => ({ steps }));
    expect((await run()).result).toMatchObject({ unchanged: 1, failed: [] });
  });
});

describe('content that differs', () => {
  it.each(['lost', 'busy'] as const)(
    'is sent again after an update that was kept but failed: %s',
    async (how) => {
      const { server, apiWithin, run, only } = await setUp(1);
      const remote = only();
      const now = structuredClone(remote.params);
      remote.params = { ...now, scope: { nodes: [{ mon_host_id: 99 }] } };
      server.behave(({ action }) => {
        if (action !== 'update') return undefined;
        if (how === 'busy') remote.params = now;
        return how === 'busy' ? 'refuse' : 'lost';
      });
      const more = how === 'lost' ? { nodeManagement: apiWithin(800) } : {};
      expect((await run(more)).result).toMatchObject({ updated: 0, failed_count: 1 });
      expect(remote.params.scope).toEqual(now.scope);
      server.behave(() => undefined);
      const updates = remote.updates;
      expect((await run()).result).toMatchObject({ unchanged: 0, failed: [] });
      expect(remote.updates).toBe(updates + 1);
      expect((await run()).result).toMatchObject({ unchanged: 1 });
    },
  );
});

/** Copies of content that node management shows, with another text in the place of a part. */
const replacing = (part: RegExp, by: string) => (content: unknown) =>
  Object(JSON.parse(JSON.stringify(content).replaceAll(part, by)));

describe('content that node management shows in another form', () => {
  it.each([
    ['a masked token', replacing(/"mon_data_token":"[^"]+"/g, '"mon_data_token":"******"')],
    ['host ids as text', replacing(/"mon_host_id":(\d+)/g, '"mon_host_id":"$1"')],
    ['a number as text', replacing(/"qps":(\d+)/g, '"qps":"$1"')],
    ['one value less', replacing(/,"qps":\d+/g, '')],
    ['no hosts', replacing(/"nodes"/g, '"hosts"')],
  ])('gets no update for %s', async (_, form) => {
    const { server, run } = await setUp(2);
    server.showAs(form);
    expect((await run()).result).toMatchObject({ updated: 0, unchanged: 2, failed: [] });
  });

  it('gets one update for another value, and one more once it shows another than after that', async () => {
    const { server, run, only } = await setUp(1);
    const log = createLog('looks', 'silent');
    const warn = vi.spyOn(log, 'warn');
    server.showAs(replacing(/"max_future_time_offset":\d+/g, '"max_future_time_offset":5'));
    expect((await run({ log })).result).toMatchObject({ updated: 1, failed: [] });
    for (let times = 0; times < 2; times++)
      expect((await run({ log })).result).toMatchObject({ updated: 0, unchanged: 1, failed: [] });
    const { params } = only();
    only().params = { ...params, scope: { nodes: [{ mon_host_id: 99 }] } };
    expect((await run({ log })).result).toMatchObject({ updated: 1, failed: [] });
    expect(only().params.scope).toEqual(params.scope);
    expect((await run({ log })).result).toMatchObject({ updated: 0, unchanged: 1 });
    expect(warn).toHaveBeenCalledTimes(1);
  });
});
