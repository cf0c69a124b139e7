import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recordKeys } from '../../src/directory/keys.ts';
import { heldSubscriptionSchema } from '../../src/metadata/refresh/subscriptions.ts';
import { emptyBuckets } from '../support/empty-buckets.ts';
import { startEngines, type TestEngines } from '../support/engines.ts';
import {
  type Behaviour,
  dataIdOf,
  type NodeManagementServer,
  startNodeManagement,
} from '../support/node-management.ts';
import { putReport } from '../support/refresh-fleet.ts';
import { openTestRefresh, spawnRefresh } from '../support/refresh-test.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';

let engines: TestEngines;
beforeAll(async () => {
  engines = await startEngines({ nats: true });
});
afterAll(async () => {
  await engines.stop();
});

/** Every test has a deployment of its own. */
beforeEach(() => emptyBuckets(engines.nats.url));

const apiToken = 'node-management-secret';

const envOf = (server: NodeManagementServer, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  TIDEMARK_NODE_MANAGEMENT_URL: server.url,
  TIDEMARK_NODE_MANAGEMENT_TOKEN: apiToken,
  TIDEMARK_NODE_MANAGEMENT_HOSTS: '0:11,2:21,2:22',
  TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS: '400',
  TIDEMARK_REFRESH_CRON: '0 0 1 1 *',
  ...more,
});

type Opened = Awaited<ReturnType<typeof openTestRefresh>>;

const known = (opened: Opened, count: number): Promise<true> =>
  until(`${count} reports are known`, () => {
    const ids = opened.records.reports.list().map(({ id }) => id);
    if (ids.length !== count) throw new Error(`known are [${ids.join()}]`);
    return true;
  });

/** A server, the job, and so many active reports of business 2. */
const setUp = async (count: number, more: NodeJS.ProcessEnv = {}) => {
  const server = await startNodeManagement();
  const opened = await openTestRefresh(engines.nats.url, envOf(server, more));
  const made = await Promise.all(
    Array.from({ length: count }, (_, index) => putReport(opened.records, index + 1)),
  );
  await known(opened, count);
  return { server, opened, made, ...opened };
};

const setEnabled = async ({ records }: Opened, dataId: number, is_enable: boolean): Promise<void> => {
  await records.groups.change(dataId, (one) => ({ ...one, is_enable }));
  await until('the copy has it', () => records.groups.known(dataId)?.value.is_enable === is_enable);
};

const setRate = async ({ records }: Opened, dataId: number, max_rate: number): Promise<void> => {
  await records.groups.change(dataId, (one) => ({ ...one, max_rate }));
  await until('the copy has it', () => records.groups.known(dataId)?.value.max_rate === max_rate);
};

const held = async ({ records }: Opened, dataId: number) => {
  const stored = await records.bucket.get(recordKeys.subscription(dataId));
  return stored && heldSubscriptionSchema.parse(stored.value);
};

const actions = (server: NodeManagementServer): string[] =>
  server.calls.map(({ action, body }) => (body.action === undefined ? action : `${action} ${body.action}`));

/** The data ids that the server has subscriptions of: one each. */
const remoteIds = (server: NodeManagementServer): unknown[] =>
  [...server.subscriptions.values()]
    .map(({ params }) => params.steps?.[0]?.params.context['mon_data_id'])
    .toSorted((left, right) => Number(left) - Number(right));

