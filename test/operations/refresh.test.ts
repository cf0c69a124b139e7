import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Bus } from '../../src/bus/connection.ts';
import { buckets, recordKeys } from '../../src/directory/keys.ts';
import { exportRecords } from '../../src/metadata/backup/export.ts';
import { md5Of } from '../../src/metadata/refresh/document.ts';
import {
  type nodeSubscriptionSchema,
  nodeSubscriptionsSchema,
} from '../../src/metadata/refresh/polling-endpoint.ts';
import { refreshRunSchema } from '../../src/metadata/refresh/runs.ts';
import { subscriptionSchema } from '../../src/metadata/refresh/subscriptions.ts';
import { putReport } from '../support/metadata/refresh-fleet.ts';
import { openTestRefresh } from '../support/metadata/refresh-test.ts';
import { emptyBuckets } from '../support/stack/empty-buckets.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
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

const open = (...more: [NodeJS.ProcessEnv?, Parameters<typeof openTestRefresh>[2]?]) =>
  openTestRefresh(engines.nats.url, ...more);

type Opened = Awaited<ReturnType<typeof open>>;

/** Writes to a record and waits until the copy has it. */
const change = async (edit: () => Promise<unknown>, isKnown: () => boolean): Promise<void> => {
  await edit();
  await until('the copy of the records has it', isKnown);
};

const disable = (opened: Opened, index: number, kind: 'groups' | 'dataSources' | 'tables'): Promise<void> => {
  const id = 1_500_000 + index;
  const setEnabled = async (): Promise<void> => {
    if (kind === 'groups') await opened.records.groups.change(id, (one) => ({ ...one, is_enable: false }));
    else if (kind === 'tables')
      await opened.records.tables.change(id, (one) => ({ ...one, is_enable: false }));
    else await opened.records.dataSources.change(id, (one) => ({ ...one, is_enable: false }));
  };
  return change(setEnabled, () => opened.records[kind].known(id)?.value.is_enable === false);
};

const known = (opened: Opened, count: number): Promise<true> =>
  until(`${count} reports are known`, () => {
    const ids = opened.records.reports.list().map(({ id }) => id);
    if (ids.length !== count) throw new Error(`known are [${ids.join()}]`);
    return true;
  });

const ask = async (
  { refresh }: Opened,
  path: string,
  token = 'node-of-all',
  headers: Record<string, string> = {},
) => {
  const response = await refresh.pollingApp.request(path, {
    headers: { ...(token === '' ? {} : { Authorization: `Bearer ${token}` }), ...headers },
  });
  const text = await response.text();
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  return { status: response.status, headers: response.headers, body };
};

type Items = z.output<typeof nodeSubscriptionSchema>[];

/** All pages of one state. */
const readAll = async (opened: Opened, biz: number, limit: number): Promise<Items> => {
  const items: Items = [];
  let cursor = '';
  do {
    const { status, body } = await ask(opened, `/v1/subscriptions/${biz}?limit=${limit}${cursor}`);
    expect(status).toBe(200);
    const page = nodeSubscriptionsSchema.parse(body);
    items.push(...page.items);
    cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
  } while (cursor !== '');
  return items;
};

