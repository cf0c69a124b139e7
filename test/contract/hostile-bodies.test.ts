import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { calibrate } from '../../bench/calibration.ts';
import { cpuSeconds, peakMiB } from '../../bench/processes.ts';
import {
  bombsOfNobody,
  type CostlyBody,
  exportsOfNobody,
  exportsOfOwner,
  pushesOfNobody,
  pushesOfOwner,
} from '../support/push/costly-bodies.ts';
import { withDeadline } from '../support/stack/receiver-deadline.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

// The promises are 20 ms and 5 ms for each MiB inflated, and 300 ms; machines that run tests are shared.
const slack = 5;
const msOfNobody = 20;
const msPerMiB = 5;
/** A quick machine's fixed work, ms (`calibrate`): on a slower one everything may take longer by as much. */
const calibrationMs = 8;
const slowness = (): number => Math.max(1, calibrate() / calibrationMs);
const waitMsMax = 300 * slack * slowness();
const mebi = 2 ** 20;

/** A proxy before the receivers in one test, which names the address of a request. */
const proxyAddress = '127.0.9.9';
const neighbour = '127.0.0.1';

let stack: Stack;
let pushBody = Buffer.alloc(0);
let owner: { wide: string; dataId: number; split: string; splitId: number; otlp: string };

type Answer = { readonly status: number; readonly text: string; readonly tookMs: number };

/** Sends one request over a connection of its own; status 0: the connection ended first. */
const send = (
  receiver: 'push' | 'otlp',
  body: Buffer,
  from: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> =>
  new Promise((resolve) => {
    const startedAt = performance.now();
    const answered = (status: number, text: string): void =>
      resolve({ status, text, tookMs: performance.now() - startedAt });
    const sent = request(
      {
        ...{ host: '127.0.0.1', port: stack.ingress[0]?.ports[receiver], localAddress: from, agent: false },
        ...{ method: 'POST', path: receiver === 'push' ? '/v2/push/' : '/v1/traces' },
        headers: { ...headers, 'content-length': String(body.length) },
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () => answered(response.statusCode ?? 0, Buffer.concat(parts).toString()));
      },
    );
    sent.on('error', (error) => answered(0, error.message));
    sent.end(body);
  });

const reasonOf = ({ text }: Answer): unknown => JSON.parse(text).reason;
const pid = (): number => stack.ingress[0]?.pid ?? 0;

/** Longest hold of the event loop since the last question, ms. */
const eventLoopLagMs = async (): Promise<number> =>
  1000 *
  Number(
    /^nodejs_eventloop_lag_max_seconds(?:\{[^}]*\})? (\S+)/m.exec(
      (await stack.ingress[0]?.metrics()) ?? '',
    )?.[1],
  );

/** A producer with a valid credential beside what `act` does: how long each of its requests took, sorted. */
const neighbourWaits = async (act: () => Promise<unknown>): Promise<number[]> => {
  const acting = { done: false };
  const waits: number[] = [];
  const pushing = (async () => {
    while (!acting.done) {
      const { status, tookMs } = await send('push', pushBody, neighbour);
      expect(status).toBe(200);
      waits.push(tookMs);
    }
  })();
  try {
    await act();
  } finally {
    acting.done = true;
    await pushing;
  }
  return waits.sort((a, b) => a - b);
};

const addresses = { last: 0 };
/** An unused address. */
const strange = (): string => {
  addresses.last += 1;
  return `127.1.${addresses.last >> 8}.${addresses.last & 255 || 1}`;
};

