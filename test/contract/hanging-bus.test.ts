import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PointsBatch, pointsBatch, spansBatch } from '../support/push/batches.ts';
import { withDeadline } from '../support/stack/receiver-deadline.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { untilPaused } from '../support/stack/until-paused.ts';

// NATS that hangs (here: is stopped) answers nothing and keeps its connections. A sender needs an answer before it
// gives up.

const deadlineMs = 2_000;
/** Far above the deadline, and below what the parts of the way took one after the other. */
const answerMsMax = 1.75 * deadlineMs;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    traces: true,
    pipelines: (_file, text) => withDeadline(text, deadlineMs),
  });
});
afterAll(() => stack?.stop());

type Told = { readonly status: number; readonly retryAfter: string | null; readonly text: string };

const post = async (
  receiver: 'push' | 'otlp',
  headers: Record<string, string>,
  body: string,
): Promise<Told & { ms: number }> => {
  const path = receiver === 'push' ? '/v2/push/' : '/v1/traces';
  const startedAt = performance.now();
  const answer = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports[receiver]}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await answer.text();
  const ms = performance.now() - startedAt;
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text, ms };
};

const pushOf = (batch: PointsBatch, points: object[], token = batch.accessToken): string =>
  JSON.stringify({ data_id: batch.dataId, access_token: token, data: points });

const point = (change: object = {}): object => ({ metrics: { value: 1 }, timestamp: Date.now(), ...change });

/** Does it while NATS is stopped, and lets it continue. */
const whileHanging = async <T>(work: () => Promise<T>): Promise<T> => {
  stack.engines.nats.pause();
  try {
    await untilPaused(stack.engines.nats.pid ?? 0);
    return await work();
  } finally {
    stack.engines.nats.resume();
    await stack.ready();
  }
};

describe('while NATS hangs, a request is answered 503 by its deadline', () => {
  let batch: PointsBatch;
  beforeAll(async () => {
    batch = await pointsBatch(stack, 'hanging');
    await batch.sendUntilTaken();
  });

  const large = (): object[] =>
    Array.from({ length: 3_000 }, (_, index) =>
      point({ target: 't'.repeat(400), metrics: { value: index } }),
    );
  const pushes: [what: string, reason: string, headers: Record<string, string>, body: () => string][] = [
    ['with a key', 'unconfirmed', { 'idempotency-key': 'k' }, () => pushOf(batch, [point()])],
    ['with an unknown token', 'not_stored', {}, () => pushOf(batch, [point()], 'f'.repeat(32))],
    ['with a new column', 'not_stored', {}, () => pushOf(batch, [point({ metrics: { novel: 1 } })])],
    ['of several messages', 'not_stored', {}, () => pushOf(batch, large())],
  ];

  it.each(pushes)('a push %s', async (_, reason, headers, body) => {
    const { ms, ...told } = await whileHanging(() => post('push', headers, body()));
    expect(told).toEqual({
      status: 503,
      retryAfter: expect.any(String),
      text: expect.stringContaining(reason),
    });
    expect(ms).toBeLessThan(answerMsMax);
  });

  // Those that come while the first one hangs share the next message, which would begin when the first one ends.
  it('each of many pushes that wait behind one another', async () => {
    const answers = await whileHanging(async () => {
      const all: ReturnType<typeof post>[] = [];
      for (let index = 0; index < 10; index++) {
        all.push(post('push', {}, pushOf(batch, [point()])));
        await new Promise((resolve) => setTimeout(resolve, 150));
      }
      return Promise.all(all);
    });
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 503));
    expect(answers[0]?.text).toContain('"unconfirmed"');
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(answerMsMax);
  });

  it('an export, and one whose resources name unknown tokens', async () => {
    const spans = await spansBatch(stack, 'hanging');
    const [resource] = JSON.parse(spans.body).resourceSpans;
    const named = ['a', 'b', 'c'].map((letter) => ({
      ...resource,
      resource: { attributes: [{ key: 'mon.data.token', value: { stringValue: letter.repeat(32) } }] },
    }));
    const token = { 'x-mon-token': spans.token };
    const answers = await whileHanging(() =>
      Promise.all([
        post('otlp', token, spans.body),
        post('otlp', token, JSON.stringify({ resourceSpans: [resource, ...named] })),
      ]),
    );
    expect(answers.map(({ status }) => status)).toEqual([503, 503]);
    expect(answers.map(({ text }) => text)).toEqual([
      expect.stringContaining('not all of it was confirmed in time'),
      expect.stringContaining('nothing was stored'),
    ]);
    for (const { ms } of answers) expect(ms).toBeLessThan(answerMsMax);
  });
});