const lastSequences = async (bus: Bus): Promise<Record<string, number>> => {
  const manager = await bus.manager();
  const entries = [buckets.records, buckets.system].map(async (name) => {
    const { state } = await manager.streams.info(`KV_${name}`);
    return [name, state.last_seq] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
};

describe('a run with polling nodes', () => {
  it('gives each active report its document, updates changed ones and removes the others', async () => {
    const opened = await open();
    const { records, refresh } = opened;
    const made = [await putReport(records, 1), await putReport(records, 2), await putReport(records, 3, 3)];
    await known(opened, 3);

    const first = refreshRunSchema.parse(await refresh.runNow());
    expect(first).toMatchObject({ run_id: 1, trigger: 'manual', state: 'done', created: 3, failed: [] });
    expect((await readAll(opened, 0, 1000)).map(({ document }) => parse(document).token)).toEqual(
      made.map(({ dataSource }) => dataSource.token),
    );

    expect(await refresh.runNow()).toMatchObject({ run_id: 2, unchanged: 3, created: 0, updated: 0 });

    await change(
      () => records.groups.change(1_500_001, (group) => ({ ...group, max_rate: -5 })),
      () => records.groups.known(1_500_001)?.value.max_rate === -5,
    );
    expect(await refresh.runNow()).toMatchObject({ updated: 1, unchanged: 2, deleted: 0 });
    const [changed] = await readAll(opened, 2, 1000);
    expect(parse(changed?.document ?? '').default.processor[1].config).toEqual({
      type: 'token_bucket',
      qps: -5,
      burst: -5,
    });

    await disable(opened, 2, 'groups');
    await change(
      () => records.reports.change(3, (report) => ({ ...report, state: 'deleted' })),
      () => records.reports.known(3)?.value.state === 'deleted',
    );
    expect(await refresh.runNow()).toMatchObject({ unchanged: 1, deleted: 2 });
    expect((await readAll(opened, 0, 1000)).map(({ mon_data_id }) => mon_data_id)).toEqual([1_500_001]);
    expect(await records.bucket.get(recordKeys.subscription(1_500_002))).toBeUndefined();

    const runs = await refresh.runs.list();
    expect(runs.map(({ run_id }) => run_id)).toEqual([4, 3, 2, 1]);
    expect(await refresh.runs.get(3)).toEqual(runs[1]);
    expect(await refresh.runs.get(5)).toBeUndefined();
  });

  it.each(['groups', 'dataSources', 'tables'] as const)(
    'takes a report out that is disabled in its %s',
    async (kind) => {
      const opened = await open();
      await putReport(opened.records, 1);
      await known(opened, 1);
      expect(await opened.refresh.runNow()).toMatchObject({ created: 1 });
      await disable(opened, 1, kind);
      expect(await opened.refresh.runNow()).toMatchObject({ deleted: 1, unchanged: 0 });
      expect(await readAll(opened, 0, 10)).toEqual([]);
    },
  );

  it('gives both tokens files during the overlap of a rotation, and the old one none after it', async () => {
    let now = 1_800_000_000;
    const opened = await open({}, { now: () => now * 1000 });
    const { records, refresh } = opened;
    const { dataSource } = await putReport(records, 1);
    await known(opened, 1);
    await refresh.runNow();
    const token = 'f'.repeat(32);
    await records.previousTokens.put(1_500_001, { token: dataSource.token, expires_at: now + 3600 });
    await change(
      () => records.dataSources.change(1_500_001, (one) => ({ ...one, token })),
      () => records.dataSources.known(1_500_001)?.value.token === token,
    );
    expect(await refresh.runNow()).toMatchObject({ updated: 1 });
    const items = await readAll(opened, 2, 1);
    expect(items.map(({ name, document }) => [name, parse(document).token])).toEqual([
      ['bk-collector-report-v2-1500001.conf', token],
      ['bk-collector-report-v2-1500001-previous.conf', dataSource.token],
    ]);
    expect(items.map(({ document, md5 }) => md5Of(document) === md5)).toEqual([true, true]);
    const shown = JSON.stringify([refresh.subscriptions.list(), await refresh.subscriptions.get(1_500_001)]);
    expect(shown).toContain(`"expires_at":${now + 3600}`);
    expect(shown).not.toContain(dataSource.token);
    const { headers } = await ask(opened, '/v1/subscriptions/2');
    // The overlap ends between two runs.
    now += 3600;
    const after = await ask(opened, '/v1/subscriptions/2', 'node-of-2', {
      'If-None-Match': headers.get('ETag') ?? '',
    });
    expect(after).toMatchObject({ status: 200, body: { total: 1 } });
    expect((await readAll(opened, 2, 1)).map(({ document }) => parse(document).token)).toEqual([token]);
    expect(await refresh.runNow()).toMatchObject({ updated: 1 });
    expect(await refresh.runNow()).toMatchObject({ unchanged: 1 });
  });

  it('gives a report that was made step by step its document, and takes it out when it is disabled', async () => {
    const opened = await open();
    const { records, refresh } = opened;
    await putReport(records, 1);
    await known(opened, 1);
    await records.bucket.delete(recordKeys.report(1));
    await known(opened, 0);
    expect(await refresh.runNow()).toMatchObject({ created: 1, failed: [] });
    expect(await readAll(opened, 2, 10)).toHaveLength(1);
    expect(await refresh.subscriptions.get(1_500_001)).toMatchObject({ custom_report_id: null });
    // A deployment that is moved goes on with it.
    const { subscriptions } = await exportRecords(records);
    expect(subscriptions).toMatchObject({ '1500001': { custom_report_id: null } });
    await disable(opened, 1, 'tables');
    expect(await refresh.runNow()).toMatchObject({ deleted: 1 });
    expect(await readAll(opened, 2, 10)).toEqual([]);
  });

  it('names files and the business in the prefix of another platform, which must be one', async () => {
    const opened = await open({ TIDEMARK_NODE_MANAGEMENT_PREFIX: 'acme' });
    await putReport(opened.records, 1);
    await known(opened, 1);
    await opened.refresh.runNow();
    const [item] = await readAll(opened, 2, 10);
    expect(item?.name).toBe('acme-collector-report-v2-1500001.conf');
    expect(parse(item?.document ?? '')).toMatchObject({ acme_biz_id: 2 });
    await expect(open({ TIDEMARK_NODE_MANAGEMENT_PREFIX: 'a: b' })).rejects.toMatchObject({
      code: 'config_invalid',
    });
  });

  it('keeps the last hundred runs', async () => {
    const { refresh, records } = await open();
    for (let run = 0; run < 103; run++) await refresh.runNow();
    const runs = await refresh.runs.list();
    expect(runs.map(({ run_id }) => run_id)).toEqual(Array.from({ length: 100 }, (_, index) => 103 - index));
    expect(await refresh.runs.get(3)).toBeUndefined();
    expect(await records.system.get('refresh_run.100')).toBeUndefined();
  });

  it('writes nothing for 10,000 unchanged reports but its own record and the lease', async () => {
    const opened = await open();
    const { records, refresh, bus } = opened;
    const count = 10_000;
    for (let from = 1; from <= count; from += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => putReport(records, from + index)));
    }
    await until('all reports are known', () => records.reports.list().length === count, 60_000);
    const first = await refresh.runNow();
    expect(first).toMatchObject({ created: count, failed: [] });
    const before = await lastSequences(bus);
    const begunAt = performance.now();
    const second = await refresh.runNow();
    const tookMs = performance.now() - begunAt;
    expect(second).toMatchObject({ unchanged: count, created: 0, updated: 0, deleted: 0 });
    const after = await lastSequences(bus);
    process.stdout.write(
      `10,000 reports: created in ${first.duration_ms} ms, found unchanged in ${second.duration_ms} ms\n`,
    );
    expect(after[buckets.records]).toBe(before[buckets.records]);
    // Lease taken and given back, run begun and done, and at most a renewal every half second.
    const own = (after[buckets.system] ?? 0) - (before[buckets.system] ?? 0);
    expect(own).toBeLessThanOrEqual(4 + Math.ceil(tookMs / 500));
    expect(second.duration_ms).toBeLessThan(50_000);
  });
});

