import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { startWatch } from '../../src/metadata/watch.ts';
import { Fault } from '../../src/model/fault.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createWatchMetrics } from '../../src/telemetry/watch-metrics.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

let engines: TestEngines;
let bus: Bus;
let clickhouse: Clickhouse;

beforeAll(async () => {
  engines = await startEngines({ nats: true, clickhouse: true });
  bus = await connectBus(engines.nats.url, 'test');
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
});
afterAll(async () => {
  await clickhouse?.close();
  await bus?.close();
  await engines?.stop();
});

/** A client of it for which nothing is answered while it is away; a query ends after `hangMs`. */
const awayFirst = (hangMs: number) => {
  const state = { isAway: true, ended: 0 };
  const refused = (): Fault => new Fault('transient', 'clickhouse_unavailable', 'no answer');
  const client: Clickhouse = {
    ...clickhouse,
    run: (statement) => (state.isAway ? Promise.reject(refused()) : clickhouse.run(statement)),
    rows: async (schema, query, options) => {
      if (!state.isAway) return clickhouse.rows(schema, query, options);
      await delay(hangMs);
      state.ended++;
      throw refused();
    },
  };
  return { state, client };
};

it('a look that hung while ClickHouse was away is repeated once ClickHouse answers, not after a rest of twenty times its time', async () => {
  const { state, client } = awayFirst(3_000);
  const registry = new Registry();
  const watch = startWatch({
    ...{ bus, clickhouse: client, records: () => undefined, streams: [] },
    ...{ metrics: createWatchMetrics(registry), now: Date.now, log: createLog('test', 'silent') },
  });
  try {
    await until('the looks have hung', () => state.ended >= 2);
    state.isAway = false;
    const looked = async () => /last_success\w*\{what="parts"\} [1-9]/.test(await registry.metrics());
    await until('the parts are read', looked, 30_000);
    expect(watch.clickhouseProblem()).toBe('');
  } finally {
    await watch.stop();
  }
});

it('a look that still hangs when ClickHouse answers again is repeated as soon as it ends', async () => {
  const { state, client } = awayFirst(9_000);
  const registry = new Registry();
  const watch = startWatch({
    ...{ bus, clickhouse: client, records: () => undefined, streams: [] },
    ...{ metrics: createWatchMetrics(registry), now: Date.now, log: createLog('test', 'silent') },
  });
  try {
    await until('ClickHouse is away', () => watch.clickhouseProblem() !== undefined);
    state.isAway = false;
    await until('ClickHouse answers', () => watch.clickhouseProblem() === '');
    expect(state.ended, 'the looks hang').toBe(0);
    const looked = async () => /last_success\w*\{what="parts"\} [1-9]/.test(await registry.metrics());
    await until('the parts are read', looked, 30_000);
  } finally {
    await watch.stop();
  }
});
