import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { startTraceStack, type TraceStack } from '../otlp/trace-stack.ts';
import type { Application } from '../stack/stack.ts';
import { waitFor } from '../wait.ts';
import type { HeldRow, RunningClient, Target } from './process.ts';
import { cutFirstConnection, type Exchange, startTap } from './tap.ts';

/** The known behaviour of a client: the tests observe it, and show a release that differs. */
export type ClientKind = {
  /** With its version. */
  readonly name: string;
  start(target: Target): Promise<RunningClient> | RunningClient;
  /** Spans of the first test. */
  readonly spans?: number;
  /** Whether it waits at least as long as Retry-After. */
  readonly heedsRetryAfter: boolean;
  /** Whether it sends again what was answered 429. */
  readonly repeats429: boolean;
  /** Whether it sends again what it was sending when the connection was lost. */
  readonly repeatsLostConnection: boolean;
  /** Whether it logs the message of a partial success. */
  readonly logsPartialSuccess: boolean;
};

/** Real engines and roles whose receiver gives up on a bus that does not answer before any client gives up on it. */
export const startClientStack = (): Promise<TraceStack> =>
  startTraceStack((text) => text.replace(/deadline_ms: \d+/, 'deadline_ms: 2000'));

const bySpanId = (rows: readonly HeldRow[]): HeldRow[] =>
  rows.toSorted((a, b) => (String(a['SpanId']) < String(b['SpanId']) ? -1 : 1));

/** Fails unless the application's rows are exactly these. */
export const expectStored = async (
  on: TraceStack,
  application: Application,
  held: readonly HeldRow[],
): Promise<void> => {
  const ids = { AppId: String(application.app_id), BizId: '2' };
  expect(bySpanId(await on.storedSpans(application))).toEqual(
    bySpanId(held.map((row) => ({ ...row, ...ids }))),
  );
};

/** Allows the application one request a second, and waits until the receiver has read that. */
const limitRate = async (on: TraceStack, { app_id: id, token }: Application): Promise<void> => {
  expect((await on.stack.api('PATCH', `/api/v1/applications/${id}`, { max_rate: 1 })).status).toBe(200);
  await waitFor('the rate to be limited', 60_000, async () => {
    const { headers } = await on.post(token, 'json', {});
    return headers['ratelimit-policy'] !== undefined;
  });
};

/** SIGSTOP reaches a process's threads one by one: waits until none of the bus's can confirm a publish any more. */
export const pauseBus = async (on: TraceStack): Promise<void> => {
  const { nats } = on.stack.engines;
  nats.pause();
  await waitFor('every thread of the bus to be stopped', 60_000, async () => {
    const tasks = `/proc/${nats.pid}/task`;
    const stats = (await readdir(tasks)).map((task) => readFile(`${tasks}/${task}/stat`, 'utf8'));
    return (await Promise.all(stats)).every((stat) => stat.slice(stat.lastIndexOf(')')).startsWith(') T'));
  });
};

const otlpPort = (on: TraceStack): number => on.stack.ingress[0]?.ports['otlp'] ?? 0;

/** How long after each refusal the next request came, less its Retry-After; in ms. */
const impatience = (exchanges: readonly Exchange[]): number[] =>
  exchanges.flatMap(({ status, retryAfterSeconds = 0, answeredAt }, index) => {
    const next = exchanges[index + 1];
    return next === undefined || status === 200
      ? []
      : [next.arrivedAt - answeredAt - retryAfterSeconds * 1000];
  });

/** Timers fire up to a millisecond or two early. */
const timerMs = 5;

const expectPatience = (kind: ClientKind, exchanges: readonly Exchange[]): void => {
  const early = impatience(exchanges).filter((ms) => ms < -timerMs);
  if (kind.heedsRetryAfter) expect(early).toEqual([]);
};

/**
 * The same guarantees for any client: compares the rows in ClickHouse with the spans that the client reports as made
 * and exported.
 */
