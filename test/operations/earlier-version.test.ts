import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { buckets, recordKeys } from '../../src/directory/keys.ts';
import {
  type Batch,
  dataPointsBatch,
  pointsBatch,
  settledOnce,
  spansBatch,
  storedOnce,
} from '../support/push/batches.ts';
import { type EarlierProgram, unpackEarlierProgram } from '../support/stack/earlier-program.ts';
import { type Stack, startStack, testPipelines } from '../support/stack/stack.ts';
import { openTempFolder } from '../support/stack/temp-folder.ts';
import { waitFor } from '../support/wait.ts';

let earlier: EarlierProgram;
beforeAll(() => {
  earlier = unpackEarlierProgram();
});
afterAll(() => earlier?.remove());

// In an upgrade receivers of both versions take requests for a while, and a sender's retry may meet either.
describe('a receiver of the version before beside one of this', () => {
  let stack: Stack;
  let batches = 0;
  const now = 0;
  const before = 1;
  beforeAll(async () => {
    stack = await startStack({
      ...{ ingress: 2, traces: true, programs: { 'ingress-1': earlier.folder } },
      roleEnv: async (role): Promise<Record<string, string>> =>
        role === 'ingress-1' ? { TIDEMARK_PIPELINES: join(earlier.folder, 'pipelines') } : {},
    });
    // An installation that began with the earlier version has owners, and so no key (architecture 5.2).
    const bus = await connectBus(stack.engines.nats.url, 'test');
    await (await openKvBucket(bus, buckets.records)).delete(recordKeys.identityKey);
    await bus.close();
  });
  afterAll(() => stack?.stop());

  const rotate = async (path: string): Promise<string> => {
    const { status, body } = await stack.api('POST', `/api/v1/${path}/rotate-token`, {
      overlap_seconds: 3600,
    });
    expect(status).toBe(200);
    return String(Object(body).token);
  };
  const nextName = (): string => `beside ${++batches}`;

  it.each([
    ['this version to the one before', now, before],
    ['the version before to this one', before, now],
  ])('stores a retry from %s once', async (_, first, second) => {
    const pushed = await pointsBatch(stack, nextName(), { key: 'a key' });
    // Several messages: each receiver cuts a request into the same ones.
    const large = await pointsBatch(stack, nextName(), { key: 'a key', items: 3_000, targetLength: 400 });
    const exported = await spansBatch(stack, nextName());
    for (const batch of [pushed, large, exported]) {
      await batch.sendUntilTaken(first);
      await batch.sendUntilTaken(second);
      expect(await batch.settled()).toEqual(settledOnce(batch.items));
    }
  });

  it('stores once the requests of the earlier version, under a token that was rotated since', async () => {
    const pushed = await pointsBatch(stack, nextName(), { key: 'a key' });
    const exported = await spansBatch(stack, nextName());
    await pushed.sendUntilTaken(before);
    await exported.sendUntilTaken(before);
    const pushToken = await rotate(`data-sources/${pushed.dataId}`);
    const exportToken = await rotate(`applications/${exported.appId}`);
    const again: readonly (readonly [Batch, () => Promise<number | 'unanswered'>])[] = [
      [
        pushed,
        async () => (await pushed.send(now, pushed.body.replaceAll(pushed.accessToken, pushToken))).status,
      ],
      [
        exported,
        async () => {
          const url = `http://127.0.0.1:${stack.ingress[now]?.ports['otlp']}/v1/traces`;
          const headers = { 'content-type': 'application/json', 'x-mon-token': exportToken };
          return (await fetch(url, { method: 'POST', headers, body: exported.body })).status;
        },
      ],
    ];
    for (const [batch, send] of again) {
      await waitFor('the new token is taken', 60_000, async () => (await send()) === 200);
      // The earlier version has the old token, which is valid for an hour.
      await batch.sendUntilTaken(before);
      expect(await batch.settled()).toEqual(settledOnce(batch.items));
    }
  });

  it('is one of the version before', () => {
    const { pid = 0 } = stack.ingress[before] ?? {};
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toContain(earlier.folder);
  });

  it('gives no two points one place, though both count their uids', async () => {
    const batch = await pointsBatch(stack, nextName());
    for (const receiver of [now, before, now, before]) await batch.sendUntilTaken(receiver);
    expect(await batch.settled()).toEqual(settledOnce(4 * batch.items));
  });
});

// In an upgrade workers of both versions take messages for a while; the earlier one knows neither log records nor data points.
describe('a transfer of the version before beside one of this', () => {
  let stack: Stack;
  let folder: Awaited<ReturnType<typeof openTempFolder>>;
  beforeAll(async () => {
    folder = await openTempFolder();
    const pipelines = testPipelines(folder.path, 6, undefined, undefined, earlier.folder);
    stack = await startStack({
      ...{ transfer: 2, traces: true, programs: { 'transfer-1': earlier.folder } },
      roleEnv: async (role): Promise<Record<string, string>> =>
        role === 'transfer-1' ? { TIDEMARK_PIPELINES: pipelines } : {},
    });
  });
  afterAll(async () => {
    await stack?.stop();
    await folder?.remove();
  });

  it('holds back what it cannot read: data points are stored meanwhile, and all of it once when it has ended', async () => {
    const dataPoints = await dataPointsBatch(stack, 'data points');
    const others = [await pointsBatch(stack, 'points'), await spansBatch(stack, 'spans')];
    // Enough that each worker gets messages; of one application equal requests would be one and its retries.
    const times = 12;
    const sendOneOf = async ({ send, body }: Batch, round: number): Promise<void> =>
      expect(await send(0, body.replaceAll(/metric \d+|operation/g, `$& of ${round}`))).toMatchObject({
        status: 200,
      });
    for (let round = 0; round < times; round++) {
      await Promise.all([dataPoints, ...others].map((batch) => sendOneOf(batch, round)));
    }
    await stack.waitForEmptyStream('OTEL_METRICS');
    expect(await dataPoints.stored()).toEqual(storedOnce(times * dataPoints.items));
    const { pid = 0 } = stack.transfer[1] ?? {};
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toContain(earlier.folder);
    expect(await stack.transfer[1]?.stop()).toBe(0);
    for (const batch of [dataPoints, ...others]) {
      const { stream, items } = batch;
      expect({ stream, ...(await batch.settled()) }).toEqual({ stream, ...settledOnce(times * items) });
    }
    expect(await stack.streamState('DEADLETTER')).toMatchObject({ last_seq: 0 });
  });
});
