import { afterAll, beforeAll, beforeEach } from 'vitest';
import { recordKeys } from '../../../src/directory/keys.ts';
import { heldSubscriptionSchema } from '../../../src/metadata/refresh/subscriptions.ts';
import { type NodeManagementServer, startNodeManagement } from '../../support/metadata/node-management.ts';
import { putReport } from '../../support/metadata/refresh-fleet.ts';
import { openTestRefresh } from '../../support/metadata/refresh-test.ts';
import { emptyBuckets } from '../../support/stack/empty-buckets.ts';
import { startEngines, type TestEngines } from '../../support/stack/engines.ts';
import { until } from '../../support/until.ts';

let engines: TestEngines;
beforeAll(async () => {
  engines = await startEngines({ nats: true });
});
afterAll(async () => {
  await engines?.stop();
});

/** The NATS server of all rooms of the test file. */
export const natsUrl = (): string => engines.nats.url;

/** Every test has a deployment of its own. */
beforeEach(() => emptyBuckets(natsUrl()));

export const apiToken = 'node-management-secret';

export const envOf = (server: NodeManagementServer, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  TIDEMARK_NODE_MANAGEMENT_URL: server.url,
  TIDEMARK_NODE_MANAGEMENT_TOKEN: apiToken,
  TIDEMARK_NODE_MANAGEMENT_HOSTS: '0:11,2:21,2:22',
  TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS: '400',
  TIDEMARK_REFRESH_CRON: '0 0 1 1 *',
  ...more,
});

export type Opened = Awaited<ReturnType<typeof openTestRefresh>>;

export const known = (opened: Opened, count: number): Promise<true> =>
  until(`${count} reports are known`, () => {
    const ids = opened.records.reports.list().map(({ id }) => id);
    if (ids.length !== count) throw new Error(`known are [${ids.join()}]`);
    return true;
  });

/** A server, the job, and this many active reports of business 2. */
export const setUp = async (count: number, more: NodeJS.ProcessEnv = {}) => {
  const server = await startNodeManagement();
  const opened = await openTestRefresh(natsUrl(), envOf(server, more));
  const made = await Promise.all(
    Array.from({ length: count }, (_, index) => putReport(opened.records, index + 1)),
  );
  await known(opened, count);
  return { server, opened, made, ...opened };
};

export const setEnabled = async ({ records }: Opened, dataId: number, is_enable: boolean): Promise<void> => {
  await records.groups.change(dataId, (one) => ({ ...one, is_enable }));
  await until('the copy has it', () => records.groups.known(dataId)?.value.is_enable === is_enable);
};

export const setRate = async ({ records }: Opened, dataId: number, max_rate: number): Promise<void> => {
  await records.groups.change(dataId, (one) => ({ ...one, max_rate }));
  await until('the copy has it', () => records.groups.known(dataId)?.value.max_rate === max_rate);
};

export const held = async ({ records }: Opened, dataId: number) => {
  const stored = await records.bucket.get(recordKeys.subscription(dataId));
  return stored && heldSubscriptionSchema.parse(stored.value);
};

export const actions = (server: NodeManagementServer): string[] =>
  server.calls.map(({ action, body }) => (body.action === undefined ? action : `${action} ${body.action}`));

/** The data ids that the server has subscriptions of: one each. */
export const remoteIds = (server: NodeManagementServer): unknown[] =>
  [...server.subscriptions.values()]
    .map(({ params }) => params.steps?.[0]?.params.context['mon_data_id'])
    .toSorted((left, right) => Number(left) - Number(right));