beforeAll(async () => {
  // A quarter of its memory is the heap that the engine takes in a pod of 1 GiB; a test has no such bound of its own.
  const env = { TIDEMARK_INGRESS_TRUSTED_PROXIES: proxyAddress, NODE_OPTIONS: '--max-old-space-size=256' };
  // On a slow machine a body of 30 MiB takes longer than exporters wait: this is about the others that wait meanwhile.
  const pipelines = (_file: string, text: string) => withDeadline(text);
  stack = await startStack({ env, pipelines });
  const wide = (await stack.createReport('costly')).data_source;
  const split = (await stack.createReport('costlysplit', { is_split_measurement: true })).data_source;
  const { token: otlp } = await stack.createApplication('costly');
  owner = {
    ...{ wide: wide.token, dataId: wide.mon_data_id, split: split.token, splitId: split.mon_data_id, otlp },
  };
  const content = { data_id: wide.mon_data_id, access_token: wide.token, data: [{ metrics: { load: 1 } }] };
  pushBody = Buffer.from(JSON.stringify(content));
  const known: readonly (() => Promise<Answer>)[] = [
    () => send('push', pushBody, neighbour),
    () =>
      send(
        'push',
        Buffer.from(JSON.stringify({ ...content, data_id: split.mon_data_id, access_token: split.token })),
        neighbour,
      ),
    () =>
      send('otlp', Buffer.from('{}'), neighbour, {
        'content-type': 'application/json',
        'x-mon-token': otlp,
      }),
  ];
  for (const ask of known)
    await waitFor('the records to be known', 60_000, async () => (await ask()).status === 200);
  // The code is compiled for the machine only after it has run often.
  for (let count = 0; count < 300; count += 1) await send('push', pushBody, neighbour);
});
afterAll(() => stack?.stop());

const ofOwner = (): readonly CostlyBody[] => {
  const { wide, dataId, split, splitId, otlp } = owner;
  const now = Date.now();
  return [
    ...pushesOfOwner({ dataId, token: wide }, { dataId: splitId, token: split }, now),
    ...exportsOfOwner(otlp, now),
  ];
};

describe('a request without a valid credential', () => {
  it('costs no more than reading its bytes, for any content', async () => {
    const before = pid();
    for (const { what, receiver, headers, bytes, inflatedBytes } of [
      ...bombsOfNobody(),
      ...pushesOfNobody(),
      ...exportsOfNobody(),
    ]) {
      const startedAt = cpuSeconds(pid());
      const answer = await send(receiver, bytes, strange(), headers);
      const usedMs = (cpuSeconds(pid()) - startedAt) * 1000;
      expect([400, 401, 413], `${what}: ${answer.text}`).toContain(answer.status);
      expect(usedMs, `ms of ${receiver}, ${what}`).toBeLessThan(
        slack * slowness() * (msOfNobody + (msPerMiB * inflatedBytes) / mebi),
      );
    }
    expect([pid(), stack.ingress[0]?.running]).toEqual([before, true]);
  });

  it('is refused for its number of elements or its inflation, before it is decoded', async () => {
    const reasons: unknown[] = [];
    for (const { receiver, headers, bytes } of bombsOfNobody()) {
      const answer = await send(receiver, bytes, strange(), headers);
      expect([answer.status, answer.text]).toEqual([413, expect.any(String)]);
      if (receiver === 'push') reasons.push(reasonOf(answer));
    }
    expect(reasons).toEqual(['too_many_elements', 'too_many_elements', 'inflate_ratio_exceeded']);
  });
});

