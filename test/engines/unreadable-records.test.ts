import { Kvm } from '@nats-io/kv';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buckets, columnsKey, recordKeys } from '../../src/directory/keys.ts';
import { createOtlpClient } from '../support/otlp/client.ts';
import { createPushClient } from '../support/push/client.ts';
import { type LiveRecords, openLiveRecords } from '../support/stack/live-records.ts';
import { readyzOf } from '../support/stack/readiness.ts';
import { type Application, type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { until } from '../support/until.ts';

let stack: Stack;
let live: LiveRecords;
let broken: Report;
let healthy: Report;
let application: Application;
beforeAll(async () => {
  stack = await startStack({ ingress: 2 });
  live = await openLiveRecords(stack);
  broken = await stack.createReport('broken');
  healthy = await stack.createReport('healthy');
  application = await stack.createApplication('broken');
});
afterAll(async () => {
  await live?.close();
  await stack?.stop();
});

/** Stores bytes as they are, as another program would. */
const putText = async (bucket: string, key: string, text: string): Promise<void> => {
  await (await new Kvm(live.bus.js).open(bucket)).put(key, text);
};

const push = async (at: number, { data_source: { mon_data_id, token } }: Report) => {
  const client = createPushClient(stack.ingress[at]?.ports['push'] ?? 0);
  const point = { metrics: { cpu: 1 }, target: 'a', dimension: {}, timestamp: Date.now() };
  const body = JSON.stringify({ data_id: mon_data_id, access_token: token, data: [point] });
  const answer = await client.send({ body });
  client.close();
  return answer;
};

const exportSpans = async (at: number): Promise<number> => {
  const client = createOtlpClient(stack.ingress[at]?.ports['otlp'] ?? 0);
  const headers = { 'Content-Type': 'application/json', 'X-MON-TOKEN': application.token };
  const body = JSON.stringify({ resourceSpans: [] });
  const { status } = await client.send({ path: '/v1/traces', headers, body });
  client.close();
  return status;
};

const names = (at: number) => async () => (await readyzOf(stack.ingress[at])).degraded['records'];

it('values that are not JSON stop no other owner: changes arrive, and roles that start with them serve', async () => {
  const dataId = broken.data_source.mon_data_id;
  await putText(buckets.records, 'application.999', '{broken');
  await putText(buckets.records, recordKeys.application(application.app_id), '{broken');
  await putText(buckets.columns, columnsKey(dataId), '');
  await putText(buckets.system, 'resume.metrics', '{broken');
  for (const role of [stack.ingress[1], stack.metadata]) {
    await role?.stop();
    role?.start();
  }
  await until('metadata serves', async () => (await readyzOf(stack.metadata)).status === 200, 60_000);
  await until('metadata names them', async () =>
    (await readyzOf(stack.metadata)).degraded['records']?.startsWith('2 records cannot be read: '),
  );
  for (const at of [0, 1]) {
    await until('the receiver is ready', async () => (await readyzOf(stack.ingress[at])).status === 200);
    await until('the receiver names them', async () =>
      (await names(at)())?.startsWith('3 records cannot be read: '),
    );
    expect((await push(at, healthy)).status).toBe(200);
    const refused = await push(at, broken);
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBeDefined();
    expect(refused.text).toContain(columnsKey(dataId));
    expect(await exportSpans(at)).toBe(503);
    // Once by each process, with its key; the second one was started again.
    const lines = stack.ingress[at]?.lines.filter((line) => line.includes('a record cannot be read')) ?? [];
    expect(lines.filter((line) => line.includes('"application.999"')).length).toBe(1 + at);
  }
  await live.edit(recordKeys.dataSource(healthy.data_source.mon_data_id), { is_enable: false });
  for (const at of [0, 1])
    await until('the change arrives', async () => (await push(at, healthy)).status === 403);
  const { state } = await (await live.bus.manager()).streams.info(`KV_${buckets.records}`);
  expect(state.consumer_count).toBeLessThan(30);
});

it('the repair takes effect at once, in every process', async () => {
  const records = await new Kvm(live.bus.js).open(buckets.records);
  const columns = await new Kvm(live.bus.js).open(buckets.columns);
  await records.delete('application.999');
  await live.application(application.app_id, application.token);
  await columns.delete(columnsKey(broken.data_source.mon_data_id));
  for (const at of [0, 1]) {
    await until('nothing is named', async () => (await names(at)()) === undefined);
    expect((await push(at, broken)).status).toBe(200);
    expect(await exportSpans(at)).toBe(200);
  }
});
