import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { startTraceStack, type TraceStack } from '../otlp/trace-stack.ts';
import type { Application } from '../stack/stack.ts';
import { waitFor } from '../wait.ts';
import type { HeldRow, RunningClient, Target } from './process.ts';
import { type ClientSignal, traces } from './signal.ts';
import { cutFirstConnection, type Exchange } from './tap.ts';
import { type Hint, overHttp, type Transport } from './transport.ts';

/** The known behaviour of a client: the tests observe it, and show a release that differs. */
export type ClientKind = {
  /** With its version. */
  readonly name: string;
  start(target: Target): Promise<RunningClient> | RunningClient;
  /** Traces without one. */
  readonly signal?: ClientSignal;
  /** HTTP without one. */
  readonly transport?: Transport;
  /** Whether only its rows and its repeats of unconfirmed requests are tested: the rest is known of the same SDK's other exporter. */
  readonly isBrief?: boolean;
  /** Whether it sends again what was answered 503 or UNAVAILABLE; without one it does. */
  readonly repeats503?: boolean;
  /** Whether it waits at least as long as Retry-After or RetryInfo. */
  readonly heedsRetryAfter: boolean;
  /** Whether it sends again what was answered 429 or RESOURCE_EXHAUSTED. */
  readonly repeats429: boolean;
  /** The same for answers that do not say how long to wait; without one it is the same. */
  readonly repeats429WithoutHint?: boolean;
  /** Whether it sends again what it was sending when the connection was lost; 'sometimes' where that depends on the moment. */
  readonly repeatsLostConnection: boolean | 'sometimes';
  /** Whether further exports fail at once until it tries to connect again; without one they do not. */
  readonly reconnectsLate?: boolean;
  /** Whether it logs the message of a partial success. */
  readonly logsPartialSuccess: boolean;
};

/** Real engines and roles whose receiver gives up on a bus that does not answer before any client gives up on it. */
export const startClientStack = (): Promise<TraceStack> =>
  startTraceStack((text) => text.replace(/deadline_ms: \d+/, 'deadline_ms: 2000'));

/** Items of the first test. */
const itemsOfAllShapes = 300;

const inOrder = (rows: readonly HeldRow[], { identityOf }: ClientSignal): HeldRow[] =>
  rows.toSorted((a, b) => (identityOf(a) < identityOf(b) ? -1 : 1));

