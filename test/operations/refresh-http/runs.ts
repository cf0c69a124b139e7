import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recordKeys } from '../../../src/directory/keys.ts';
import { putReport } from '../../support/metadata/refresh-fleet.ts';
import { openTestRefresh } from '../../support/metadata/refresh-test.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';
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
    expect(actions(server).slice(3)).toEqual(['info', 'switch enable']);
    expect(server.calls.at(-2)?.body).toEqual({ subscription_id_list: [id] });

    await setRate(opened, 1_500_001, 7);
    expect(await refresh.runNow()).toMatchObject({ updated: 1 });
    expect(actions(server).slice(5)).toEqual(['info', 'switch enable', 'update']);
    expect(server.calls.at(-1)?.body).toMatchObject({ subscription_id: id, run_immediately: true });

    await setEnabled(opened, 1_500_001, false);
    expect(await refresh.runNow()).toMatchObject({ deleted: 1 });
    // Hosts take nothing any more before they lose the file: the original's node management may leave it there.
    expect(actions(server).slice(8)).toEqual(['info', 'update', 'run', 'switch disable', 'delete']);
    const [refuse, uninstall] = server.calls.slice(9);
    expect(refuse?.body).toMatchObject({ subscription_id: id, run_immediately: true, scope: params.scope });
    expect(refuse?.body.steps?.[0]?.params.context).toEqual({
      ...context,
      qps_config: { ...context.qps_config, qps: -1 },
    });
    expect(uninstall?.body).toEqual({ subscription_id: id, actions: { 'mon-collector': 'UNINSTALL' } });
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
      ...Array<string>(2).fill('Bearer second'),
    ]);
  });

  it('updates where the hosts of a business change', async () => {
    const { server, opened, refresh } = await setUp(1);
    await refresh.runNow();
    await refresh.stop();
    const other = await openTestRefresh(natsUrl(), envOf(server, { TIDEMARK_NODE_MANAGEMENT_HOSTS: '2:99' }));
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

  it('creates a subscription again that was removed on the other side', async () => {
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

  it('fails a removed report whose subscription record cannot be read, in each run, and removes it once it can', async () => {
    const { server, opened, refresh } = await setUp(2);
    await refresh.runNow();
    await refresh.stop();
    const before = await held(opened, 1_500_001);
    const write = (value: unknown) => opened.records.bucket.put(recordKeys.subscription(1_500_001), value);
    await write({ ...before, state: 'paused' });
    const other = await openTestRefresh(natsUrl(), envOf(server));
    await known(other, 2);
    await setEnabled(other, 1_500_001, false);
    for (let times = 0; times < 2; times++) {
      expect(await other.refresh.runNow()).toMatchObject({
        ...{ deleted: 0, unchanged: 1, failed_count: 1 },
        failed: [
          {
            mon_data_id: 1_500_001,
            error: 'record_invalid: subscription.1500001 is not a subscription: state',
          },
        ],
      });
    }
    await write(before);
    expect(await other.refresh.runNow()).toMatchObject({ deleted: 1, unchanged: 1, failed: [] });
    expect(remoteIds(server)).toEqual([1_500_002]);
  });

  it('logs a change of the adapter and starts again', async () => {
    const { server, opened, refresh } = await setUp(1);
    await refresh.runNow();
    await refresh.stop();
    const polling = await openTestRefresh(natsUrl(), {});
    await known(polling, 1);
    expect(await polling.refresh.runNow()).toMatchObject({ created: 1 });
    expect(await held(opened, 1_500_001)).toMatchObject({ adapter: 'polling', subscription_id: 1_500_001 });
    expect(server.calls.filter(({ action }) => action === 'delete')).toEqual([]);
  });
});