describe('a request with a valid credential', () => {
  it('holds the event loop only for moments, with any content', async () => {
    for (const { what, receiver, headers, bytes } of ofOwner()) {
      await eventLoopLagMs();
      const answered: Answer[] = [];
      const waits = await neighbourWaits(async () => {
        answered.push(await send(receiver, bytes, strange(), headers));
      });
      expect([200, 400, 413], `${what}: ${answered[0]?.text}`).toContain(answered[0]?.status);
      expect(await eventLoopLagMs(), `lag, ${what}`).toBeLessThan(waitMsMax);
      expect(waits.at(-1), `wait of a neighbour, ${what}`).toBeLessThan(waitMsMax);
    }
  });

  it('does not delay others, one such request a second', async () => {
    const bodies = [...ofOwner(), ...bombsOfNobody(), ...pushesOfNobody().slice(0, 3)];
    const waits = await neighbourWaits(async () => {
      const open: Promise<Answer>[] = [];
      for (const { receiver, headers, bytes } of bodies) {
        open.push(send(receiver, bytes, strange(), headers));
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
      await Promise.all(open);
    });
    expect(waits.length).toBeGreaterThan(200);
    expect(waits[Math.floor(waits.length * 0.99)]).toBeLessThan(waitMsMax);
  });

  it('stays within the memory of a pod with as many of the worst at once as are let in', async () => {
    const file = join(import.meta.dirname, '../../deploy/kubernetes/base/ingress.yaml');
    const limit = parseAllDocuments(readFileSync(file, 'utf8'))
      .map((document) =>
        document.getIn(['spec', 'template', 'spec', 'containers', 0, 'resources', 'limits', 'memory']),
      )
      .find((memory) => memory !== undefined);
    expect(limit).toBe('1Gi');
    const before = pid();
    const worst = ofOwner();
    const statuses = (
      await Promise.all(
        [...worst, ...worst].map(({ receiver, headers, bytes }) => send(receiver, bytes, strange(), headers)),
      )
    ).map(({ status }) => status);
    expect([pid(), stack.ingress[0]?.running]).toEqual([before, true]);
    expect(statuses.filter((status) => ![200, 400, 413, 503].includes(status))).toEqual([]);
    expect(peakMiB(pid())).toBeLessThan(1024);
  });
});

describe('failures of an address', () => {
  const wrong = Buffer.from('{"data_id":1,"access_token":"x","data":[{"metrics":{"a":1}}]}');
  const failing = (count: number, from: string, headers = {}): Promise<Answer[]> =>
    Promise.all(Array.from({ length: count }, () => send('push', wrong, from, headers)));
  const statusesOf = (answers: readonly Answer[]): number[] => [
    ...new Set(answers.map(({ status }) => status)),
  ];

  it('are limited above 20 a second, and the answer names the limit and the time to wait', async () => {
    const from = strange();
    const answers = await failing(60, from);
    expect(statusesOf(answers).sort()).toEqual([401, 429]);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused && reasonOf(refused)).toBe('too_many_failures');
    expect(refused?.text).toContain('the limit is 20 requests per second; ');
    // One at a time could find the failure that is allowed every twentieth of a second.
    const exports = await Promise.all(
      Array.from({ length: 60 }, () =>
        send('otlp', Buffer.from('{}'), from, { 'content-type': 'application/json' }),
      ),
    );
    const limited = exports.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(0);
    expect(new Set(limited.map(({ text }) => JSON.parse(text).code))).toEqual(new Set([8]));
    // Another address is none the wiser.
    expect(statusesOf(await failing(1, strange()))).toEqual([401]);
    await waitFor('the address to be let in again', 60_000, async () =>
      (await failing(1, from)).every(({ status }) => status === 401),
    );
  });

  it('never shut an address out that has shown a valid credential in the last minute', async () => {
    const from = strange();
    expect((await send('push', pushBody, from)).status).toBe(200);
    expect(statusesOf(await failing(60, from))).toEqual([401]);
    expect((await send('push', pushBody, from)).status).toBe(200);
  });

  it('count for the client behind a trusted proxy, and for no other address', async () => {
    const client = (address: string) => ({ 'x-forwarded-for': address });
    expect(statusesOf(await failing(60, proxyAddress, client('198.51.100.1')))).toContain(429);
    expect(statusesOf(await failing(1, proxyAddress, client('198.51.100.2')))).toEqual([401]);
    expect((await send('push', pushBody, proxyAddress, client('198.51.100.3'))).status).toBe(200);
    // A client that is not a trusted proxy cannot name another address.
    const liar = strange();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => send('push', wrong, liar, client(`203.0.113.${index}`))),
    );
    expect(statusesOf(answers)).toContain(429);
  });
});