describe('several processes', () => {
  it('make one run of one time', async () => {
    const env = { TIDEMARK_REFRESH_CRON: '* * * * * *' };
    const opened = [await open(env), await open(env), await open(env)];
    const begun = Math.floor(Date.now() / 1000);
    for (const { refresh } of opened) refresh.start();
    const [{ refresh: any } = await open(env)] = opened;
    const runs = await until('four runs', async () => {
      const list = await any.runs.list();
      return list.length >= 4 && list;
    });
    // The time table names each second once. Runs that are late may begin in the same second.
    const latest = Math.max(...runs.map(({ started }) => started));
    expect(runs.length).toBeLessThanOrEqual(latest - begun);
    expect(runs.every(({ trigger }) => trigger === 'schedule')).toBe(true);
  });

  it('answer calls by hand at once with one run or with runs one after another, never with two at a time', async () => {
    const opened = [await open(), await open(), await open()];
    const [first] = opened;
    if (first === undefined) throw new Error('unreachable');
    for (let index = 1; index <= 50; index++) await putReport(first.records, index);
    for (const each of opened) await known(each, 50);
    const runs = await Promise.all(opened.flatMap(({ refresh }) => [refresh.runNow(), refresh.runNow()]));
    expect(runs.every(({ state }) => state === 'done')).toBe(true);
    expect(
      runs.reduce(
        (sum, run, at) =>
          runs.findIndex(({ run_id }) => run_id === run.run_id) === at ? sum + run.created : sum,
        0,
      ),
    ).toBe(50);
  });

  it('do not run at the start, only at a time of the table', async () => {
    const opened = await open({ TIDEMARK_REFRESH_CRON: '0 0 1 1 *' });
    opened.refresh.start();
    await putReport(opened.records, 1);
    await known(opened, 1);
    expect(await opened.refresh.runNow()).toMatchObject({ run_id: 1, trigger: 'manual' });
  });
});