describe('a run with a node management API', () => {
  it('makes the calls of the original with its parameters', async () => {
    const { server, refresh, opened, made } = await setUp(1);
    expect(await refresh.runNow()).toMatchObject({ created: 1, failed: [] });
    expect(actions(server)).toEqual(['create', 'switch enable', 'run']);
    const [create, enable, run] = server.calls;
    const [id] = server.subscriptions.keys();
    const token = made[0]?.dataSource.token;
    const context = {
      mon_biz_id: 2,
      mon_data_id: 1_500_001,
      mon_data_token: token,
      token_config: { name: 'token_checker/proxy', proxy_dataid: 1_500_001, proxy_token: token },
      qps_config: { name: 'rate_limiter/token_bucket', type: 'token_bucket', qps: 1000 },
      validator_config: {
        name: 'proxy_validator/common',
        type: 'time_series',
        version: 'v2',
        max_future_time_offset: 3600,
      },
    };
    const params = {
      scope: {
        object_type: 'HOST',
        node_type: 'INSTANCE',
        nodes: [{ mon_host_id: 11 }, { mon_host_id: 21 }, { mon_host_id: 22 }],
      },
      steps: [
        {
          id: 'mon-collector',
          type: 'PLUGIN',
          config: {
            plugin_name: 'mon-collector',
            plugin_version: 'latest',
            config_templates: [{ name: 'mon-collector-report-v2.conf', version: 'latest' }],
          },
          params: { context },
        },
      ],
    };
    expect(create?.body).toEqual(params);
    expect(create?.key).toMatch(/^tidemark-1500001-/);
    expect(create?.authorization).toBe(`Bearer ${apiToken}`);
    expect(enable?.body).toEqual({ subscription_id: id, action: 'enable' });
    expect(run?.body).toEqual({ subscription_id: id, actions: { 'mon-collector': 'INSTALL' } });
    expect(await held(opened, 1_500_001)).toMatchObject({
      subscription_id: id,
      adapter: 'http',
      state: 'active',
    });

    expect(await refresh.runNow()).toMatchObject({ unchanged: 1 });
    expect(actions(server).slice(3)).toEqual(['switch enable']);

    await setRate(opened, 1_500_001, 7);
    expect(await refresh.runNow()).toMatchObject({ updated: 1 });
    expect(actions(server).slice(4)).toEqual(['switch enable', 'update']);
    expect(server.calls.at(-1)?.body).toMatchObject({ subscription_id: id, run_immediately: true });

    await setEnabled(opened, 1_500_001, false);
    expect(await refresh.runNow()).toMatchObject({ deleted: 1 });
    expect(actions(server).slice(6)).toEqual(['switch disable', 'delete']);
    expect(server.subscriptions.size).toBe(0);
    expect(await held(opened, 1_500_001)).toBeUndefined();

    await setEnabled(opened, 1_500_001, true);
    expect(await refresh.runNow()).toMatchObject({ created: 1 });
    expect(server.calls.at(-3)?.key).not.toBe(create?.key);
  });

  it('speaks in the names of another platform, with a token from a file that may change', async () => {
    const file = join(await tempFolder(), 'token');
    await writeFile(file, 'first\n');
    const { server, refresh } = await setUp(1, {
      TIDEMARK_NODE_MANAGEMENT_PREFIX: 'acme',
      TIDEMARK_NODE_MANAGEMENT_TOKEN_FILE: file,
    });
    await refresh.runNow();
    await writeFile(file, 'second\n');
    await refresh.runNow();
    expect(server.calls[0]?.body).toMatchObject({
      scope: { nodes: [{ acme_host_id: 11 }, { acme_host_id: 21 }, { acme_host_id: 22 }] },
      steps: [{ id: 'acme-collector', params: { context: { acme_biz_id: 2, acme_data_id: 1_500_001 } } }],
    });
    expect(server.calls.map(({ authorization }) => authorization)).toEqual([
      ...Array<string>(3).fill('Bearer first'),
      'Bearer second',
    ]);
  });

  it('updates where the hosts of a business change', async () => {
    const { server, opened, refresh } = await setUp(1);
    await refresh.runNow();
    await refresh.stop();
    const other = await openTestRefresh(
      engines.nats.url,
      envOf(server, { TIDEMARK_NODE_MANAGEMENT_HOSTS: '2:99' }),
    );
    await known(other, 1);
    expect(await other.refresh.runNow()).toMatchObject({ updated: 1 });
    expect([...server.subscriptions.values()][0]?.params.scope).toMatchObject({
      nodes: [{ mon_host_id: 99 }],
    });
    expect(await held(opened, 1_500_001)).toMatchObject({ state: 'active' });
  });

  it('fails a business without hosts, alone', async () => {
    const { opened, refresh } = await setUp(1, { TIDEMARK_NODE_MANAGEMENT_HOSTS: '2:21' });
    await putReport(opened.records, 2, 3);
    await known(opened, 2);
    expect(await refresh.runNow()).toMatchObject({
      created: 1,
      failed: [
        { mon_data_id: 1_500_002, report: 'report 2', error: expect.stringMatching(/^hosts_missing: /) },
      ],
    });
  });

  it('makes a subscription anew that was removed on the other side', async () => {
    const { server, opened, refresh } = await setUp(2);
    await refresh.runNow();
    const lost = (await held(opened, 1_500_001))?.subscription_id ?? 0;
    server.lose(lost);
    expect(await refresh.runNow()).toMatchObject({ created: 1, unchanged: 1, failed: [] });
    expect(remoteIds(server)).toEqual([1_500_001, 1_500_002]);
    const second = (await held(opened, 1_500_002))?.subscription_id ?? 0;
    server.lose(second);
    await setEnabled(opened, 1_500_002, false);
    expect(await refresh.runNow()).toMatchObject({ deleted: 1, failed: [] });
  });

  it('tells the operator and starts anew where the adapter changes', async () => {
    const { server, opened, refresh } = await setUp(1);
    await refresh.runNow();
    await refresh.stop();
    const polling = await openTestRefresh(engines.nats.url, {});
    await known(polling, 1);
    expect(await polling.refresh.runNow()).toMatchObject({ created: 1 });
    expect(await held(opened, 1_500_001)).toMatchObject({ adapter: 'polling', subscription_id: 1_500_001 });
    expect(server.calls.filter(({ action }) => action === 'delete')).toEqual([]);
  });
});

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

  it('is tried again within the run where that may help, and only there', async () => {
    const { server, opened, refresh } = await setUp(1);
    let left = 2;
    server.behave(({ action }) => (action === 'create' && left-- > 0 ? 'error' : undefined));
    expect(await refresh.runNow()).toMatchObject({ created: 1, failed: [] });
    const keys = server.calls.filter(({ action }) => action === 'create').map(({ key }) => key);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);

    await putReport(opened.records, 2);
    await known(opened, 2);
    server.behave(({ action }) => (action === 'create' ? 'refuse' : undefined));
    expect(await refresh.runNow()).toMatchObject({ unchanged: 1, failed_count: 1 });
    expect(server.calls.filter(({ action }) => action === 'create')).toHaveLength(4);
    expect(await held(opened, 1_500_002)).toBeUndefined();
  });

  it('cannot keep a run from its end', async () => {
    const server = await startNodeManagement();
    const opened = await openTestRefresh(engines.nats.url, envOf(server), { runMsMax: 500 });
    for (let index = 1; index <= 40; index++) await putReport(opened.records, index);
    await known(opened, 40);
    server.behave(() => 'hang');
    const run = await opened.refresh.runNow();
    expect(run).toMatchObject({ state: 'done', created: 0, failed_count: 40 });
    expect(run.failed.filter(({ error }) => error.startsWith('run_deadline'))).not.toEqual([]);
  });

  it('of which a call by hand does not wait for ever', async () => {
    const server = await startNodeManagement();
    const opened = await openTestRefresh(engines.nats.url, envOf(server), { waitMsMax: 200 });
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

describe('a leader that is killed', () => {
  /** What is there after a run that nobody disturbed. */
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
    const { server, opened } = await setUp(count);
    // The eighth report and all after it get no further until the process is dead.
    let passed = 0;
    const stuck = new Set<unknown>();
    server.behave((call) => {
      if (call.action !== action) return undefined;
      if (passed++ < 7) return undefined;
      stuck.add(dataIdOf(call, server.subscriptions));
      return behaviour;
    });
    const leader = await spawnRefresh(
      engines.nats.url,
      envOf(server, { TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS: '60000' }),
    );
    await until('the leader is in the midst of eight reports', () => stuck.size === 8);
    await leader.kill();
    server.behave(() => undefined);
    const run = await opened.refresh.runNow();
    expect(run).toMatchObject({ run_id: 2, state: 'done', failed: [] });
    expect(await opened.refresh.runs.get(1)).toMatchObject({ state: 'interrupted' });
    await expectComplete(opened, server, count);
  });

  it('is taken over by a process that follows the time table only', async () => {
    const { server, opened } = await setUp(5);
    server.behave(({ action }) => (action === 'create' ? 'lost' : undefined));
    const leader = await spawnRefresh(
      engines.nats.url,
      envOf(server, { TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS: '60000' }),
    );
    await until('the leader is at work', () => server.calls.length === 5);
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

  // A paused machine does not know that it was paused.
  it('or was only paused, writes nothing once another has taken over', async () => {
    const { server, opened } = await setUp(5);
    server.behave(({ action }) => (action === 'create' ? 'lost' : undefined));
    const leader = await spawnRefresh(
      engines.nats.url,
      envOf(server, { TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS: '60000' }),
    );
    await until('the leader is at work', () => server.calls.length === 5);
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
    const leader = await spawnRefresh(
      engines.nats.url,
      envOf(server, { TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS: '60000' }),
    );
    await until('both are deleted', () => server.subscriptions.size === 1 && server.calls.length > before);
    await leader.kill();
    server.behave(() => undefined);
    expect(await refresh.runNow()).toMatchObject({ state: 'done', deleted: 2, unchanged: 1, failed: [] });
    expect(remoteIds(server)).toEqual([1_500_003]);
  });

  it('with a create of unknown outcome and a report that is disabled since leaves no orphan', async () => {
    const { server, opened, refresh } = await setUp(1);
    server.behave(({ action }) => (action === 'create' ? 'lost' : undefined));
    const leader = await spawnRefresh(
      engines.nats.url,
      envOf(server, { TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS: '60000' }),
    );
    await until('it is created', () => server.subscriptions.size === 1);
    await leader.kill();
    server.behave(() => undefined);
    await setEnabled(opened, 1_500_001, false);
    expect(await refresh.runNow()).toMatchObject({ deleted: 1, failed: [] });
    expect(server.subscriptions.size).toBe(0);
    expect(await held(opened, 1_500_001)).toBeUndefined();
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
    const opening = openTestRefresh(engines.nats.url, envOf(server, { [name]: value }));
    await expect(opening).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(name),
    });
  });
});
