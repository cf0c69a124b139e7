import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type KvBucket, openKvBucket } from '../../src/bus/kv.ts';
import { registryIn } from '../../src/directory/column-registry.ts';
import { buckets, columnsKey } from '../../src/directory/keys.ts';
import { openRaw } from '../support/http/raw-client.ts';
import { createPushClient, type PushAnswer, type PushClient } from '../support/push/client.ts';
import { plainSuccess } from '../support/push/replies.ts';
import { bodyOf } from '../support/push/stack.ts';
import { type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

// A column is taken for good: no call gives it back. So a request of which nothing is stored must take none.

const bytesInFlightMax = 2 ** 20;
const strictPath = '/v2/push/?strict=true';

let stack: Stack;
let bus: Bus;
let columns: KvBucket;
let client: PushClient;

beforeAll(async () => {
  stack = await startStack({ env: { TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX: String(bytesInFlightMax) } });
  bus = await connectBus(stack.engines.nats.url, 'test');
  columns = await openKvBucket(bus, buckets.columns);
  client = createPushClient(stack.ingress[0]?.ports['push'] ?? 0);
});
afterAll(async () => {
  client?.close();
  await bus?.close();
  await stack?.stop();
});

/** The names that have a column in the table of a report. */
const namesOf = async (report: Report): Promise<string[]> => {
  const dataId = report.data_source.mon_data_id;
  const { metrics, dimensions } = registryIn(await columns.get(columnsKey(dataId)), dataId);
  return [...metrics, ...dimensions].map(({ name }) => name);
};

const push = (report: Report, data: readonly object[], path = '/v2/push/'): Promise<PushAnswer> =>
  client.send({ path, body: bodyOf(report, data) });

const typos = { metrics: { cpuu: 1, mmem: 2, diskk: 3 }, dimension: { hosst: 'a' } };
const beyondTheLimit = {
  metrics: Object.fromEntries(Array.from({ length: 513 }, (_, index) => [`m${index}`, index])),
};

it.each([
  ['for a point that breaks a rule', [typos, { metrics: {} }]],
  ['for a point with an invalid time', [typos, { metrics: { cpu: 1 }, timestamp: 5 }]],
  ['for a value beyond the limit of columns', [beyondTheLimit]],
])('a push that strict refuses %s takes no column', async (what, data) => {
  const report = await stack.createReport(what);
  expect((await push(report, data, strictPath)).status).toBe(400);
  expect(await namesOf(report)).toEqual([]);
  expect((await push(report, [{ metrics: { cpu: 1 } }], strictPath)).text).toBe(plainSuccess);
  expect(await namesOf(report)).toEqual(['cpu']);
});

/** Holds a part of the room with a body that arrives fast enough to keep it. Ends on request. */
const holdRoom = async (): Promise<() => void> => {
  const connection = await openRaw(stack.ingress[0]?.ports['push'] ?? 0);
  connection.send('POST /v2/push/ HTTP/1.1\r\nHost: a\r\nContent-Length: 16000000\r\n\r\n');
  const piece = Buffer.alloc(8_000, ' ');
  const timer = setInterval(() => connection.send(piece), 50);
  // The rows take all but 27 KB of the room.
  await waitFor('100 KB of the room to be held', 60_000, async () =>
    /^tidemark_ingress_bytes_in_flight\{.*\} [1-9]\d{5}/m.test((await stack.ingress[0]?.metrics()) ?? ''),
  );
  return () => {
    clearInterval(timer);
    connection.destroy();
  };
};

it('a push whose rows find no room takes no column', async () => {
  const report = await stack.createReport('no room', { is_split_measurement: true });
  // Each of the hundred rows repeats the target: the body has a room that its rows do not have.
  const metrics = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`m${index}`, index]));
  const release = await holdRoom();
  try {
    const answer = await push(report, [{ metrics, target: 'x'.repeat(10_000) }]);
    expect([answer.status, answer.json]).toEqual([503, expect.objectContaining({ reason: 'not_stored' })]);
    expect(await namesOf(report)).toEqual([]);
  } finally {
    release();
  }
});