describe('the polling endpoint', () => {
  const withReports = async (count: number) => {
    const opened = await open();
    for (let index = 1; index <= count; index++)
      await putReport(opened.records, index, index % 2 === 0 ? 2 : 3);
    await known(opened, count);
    await opened.refresh.runNow();
    return opened;
  };

  it('answers each business its files, and business 0 all of them', async () => {
    const opened = await withReports(5);
    const ids = async (biz: number) => (await readAll(opened, biz, 2)).map(({ mon_data_id }) => mon_data_id);
    expect(await ids(2)).toEqual([1_500_002, 1_500_004]);
    expect(await ids(3)).toEqual([1_500_001, 1_500_003, 1_500_005]);
    expect(await ids(0)).toEqual([1_500_001, 1_500_002, 1_500_003, 1_500_004, 1_500_005]);
    expect(await ids(-4)).toEqual([]);
    const [item] = await readAll(opened, 2, 1);
    expect(item).toMatchObject({ subscription_id: 1_500_002, name: 'bk-collector-report-v2-1500002.conf' });
  });

  it('answers 304 until a file of the business changes', async () => {
    const opened = await withReports(4);
    const { headers } = await ask(opened, '/v1/subscriptions/2');
    const etag = headers.get('ETag') ?? '';
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    const again = (tag: string) => ask(opened, '/v1/subscriptions/2', 'node-of-2', { 'If-None-Match': tag });
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      expect(await again(tag)).toMatchObject({ status: 304, body: undefined });
    }
    expect((await again('"other"')).status).toBe(200);

    await disable(opened, 1, 'groups');
    await opened.refresh.runNow();
    expect((await again(etag)).status).toBe(304);
    await disable(opened, 2, 'groups');
    await opened.refresh.runNow();
    const changed = await again(etag);
    expect(changed.status).toBe(200);
    expect(changed.headers.get('ETag')).not.toBe(etag);
  });

  // A node that mixed two states could remove a file that it should keep.
  it('gives pages of one state only', async () => {
    const opened = await withReports(6);
    const first = nodeSubscriptionsSchema.parse((await ask(opened, '/v1/subscriptions/0?limit=4')).body);
    expect(first).toMatchObject({ total: 6 });
    await disable(opened, 1, 'groups');
    await opened.refresh.runNow();
    const second = await ask(opened, `/v1/subscriptions/0?limit=4&cursor=${first.next_cursor}`);
    expect(second).toMatchObject({ status: 409, body: { code: 'subscriptions_changed' } });
    expect(await readAll(opened, 0, 4)).toHaveLength(5);
    expect(await readAll(opened, 0, 5)).toHaveLength(5);
  });

  it.each([
    ['no token', '/v1/subscriptions/2', '', 401, 'unauthorized'],
    ['a wrong token', '/v1/subscriptions/2', 'nobody', 401, 'unauthorized'],
    ['the token of another business', '/v1/subscriptions/2', 'node-of-3', 403, 'forbidden'],
    ['the token of one business for all', '/v1/subscriptions/0', 'node-of-3', 403, 'forbidden'],
    ['no business', '/v1/subscriptions/x', 'node-of-all', 404, 'not_found'],
    ['no limit', '/v1/subscriptions/2?limit=0', 'node-of-all', 422, 'invalid_value'],
    ['a strange cursor', '/v1/subscriptions/2?cursor=x', 'node-of-all', 422, 'invalid_value'],
    ['an unknown parameter', '/v1/subscriptions/2?page=2', 'node-of-all', 422, 'invalid_value'],
  ])('refuses %s', async (_, path, token, status, code) => {
    const opened = await withReports(2);
    const answer = await ask(opened, path, token);
    expect(answer).toMatchObject({ status, body: { code, status } });
    expect(answer.headers.get('Content-Type')).toBe('application/problem+json');
  });

  it('is the only view with a token in it', async () => {
    const opened = await withReports(1);
    const token = opened.records.dataSources.known(1_500_001)?.value.token ?? 'none';
    const list = z.array(subscriptionSchema).parse(opened.refresh.subscriptions.list());
    const one = subscriptionSchema.parse(await opened.refresh.subscriptions.get(1_500_001));
    expect(parse(list[0]?.document ?? '').token).toBe('*'.repeat(32));
    expect(parse(one.document).token).toBe(`${token.slice(0, 4)}${'*'.repeat(28)}`);
    const all = JSON.stringify([list, one, await opened.refresh.runs.list(), await opened.registryText()]);
    expect(all).not.toContain(token.slice(4));
    expect(JSON.stringify(await readAll(opened, 3, 10))).toContain(token);
    expect(await opened.refresh.subscriptions.get(1)).toBeUndefined();
  });
});

describe('the figures', () => {
  it('report the results of the runs', async () => {
    const opened = await open();
    await putReport(opened.records, 1);
    await known(opened, 1);
    await opened.refresh.runNow();
    await opened.refresh.runNow();
    const text = await opened.registryText();
    expect(text).toMatch(/tidemark_refresh_runs_total\{trigger="manual",state="done",role="metadata"\} 2/);
    expect(text).toMatch(/tidemark_refresh_reports_total\{outcome="created",role="metadata"\} 1/);
    expect(text).toMatch(/tidemark_refresh_reports_total\{outcome="unchanged",role="metadata"\} 1/);
    expect(text).toMatch(/tidemark_refresh_last_success_timestamp_seconds\{role="metadata"\} 1\d{9}/);
    expect(text).toMatch(/tidemark_refresh_subscriptions\{role="metadata"\} 1/);
  });
});
