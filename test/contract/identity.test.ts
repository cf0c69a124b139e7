import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type KvBucket, openKvBucket } from '../../src/bus/kv.ts';
import { epochParts, takeEpoch } from '../../src/directory/epoch.ts';
import { systemKeys } from '../../src/directory/keys.ts';
import { pointsBatch, settledOnce, spansBatch } from '../support/push/batches.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { type LiveRecords, openLiveRecords } from '../support/stack/live-records.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { until } from '../support/until.ts';
import { waitFor } from '../support/wait.ts';

let batches = 0;
const nextName = (): string => `identity ${++batches}`;

/** Requests that a receiver took for repeats. */
const repeatsAt = async (stack: Stack, receiver: number): Promise<number> =>
  [
    ...((await stack.ingress[receiver]?.metrics()) ?? '').matchAll(
      /duplicate_requests_total\{[^}]*\} (\d+)/g,
    ),
  ].reduce((sum, [, count]) => sum + Number(count), 0);

describe('two receivers', () => {
  let stack: Stack;
  let live: LiveRecords;
  beforeAll(async () => {
    stack = await startStack({ ingress: 2, traces: true });
    live = await openLiveRecords(stack);
  });
  afterAll(async () => {
    await live?.close();
    await stack?.stop();
  });

  describe('epochs', () => {
    const minute = 60_000;
    const epoch = Date.UTC(2024, 0, 1);
    const buses: Bus[] = [];
    let buckets = 0;
    /** A store of their own, as two processes see it. */
    const openTwice = async (): Promise<[KvBucket, KvBucket]> => {
      const name = `boots-${++buckets}`;
      while (buses.length < 2) buses.push(await connectBus(stack.engines.nats.url, 'boots'));
      const [one, other] = await Promise.all(buses.map((bus) => openKvBucket(bus, name)));
      if (one === undefined || other === undefined) throw new Error('two buses are needed');
      return [one, other];
    };
    afterAll(() => Promise.all(buses.map((bus) => bus.close())));

    it('are never given twice, though many processes start at once', async () => {
      const stores = await openTwice();
      const now = epoch + 1_000 * minute;
      const boots = await Promise.all(
        Array.from({ length: 12 }, (_, index) => takeEpoch(stores[index % 2] ?? stores[0], now)),
      );
      expect(boots.toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 12 }, (_, index) => (1_000 + index) * epochParts),
      );
    });

    it('rise with every start, though the clock goes back', async () => {
      const [store] = await openTwice();
      expect(await takeEpoch(store, epoch + 500 * minute)).toBe(500 * epochParts);
      expect(await takeEpoch(store, epoch + 100 * minute)).toBe(501 * epochParts);
      expect(await takeEpoch(store, epoch - 100 * minute)).toBe(502 * epochParts);
      expect(await takeEpoch(store, epoch + 503 * minute)).toBe(503 * epochParts);
    });

    it('rise although the store was lost, by the clock', async () => {
      const [before] = await openTwice();
      const last = await takeEpoch(before, epoch + 700 * minute);
      const [after] = await openTwice();
      expect(await takeEpoch(after, epoch + 701 * minute)).toBeGreaterThan(last);
    });

    it('differ and rise although the store was lost between two starts of one minute', async () => {
      const taken: number[] = [];
      for (let second = 0; second < 60; second++) {
        const [store] = await openTwice();
        taken.push(await takeEpoch(store, epoch + 700 * minute + second * 1_000));
      }
      expect(new Set(taken).size).toBe(60);
      expect(taken).toEqual(taken.toSorted((a, b) => a - b));
    });

    it('end below 2^24: nothing is taken then rather than a uid twice', async () => {
      const [store] = await openTwice();
      await store.put(systemKeys.boot, 2 ** 24 - 2);
      expect(await takeEpoch(store, epoch)).toBe((2 ** 24 - 1) * epochParts);
      await expect(takeEpoch(store, epoch)).rejects.toMatchObject({
        kind: 'internal',
        code: 'boot_numbers_exhausted',
      });
    });

    it('begin the uids of each process start, so that equal points of all of them are stored', async () => {
      const batch = await pointsBatch(stack, nextName());
      await batch.sendUntilTaken(0);
      await batch.sendUntilTaken(1);
      await stack.ingress[0]?.kill();
      stack.ingress[0]?.start();
      await stack.ingress[0]?.ready();
      await batch.sendUntilTaken(0);
      expect(await batch.settled()).toEqual(settledOnce(3 * batch.items));
      const { dataset } = await stack.query(
        `SELECT DISTINCT uid / ${2 ** 32} boot FROM "${batch.table}" ORDER BY boot`,
      );
      expect(dataset).toHaveLength(3);
    });
  });

  describe('an Idempotency-Key', () => {
    it('holds at every receiver: the retry through the other one is counted there, answered as one and not stored', async () => {
      const batch = await pointsBatch(stack, nextName(), { key: 'a key' });
      const before = await repeatsAt(stack, 1);
      const first = await batch.send(0);
      const second = await batch.send(1);
      expect([first.status, JSON.parse(first.text).message]).toEqual([200, '']);
      expect([second.status, second.text]).toEqual([200, expect.stringContaining('"received before: ')]);
      expect(await repeatsAt(stack, 1)).toBe(before + 1);
      expect(await batch.settled()).toEqual(settledOnce(batch.items));
    });

    it.each([
      ['one character', 'k'],
      ['any printable character', '~!@#$%^&*()"\'{}[]<>?/\\|,; =:'],
      ['4000 characters', 'k'.repeat(4_000)],
    ])('may be of %s, and another one differs by its last character', async (_, key) => {
      const batch = await pointsBatch(stack, nextName());
      const url = `http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`;
      const body = JSON.stringify({
        data_id: batch.dataId,
        access_token: batch.accessToken,
        data: [{ metrics: { value: 1 }, timestamp: Date.now() }],
      });
      for (const each of [key, key, `${key}.`, key]) {
        const answer = await fetch(url, { method: 'POST', headers: { 'idempotency-key': each }, body });
        expect(answer.status).toBe(200);
      }
      expect(await batch.settled()).toEqual(settledOnce(2));
    });

    it('stands for the first try, though the policy has changed before the second', async () => {
      const twoMessages = { items: 3_000, targetLength: 400, stepMs: -1_000 };
      const batch = await pointsBatch(stack, nextName(), { key: 'a key', ...twoMessages });
      expect(await batch.sendUntilTaken(0)).not.toContain('timestamp_too_old');
      await live.sourcePolicy(batch.dataId, { age_seconds_max: 1_500 });
      await waitFor('the policy holds at the other receiver', 60_000, async () => {
        const answer = await batch.push([{ metrics: { value: 1 }, timestamp: Date.now() - 1_600_000 }], 1);
        return answer.status === 400;
      });
      const probes = (await batch.settled()).rows - batch.items;
      const before = await repeatsAt(stack, 1);
      const { status, text } = await batch.send(1);
      expect([status, JSON.parse(text)]).toEqual([
        200,
        { code: '200', result: 'true', message: expect.stringMatching(/^received before/) },
      ]);
      expect(await repeatsAt(stack, 1)).toBe(before + 1);
      expect(await batch.settled()).toEqual(settledOnce(batch.items + probes));
    });
  });

  // Senders change over during the overlap, each when it can: what it repeats across that must not be stored beside its first try.
  describe('a token that is rotated', () => {
    const rotated = async (path: string): Promise<string> => {
      const { status, body } = await stack.api('POST', `/api/v1/${path}/rotate-token`, {
        overlap_seconds: 3600,
      });
      expect(status).toBe(200);
      return String(Object(body).token);
    };

    it.each([
      ['once', 1],
      ['twice', 2],
    ])('%s leaves a keyed push the repeat that it is, at every receiver', async (_, rotations) => {
      const batch = await pointsBatch(stack, nextName(), { key: 'a key' });
      await batch.sendUntilTaken(0);
      let token = '';
      for (let turn = 0; turn < rotations; turn++) token = await rotated(`data-sources/${batch.dataId}`);
      const before = await repeatsAt(stack, 1);
      const body = batch.body.replaceAll(batch.accessToken, token);
      const { text } = await waitFor('the new token is known', 60_000, async () => {
        const answer = await batch.send(1, body);
        return answer.status === 200 && answer;
      });
      expect(await repeatsAt(stack, 1)).toBe(before + 1);
      expect(text).toContain('"result":"true"');
      expect(await batch.settled()).toEqual(settledOnce(batch.items));
    });

    it.each<[string, (body: string, token: string) => string]>([
      ['twice', (body, token) => `${body.slice(0, -1)},"access_token":"${token}"}`],
      [
        'in escapes',
        (body, token) => body.replace(token, `\\u00${token.charCodeAt(0).toString(16)}${token.slice(1)}`),
      ],
    ])('leaves a keyed push the repeat that it is, where the body has the token %s', async (_, written) => {
      const batch = await pointsBatch(stack, nextName(), { key: 'a key' });
      const first = written(batch.body, batch.accessToken);
      await waitFor(
        'the first try is taken',
        60_000,
        async () => (await batch.send(0, first)).status === 200,
      );
      const token = await rotated(`data-sources/${batch.dataId}`);
      const body = written(batch.body.replaceAll(batch.accessToken, token), token);
      const { text } = await waitFor('the new token is known', 60_000, async () => {
        const answer = await batch.send(1, body);
        return answer.status === 200 && answer;
      });
      expect(text).toContain('received before');
      expect(await batch.settled()).toEqual(settledOnce(batch.items));
    });

    it.each([
      ['once', 1],
      ['twice', 2],
    ])('%s leaves an export the repeat that it is, at every receiver', async (_, rotations) => {
      const batch = await spansBatch(stack, nextName());
      await batch.sendUntilTaken(0);
      let token = '';
      for (let turn = 0; turn < rotations; turn++) token = await rotated(`applications/${batch.appId}`);
      const repeat = await waitFor('the new token is known', 60_000, async () => {
        const answer = await fetch(`http://127.0.0.1:${stack.ingress[1]?.ports['otlp']}/v1/traces`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-mon-token': token },
          body: batch.body,
        });
        return answer.status === 200 && answer.text();
      });
      expect(repeat).toContain('duplicate_request');
      expect(await batch.settled()).toEqual(settledOnce(batch.items));
    });

    it('and ends leaves an export the repeat that it is, where it was in the header and owned no item', async () => {
      const batch = await spansBatch(stack, nextName());
      const other = await spansBatch(stack, nextName());
      // A first token gives its own name also where it has ended.
      const second = await rotated(`applications/${other.appId}`);
      const request = JSON.parse(batch.body);
      for (const entry of request.resourceSpans) {
        const named = { key: 'mon.data.token', value: { stringValue: batch.token } };
        entry.resource = { ...entry.resource, attributes: [...(entry.resource?.attributes ?? []), named] };
      }
      const body = JSON.stringify(request);
      const send = async (receiver: number, text: string) => {
        const url = `http://127.0.0.1:${stack.ingress[receiver]?.ports['otlp']}/v1/traces`;
        const headers = { 'content-type': 'application/json', 'x-mon-token': second };
        return fetch(url, { method: 'POST', headers, body: text });
      };
      await waitFor('both tokens are known', 60_000, async () => {
        const answers = [await batch.send(0), await send(0, '{}'), await batch.send(1), await send(1, '{}')];
        return answers.every(({ status }) => status === 200);
      });
      expect(await (await send(0, body)).text()).toBe('{}');
      await stack.api('POST', `/api/v1/applications/${other.appId}/rotate-token`, { overlap_seconds: 0 });
      await waitFor('the token has ended', 60_000, async () => (await send(1, '{}')).status === 401);
      expect(await (await send(1, body)).text()).toContain('duplicate_request');
      expect(await batch.settled()).toEqual(settledOnce(2 * batch.items));
    });

    it('does not make a new request a repeat: another key, or other bytes', async () => {
      const batch = await pointsBatch(stack, nextName(), { key: 'a key' });
      await batch.sendUntilTaken(0);
      const token = await rotated(`data-sources/${batch.dataId}`);
      const other = batch.body.replaceAll(batch.accessToken, token).replace('"target":"t', '"target":"u');
      await waitFor(
        'the new token is known',
        60_000,
        async () => (await batch.send(1, other)).status === 200,
      );
      expect(await batch.settled()).toEqual(settledOnce(2 * batch.items));
    });
  });

  describe('an OTLP request', () => {
    const post = (receiver: number, headers: Record<string, string>, body: string | Buffer) =>
      fetch(`http://127.0.0.1:${stack.ingress[receiver]?.ports['otlp']}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });

    let probes = 0;
    /** One span with a value of nine bytes, another each time. */
    const probeBody = (): string => {
      const nanos = `${Date.now()}000000`;
      const span = {
        traceId: `${++probes}`.padStart(32, 'b'),
        spanId: `${probes}`.padStart(16, 'b'),
        name: 'probe',
        startTimeUnixNano: nanos,
        endTimeUnixNano: nanos,
        attributes: [{ key: 'k', value: { stringValue: '123456789' } }],
      };
      return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
    };

    it('is the same through the other receiver, compressed, and with its token as a bearer', async () => {
      const batch = await spansBatch(stack, nextName());
      const before = await repeatsAt(stack, 1);
      expect(await (await post(0, { 'x-mon-token': batch.token }, batch.body)).text()).toBe('{}');
      const repeats = [
        await post(1, { 'x-mon-token': batch.token }, batch.body),
        await post(1, { 'x-mon-token': batch.token, 'content-encoding': 'gzip' }, gzipSync(batch.body)),
        await post(1, { authorization: `Bearer ${batch.token}` }, batch.body),
      ];
      for (const answer of repeats) {
        expect(answer.status).toBe(200);
        expect(await answer.text()).toContain('counted as duplicate_request');
      }
      expect(await repeatsAt(stack, 1)).toBe(before + 3);
      expect(await batch.settled()).toEqual(settledOnce(batch.items));
    });

    it('stands for the first try, though the policy has changed before the second', async () => {
      const batch = await spansBatch(stack, nextName(), { items: 3_000, attributeLength: 400 });
      await batch.sendUntilTaken(0);
      await live.applicationPolicy(batch.appId, { value_bytes_max: 1 });
      await waitFor('the policy holds at the other receiver', 60_000, async () => {
        const probe = await post(1, { 'x-mon-token': batch.token }, probeBody());
        return (await probe.text()).includes('truncated to the limit');
      });
      const repeat = await post(1, { 'x-mon-token': batch.token }, batch.body);
      expect(await repeat.text()).toContain('duplicate_request');
      await batch.settled();
      const [row] = await stack.spansQuery(
        `SELECT count() AS rows, uniqExact(uid) AS uids FROM otel.otel_traces
         WHERE AppId = ${batch.appId} AND SpanName = 'operation'`,
      );
      expect(row).toEqual({ rows: '3000', uids: '3000' });
    });

    // Its body is digested with the key of the installation, which the next process reads again.
    it('with a large body is the same for a receiver that was started again', async () => {
      const batch = await spansBatch(stack, nextName(), { items: 100, attributeLength: 400 });
      await batch.sendUntilTaken(0);
      await stack.ingress[1]?.kill();
      stack.ingress[1]?.start();
      await stack.ingress[1]?.ready();
      const repeat = await post(1, { 'x-mon-token': batch.token }, batch.body);
      expect(await repeat.text()).toContain('duplicate_request');
      expect(await batch.settled()).toEqual(settledOnce(batch.items));
    });
  });
});

describe.each(['suspect', 'always'] as const)('a retry after the duplicate window, guard: %s', (guard) => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({
      traces: true,
      duplicateWindowSeconds: 2,
      pipelines: (_, text) => text.replace('guard: suspect', `guard: ${guard}`),
    });
  });
  afterAll(() => stack?.stop());

  it('of points with their key changes nothing: each is written in its own place', async () => {
    const batch = await pointsBatch(stack, nextName(), { key: 'a key' });
    await batch.sendUntilTaken();
    const before = await stack.streamState('METRICS');
    await batch.settled();
    await until('the stream has forgotten the request', async () => {
      await batch.sendUntilTaken();
      return (await stack.streamState('METRICS')).last_seq > before.last_seq;
    });
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  const once =
    guard === 'always' ? 'is not stored again' : 'is one to whom reads with FINAL, and one once merged';
  it(`of spans ${once}`, async () => {
    const batch = await spansBatch(stack, nextName());
    expect(await batch.sendUntilTaken()).toBe('{}');
    await batch.settled();
    await until('the request is taken as a new one', async () => (await batch.sendUntilTaken()) === '{}');
    const { rows, uids } = await batch.settled();
    expect(uids).toBe(batch.items);
    if (guard === 'always') expect(rows).toBe(batch.items);
    const [read] = await stack.spansQuery(
      `SELECT count() AS rows FROM otel.otel_traces FINAL WHERE AppId = ${batch.appId}`,
    );
    expect(read).toEqual({ rows: String(batch.items) });
    await fetchEngine(stack.engines.clickhouse.url, {
      method: 'POST',
      body: 'OPTIMIZE TABLE otel.otel_traces FINAL',
    });
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });
});