/** Fails unless the application's rows are exactly these. */
export const expectStored = async (
  on: TraceStack,
  application: Application,
  held: readonly HeldRow[],
  signal = traces,
): Promise<void> => {
  const ids = { AppId: String(application.app_id), BizId: '2' };
  expect(inOrder(await signal.stored(on, application), signal)).toEqual(
    inOrder(
      held.map((row) => ({ ...row, ...ids })),
      signal,
    ),
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
export const pauseBus = async (on: Pick<TraceStack, 'stack'>): Promise<void> => {
  const { nats } = on.stack.engines;
  nats.pause();
  await waitFor('every thread of the bus to be stopped', 60_000, async () => {
    const tasks = `/proc/${nats.pid}/task`;
    const stats = (await readdir(tasks)).map((task) => readFile(`${tasks}/${task}/stat`, 'utf8'));
    return (await Promise.all(stats)).every((stat) => stat.slice(stat.lastIndexOf(')')).startsWith(') T'));
  });
};

/** How long after each refusal the next request came, less the time that it told; in ms. */
const impatience = (exchanges: readonly Exchange[], { stored }: Transport): number[] =>
  exchanges.flatMap(({ status, retryAfterSeconds = 0, answeredAt }, index) => {
    const next = exchanges[index + 1];
    return next === undefined || status === stored.status
      ? []
      : [next.arrivedAt - answeredAt - retryAfterSeconds * 1000];
  });

/** Timers fire up to a millisecond or two early. */
const timerMs = 5;

const expectPatience = (kind: ClientKind, exchanges: readonly Exchange[]): void => {
  const early = impatience(exchanges, kind.transport ?? overHttp).filter((ms) => ms < -timerMs);
  if (kind.heedsRetryAfter) expect(early).toEqual([]);
};

/** A client of one kind, and the receiver that it exports to. */
type Subject = {
  readonly kind: ClientKind;
  readonly signal: ClientSignal;
  readonly transport: Transport;
  readonly stack: () => TraceStack;
  start(url: string): Promise<{ readonly application: Application; readonly client: RunningClient }>;
};

/** For a client that does not repeat what the receiver could not confirm: it says so, and the batch is stored whole or not at all. */
const expectGivenUp = async (
  { stack, signal }: Subject,
  application: Application,
  stored: readonly HeldRow[],
  given: readonly HeldRow[],
): Promise<void> => {
  const rows = await signal.stored(stack(), application);
  const all = rows.length > stored.length ? [...stored, ...given] : stored;
  await expectStored(stack(), application, all, signal);
};

// A receiver that cannot confirm must make its clients wait and repeat, and must not store what it has stored.
const itRepeatsUnconfirmed = (subject: Subject, hint: Hint): void => {
  const { kind, signal, transport, stack, start } = subject;
  const { stored, unavailable } = transport;
  const { repeats503 = true } = kind;
  const does = repeats503
    ? 'sends a request again that was answered'
    : 'reports a request as failed that was answered';
  const outcome = repeats503 ? 'is stored once' : 'is stored once or not at all';
  it(`${does} ${unavailable.name} ${hint} ${transport.hint}, and it ${outcome}`, async () => {
    const on = stack();
    const tap = await transport.startTap(on, signal, hint);
    const { application, client } = await start(tap.url);
    // For a client that starts slowly, the bus must not hang so long that the receiver notices it.
    const before = await client.export({ first: 0, count: 5 });
    const warm = tap.exchanges.length;
    await pauseBus(on);
    const exporting = client.export({ first: 5, count: 50 });
    await Promise.race([tap.answered(unavailable.status), exporting]);
    on.stack.engines.nats.resume();
    const { ok, rows } = await exporting;
    expect(ok, client.log()).toBe(repeats503);
    const attempts = tap.exchanges.slice(warm);
    const told = hint === 'with' ? 2 : undefined;
    expect(attempts[0]).toMatchObject({ status: unavailable.status, retryAfterSeconds: told });
    expect(attempts.at(-1)?.status).toBe(repeats503 ? stored.status : unavailable.status);
    expect(new Set(attempts.map(({ bodySha256 }) => bodySha256)).size).toBe(1);
    expectPatience(kind, attempts);
    if (repeats503) await expectStored(on, application, [...before.rows, ...rows], signal);
    else await expectGivenUp(subject, application, before.rows, rows);
  });
};

const itHeedsTheRate = ({ kind, signal, transport, stack, start }: Subject, hint: Hint): void => {
  const { stored, limited } = transport;
  const repeats = (hint === 'without' ? kind.repeats429WithoutHint : undefined) ?? kind.repeats429;
  const does = repeats
    ? `retries ${signal.items} that were answered`
    : `reports ${signal.items} as failed that were answered`;
  it(`${does} ${limited.name} ${hint} ${transport.hint}, and nothing else is missing`, async () => {
    const on = stack();
    const tap = await transport.startTap(on, signal, hint);
    const { application, client } = await start(tap.url);
    await limitRate(on, application);
    const all = [];
    for (const first of [0, 10, 20]) all.push(await client.export({ first, count: 10 }));
    const statuses = tap.exchanges.map(({ status }) => status);
    expect(statuses).toContain(limited.status);
    expect(
      all.every(({ ok }) => ok),
      client.log(),
    ).toBe(repeats);
    expectPatience(kind, tap.exchanges);
    const told = all.filter(({ ok }) => ok);
    expect(statuses.filter((status) => status === stored.status)).toHaveLength(told.length);
    await expectStored(
      on,
      application,
      told.flatMap(({ rows }) => rows),
      signal,
    );
  });
};

const fates = new Map<ClientKind['repeatsLostConnection'], string>([
  [true, 'stored'],
  [false, 'reported as failed'],
  ['sometimes', 'stored or reported as failed'],
]);

const itContinuesAfterARestart = ({ kind, signal, transport, stack, start }: Subject): void => {
  const { repeatsLostConnection: repeats } = kind;
  it(`continues after a restart of ingress, and ${signal.items} in flight are ${fates.get(repeats)}`, async () => {
    const on = stack();
    const [ingress] = on.stack.ingress;
    if (ingress === undefined) throw new Error('no ingress');
    const { application, client } = await start(transport.url(on, signal));
    const before = await client.export({ first: 0, count: 40 });
    await ingress.kill();
    const { cut, free } = await cutFirstConnection(transport.port(on));
    const exporting = client.export({ first: 40, count: 40 });
    // A client that tried while nothing listened gives up without another connection.
    void exporting.then(free, free);
    await cut;
    ingress.start();
    await ingress.ready();
    const during = await exporting;
    let after = await client.export({ first: 80, count: 40 });
    if (kind.reconnectsLate === true)
      await waitFor('the client to connect again', 60_000, async () => {
        if (!after.ok) after = await client.export({ first: 80, count: 40 });
        return after.ok;
      });
    const duringOk = repeats === 'sometimes' ? during.ok : repeats;
    expect([before.ok, during.ok, after.ok], client.log()).toEqual([true, duringOk, true]);
    await expectStored(
      on,
      application,
      [before, during, after].flatMap(({ ok, rows }) => (ok ? rows : [])),
      signal,
    );
  });
};

const itTakesAPartialSuccess = ({ kind, signal, transport, stack, start }: Subject): void => {
  it(`treats a partial success as a success and ${kind.logsPartialSuccess ? 'logs it' : 'does not log it'}`, async () => {
    const on = stack();
    const tap = await transport.startTap(on, signal, 'with');
    const { application, client } = await start(tap.url);
    const { ok, rows } = await client.export({ first: 0, count: 20, attributes: 200 });
    expect(ok, client.log()).toBe(true);
    expect(tap.exchanges.map(({ status }) => status)).toEqual([transport.stored.status]);
    const rejected = rows.filter((row) => Object.keys(row[signal.attributes] ?? {}).length > 128);
    expect(rejected).toHaveLength(1);
    expect(client.log().includes('too_many_attributes'), client.log()).toBe(kind.logsPartialSuccess);
    await expectStored(
      on,
      application,
      rows.filter((row) => !rejected.includes(row)),
      signal,
    );
  });
};

/**
 * The same guarantees for any client: compares the rows in ClickHouse with the items that the client reports as made
 * and exported.
 */
export const describeClient = (stack: () => TraceStack, kind: ClientKind): void => {
  const transport = kind.transport ?? overHttp;
  const signal = kind.signal ?? traces;
  const start: Subject['start'] = async (url) => {
    const application = await stack().application();
    return { application, client: await kind.start({ url, token: application.token }) };
  };
  const subject: Subject = { kind, signal, transport, stack, start };
  describe(kind.name, () => {
    it(`has every shape of ${signal.item} it can make stored exactly as it held it`, async () => {
      const { application, client } = await start(transport.url(stack(), signal));
      const { ok, rows } = await client.export({ first: 0, count: itemsOfAllShapes });
      expect(ok, client.log()).toBe(true);
      expect(rows).toHaveLength(itemsOfAllShapes);
      await expectStored(stack(), application, rows, signal);
    });

    const hints = kind.isBrief === true ? (['with'] as const) : transport.hints;
    for (const hint of hints) itRepeatsUnconfirmed(subject, hint);
    if (kind.isBrief === true) return;
    for (const hint of transport.hints) itHeedsTheRate(subject, hint);
    itContinuesAfterARestart(subject);
    itTakesAPartialSuccess(subject);
  });
};
