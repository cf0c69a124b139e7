import { expect } from 'vitest';
import type { Bus } from '../../../src/bus/connection.ts';
import type { Balance } from '../../../src/outcomes/balance.ts';
import { fetchEngine } from '../stack/fetch-engine.ts';
import type { Stack } from '../stack/stack.ts';
import { until } from '../until.ts';
import { readDeadLetters } from './dead-letters.ts';
import type { OutcomeReader } from './outcomes.ts';

/** An export of three spans, whose middle one ClickHouse refuses until `accept`. */
export type RefusedExport = {
  readonly appId: number;
  send(): Promise<void>;
  /** Sends the same bytes until NATS has forgotten them: they are stored as a message of their own. */
  repeatAfterTheWindow(): Promise<void>;
  accept(): Promise<void>;
  /** Its spans in ClickHouse. */
  rows(): Promise<number>;
  /** The sequence of its dead letter; 0 where there is none. */
  letter(): Promise<number>;
  balance(): Promise<Pick<Balance, 'received' | 'stored' | 'dropped' | 'deadLettered'>>;
};

export const allStored = { received: 3, stored: 3, dropped: {}, deadLettered: 0 };
export const oneDead = { received: 3, stored: 2, dropped: {}, deadLettered: 1 };

/** Runs a statement in ClickHouse. */
export const changeClickhouse = async (stack: Stack, sql: string): Promise<void> => {
  const url = `${stack.engines.clickhouse.url}/?query=${encodeURIComponent(sql)}`;
  const response = await fetchEngine(url, { method: 'POST' });
  if (!response.ok) throw new Error(await response.text());
};

export const lastOf = async (bus: Bus, stream: string): Promise<number> =>
  (await (await bus.manager()).streams.info(stream)).state.last_seq;

/** `number` tells it from others of the same stack. */
export const prepareRefusedExport = async (
  stack: Stack,
  bus: Bus,
  outcomes: OutcomeReader,
  number: number,
): Promise<RefusedExport> => {
  const name = `refused${number}`;
  const { app_id: appId, token } = await stack.createApplication(name);
  const time = `${Date.now()}000000`;
  const traceId = String(number).padStart(32, 'd');
  const spans = ['first', name, 'last'].map((each, index) => ({
    traceId,
    spanId: String(index + 1).padStart(16, '0'),
    name: each,
    startTimeUnixNano: time,
    endTimeUnixNano: time,
  }));
  const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  await changeClickhouse(
    stack,
    `ALTER TABLE otel.otel_traces ADD CONSTRAINT ${name} CHECK SpanName != '${name}'`,
  );
  const send = async (): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-mon-token': token },
      body,
    });
    expect(response.status).toBe(200);
  };
  return {
    appId,
    send,
    repeatAfterTheWindow: async () => {
      const before = await lastOf(bus, 'TRACES');
      await until('NATS has forgotten the export', async () => {
        await send();
        return (await lastOf(bus, 'TRACES')) > before;
      });
    },
    accept: () => changeClickhouse(stack, `ALTER TABLE otel.otel_traces DROP CONSTRAINT ${name}`),
    rows: async () => {
      const [row] = await stack.spansQuery(
        `SELECT uniqExact(uid) AS rows FROM otel.otel_traces WHERE AppId = ${appId}`,
      );
      return Number(row?.['rows']);
    },
    letter: async () => {
      const [letter] = (await readDeadLetters(bus)).filter(({ header }) => header['appId'] === appId);
      return letter?.sequence ?? 0;
    },
    balance: async () => {
      const [balance] = await outcomes.settled({ appId });
      if (balance === undefined) throw new Error('no balance');
      const { received, stored, dropped, deadLettered } = balance;
      return { received, stored, dropped, deadLettered };
    },
  };
};

/** An act on a dead letter by the admin API. */
export const actOn = async (stack: Stack, action: 'redrive' | 'purge', sequence: number): Promise<void> => {
  const { status } =
    action === 'redrive'
      ? await stack.api('POST', `/api/v1/dead-letters/${sequence}/redrive`, {})
      : await stack.api('DELETE', `/api/v1/dead-letters/${sequence}`, {});
  expect(status).toBe(200);
};
