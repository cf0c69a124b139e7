import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { figureOf, readDeadLetters } from '../support/outcomes/dead-letters.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { missedByTransfer, readyzOf } from '../support/stack/readiness.ts';
import { type Application, type Stack, startStack } from '../support/stack/stack.ts';
import { limitStream } from '../support/stack/stream-limits.ts';
import { until } from '../support/until.ts';

let stack: Stack;
let bus: Bus;
let application: Application;
let nextTrace = 1;

beforeAll(async () => {
  stack = await startStack({
    traces: true,
    pipelines: (_file, text) =>
      text
        .replace(/dead_letters_in_a_row_max: \d+/, 'dead_letters_in_a_row_max: 20')
        .replace(/pause_seconds: \d+/, 'pause_seconds: 2'),
  });
  bus = await connectBus(stack.engines.nats.url, 'test');
  application = await stack.createApplication('breaker');
});
afterAll(async () => {
  await bus.close();
  await stack.stop();
});

const clickhouse = async (sql: string): Promise<void> => {
  const response = await fetchEngine(`${stack.engines.clickhouse.url}/?query=${encodeURIComponent(sql)}`, {
    method: 'POST',
  });
  if (!response.ok) throw new Error(await response.text());
};

const send = async (count: number): Promise<string> => {
  const traceId = String(nextTrace++).padStart(32, 'b');
  const time = `${Date.now()}000000`;
  const spans = Array.from({ length: count }, (_, index) => ({
    traceId,
    spanId: String(index + 1).padStart(16, '0'),
    name: `span ${index}`,
    startTimeUnixNano: time,
    endTimeUnixNano: time,
  }));
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mon-token': application.token },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  });
  expect(response.status).toBe(200);
  return traceId;
};

const figure = async (name: string): Promise<number> =>
  figureOf((await stack.transfer[0]?.metrics()) ?? '', name, { pipeline: 'traces' });

const inStream = async (): Promise<number> =>
  (await (await bus.manager()).streams.info('TRACES')).state.messages;

const storedOf = async (traceId: string): Promise<number> =>
  Number(
    (await stack.spansQuery(`SELECT count() AS n FROM otel.otel_traces WHERE TraceId = '${traceId}'`))[0]?.[
      'n'
    ],
  );

// A rule that refuses everything is a bad deployment: its spans must wait in the stream instead of becoming dead letters.
describe('a consumer whose spans are all refused', () => {
  it('stops with an alarm, loses nothing, and continues by itself once the cause is removed', async () => {
    await clickhouse("ALTER TABLE otel.otel_traces ADD CONSTRAINT nothing CHECK SpanName = ''");
    await send(30);
    await until('the breaker is open', async () => (await figure('tidemark_transfer_breaker_open')) === 1);
    await until('the message that opened it is settled', async () => (await inStream()) === 0);
    const letters = (await readDeadLetters(bus)).length;
    expect(letters).toBe(30);
    const { status, degraded } = await readyzOf(stack.transfer[0]);
    expect(status).toBe(200);
    expect(degraded['breaker']).toContain('traces: 30 items in a row went to the dead letters');
    const waiting = await send(25);
    await until('a trial has found that it is still bad', async () =>
      (await missedByTransfer(stack))['breaker']?.includes('of 25 items in the test batch'),
    );
    expect((await readDeadLetters(bus)).length).toBe(letters);
    expect(await inStream()).toBe(1);

    await clickhouse('ALTER TABLE otel.otel_traces DROP CONSTRAINT nothing');
    await until('the breaker is closed', async () => (await figure('tidemark_transfer_breaker_open')) === 0);
    await stack.waitForEmptyStream('TRACES');
    expect(await storedOf(waiting)).toBe(25);
    expect((await readDeadLetters(bus)).length).toBe(letters);
    expect(await missedByTransfer(stack)).toEqual({});
  });
});

// A message whose dead letter cannot be stored must not be acknowledged; and the consumer must continue by itself once
// there is room.
describe('a full stream of dead letters', () => {
  it('holds the consumer with an alarm and loses nothing; it continues by itself once there is room', async () => {
    const manager = await bus.manager();
    const info = await manager.streams.info('DEADLETTER');
    const letters = info.state.messages;
    const restore = await limitStream(bus, 'DEADLETTER', info.state.bytes + 10);
    await clickhouse("ALTER TABLE otel.otel_traces ADD CONSTRAINT one CHECK SpanName != 'span 3'");
    const traceId = await send(5);
    await until(
      'the consumer is held',
      async () => (await figure('tidemark_transfer_dead_letters_held')) === 1,
    );
    const { status, degraded } = await readyzOf(stack.transfer[0]);
    expect(status).toBe(200);
    expect(degraded['deadletter']).toContain('the stream is full');
    expect(await inStream()).toBe(1);
    expect(await storedOf(traceId)).toBe(4);

    await restore();
    await stack.waitForEmptyStream('TRACES');
    expect(await figure('tidemark_transfer_dead_letters_held')).toBe(0);
    expect((await readDeadLetters(bus)).length).toBe(letters + 1);
    expect(await storedOf(traceId)).toBe(4);
    await clickhouse('ALTER TABLE otel.otel_traces DROP CONSTRAINT one');
  });
});