export const describeClient = (stack: () => TraceStack, kind: ClientKind): void => {
  describe(kind.name, () => {
    const started = async (url: string) => {
      const application = await stack().application();
      return { application, client: await kind.start({ url, token: application.token }) };
    };

    it('has every shape of span it can make stored exactly as it held it', async () => {
      const { application, client } = await started(stack().url);
      const { ok, rows } = await client.export({ first: 0, count: kind.spans ?? 300 });
      expect(ok, client.log()).toBe(true);
      expect(rows).toHaveLength(kind.spans ?? 300);
      await expectStored(stack(), application, rows);
    });

    // A receiver that cannot confirm must make its clients wait and repeat, and must not store what it has stored.
    it('sends a request again that was answered 503, and it is stored once', async () => {
      const on = stack();
      const tap = await startTap(otlpPort(on), '/v1/traces');
      const { application, client } = await started(tap.url);
      // For a client that starts slowly, the bus must not hang so long that the receiver notices it.
      const before = await client.export({ first: 0, count: 5 });
      const warm = tap.exchanges.length;
      await pauseBus(on);
      const exporting = client.export({ first: 5, count: 50 });
      await Promise.race([tap.answered(503), exporting]);
      on.stack.engines.nats.resume();
      const { ok, rows } = await exporting;
      expect(ok, client.log()).toBe(true);
      const attempts = tap.exchanges.slice(warm);
      expect(attempts[0]).toMatchObject({ status: 503, retryAfterSeconds: 2 });
      expect(attempts.at(-1)?.status).toBe(200);
      expect(new Set(attempts.map(({ bodySha256 }) => bodySha256)).size).toBe(1);
      expectPatience(kind, attempts);
      await expectStored(on, application, [...before.rows, ...rows]);
    });

    it(`${kind.repeats429 ? 'retries spans that were answered 429' : 'reports spans that were answered 429 as failed'}, and nothing else is missing`, async () => {
      const on = stack();
      const tap = await startTap(otlpPort(on), '/v1/traces');
      const { application, client } = await started(tap.url);
      await limitRate(on, application);
      const all = [];
      for (const first of [0, 10, 20]) all.push(await client.export({ first, count: 10 }));
      const statuses = tap.exchanges.map(({ status }) => status);
      expect(statuses).toContain(429);
      expect(all.every(({ ok }) => ok)).toBe(kind.repeats429);
      expectPatience(kind, tap.exchanges);
      const told = all.filter(({ ok }) => ok);
      expect(statuses.filter((status) => status === 200)).toHaveLength(told.length);
      await expectStored(
        on,
        application,
        told.flatMap(({ rows }) => rows),
      );
    });

    it(`continues after a restart of ingress, and spans in flight are ${kind.repeatsLostConnection ? 'stored' : 'reported as failed'}`, async () => {
      const on = stack();
      const [ingress] = on.stack.ingress;
      if (ingress === undefined) throw new Error('no ingress');
      const { application, client } = await started(on.url);
      const before = await client.export({ first: 0, count: 40 });
      await ingress.kill();
      const { cut } = await cutFirstConnection(otlpPort(on));
      const exporting = client.export({ first: 40, count: 40 });
      await cut;
      ingress.start();
      await ingress.ready();
      const during = await exporting;
      const after = await client.export({ first: 80, count: 40 });
      expect([before.ok, during.ok, after.ok], client.log()).toEqual([
        true,
        kind.repeatsLostConnection,
        true,
      ]);
      await expectStored(
        on,
        application,
        [before, during, after].flatMap(({ ok, rows }) => (ok ? rows : [])),
      );
    });

    it(`treats a partial success as a success and ${kind.logsPartialSuccess ? 'logs it' : 'does not log it'}`, async () => {
      const on = stack();
      const tap = await startTap(otlpPort(on), '/v1/traces');
      const { application, client } = await started(tap.url);
      const { ok, rows } = await client.export({ first: 0, count: 20, attributes: 200 });
      expect(ok, client.log()).toBe(true);
      expect(tap.exchanges.map(({ status }) => status)).toEqual([200]);
      const rejected = rows.filter(({ SpanAttributes: held }) => Object.keys(held ?? {}).length > 128);
      expect(rejected).toHaveLength(1);
      expect(client.log().includes('too_many_attributes'), client.log()).toBe(kind.logsPartialSuccess);
      await expectStored(
        on,
        application,
        rows.filter((row) => !rejected.includes(row)),
      );
    });
  });
};
