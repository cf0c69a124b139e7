import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { z } from 'zod';
import { createStoreFigures } from '../../../src/metadata/store-figures.ts';
import { Fault } from '../../../src/model/fault.ts';
import type { Clickhouse } from '../../../src/stores/clickhouse/client.ts';
import { createWatchMetrics } from '../../../src/telemetry/watch-metrics.ts';

const none = { list: () => [], known: () => undefined };

const nowMs = 1_800_000_000_000;

const setup = () => {
  const registry = new Registry();
  const state = { isAway: false, atMs: 0 };
  const answers: [part: string, rows: unknown[]][] = [
    ['parts_to_delay_insert', [{ value: 1000 }]],
    ['system.parts', [{ table: 'otel_traces', most: 700 }]],
  ];
  const clickhouse: Clickhouse = {
    ping: async () => undefined,
    run: async () => undefined,
    insert: async () => 0,
    close: async () => undefined,
    rows: async <T>(schema: z.ZodType<T>, query: string) => {
      if (state.isAway) throw new Fault('transient', 'clickhouse_unavailable', 'no answer');
      const [, rows = []] = answers.find(([part]) => query.includes(part)) ?? [];
      return rows.map((row) => schema.parse(row));
    },
  };
  const figures = createStoreFigures({
    clickhouse,
    records: () => ({ reports: none, dataSources: none, applications: none, groups: none, tables: none }),
    metrics: createWatchMetrics(registry),
    now: () => nowMs,
    elapsed: () => state.atMs,
  });
  const look = async (): Promise<void> => {
    await Promise.allSettled([figures.parts(), figures.outcomes(), figures.usage()]);
  };
  const exposed = async (name: string): Promise<number> =>
    (await registry.getMetricsAsJSON()).find((metric) => metric.name === name)?.values.length ?? 0;
  const valuesOf = async (name: string): Promise<unknown> =>
    (await registry.getMetricsAsJSON())
      .find((metric) => metric.name === name)
      ?.values.map(({ labels, value }) => [labels, value]);
  return { state, answers, look, exposed, valuesOf };
};

const shown = [
  'tidemark_clickhouse_parts_max',
  'tidemark_clickhouse_parts_delay',
  'tidemark_outcome_items',
  'tidemark_usage_silent_owners',
  'tidemark_usage_failing_senders',
];

it('figures that ClickHouse did not give for ten minutes are none: no alarm goes on about them', async () => {
  const { state, look, exposed } = setup();
  const seen = async (): Promise<boolean[]> =>
    Promise.all(shown.map(async (name) => (await exposed(name)) > 0));
  await look();
  expect(await seen()).toEqual(shown.map(() => true));
  state.isAway = true;
  state.atMs += 600_000;
  await look();
  expect(await seen()).toEqual(shown.map(() => true));
  state.atMs += 1;
  await look();
  expect(await seen()).toEqual(shown.map(() => false));
  state.isAway = false;
  await look();
  expect(await seen()).toEqual(shown.map(() => true));
});

const failingOf = (hours: number, fields = {}) => ({
  ...{ pipeline: 'metrics', sender: '10.0.0.9', last_sdk: '', reason: 'unauthorized', named: 0, app_id: 0 },
  ...{ hours, samples: hours, first_ms: nowMs - 3_600_000 * hours, last_ms: nowMs, ...fields },
});

// An alarm on their number fires for the first one alone, and stays for as long as any is left.
it('each failing sender is named by its owner, without one by its address, the newest fifty', async () => {
  const { answers, look, valuesOf } = setup();
  const old = Array.from({ length: 60 }, (_, index) => failingOf(100 + index, { named: 1_600_000 + index }));
  const named = { named: 1_500_001 };
  // All addresses of one owner: they hide no other owner.
  const many = Array.from({ length: 55 }, (_, index) =>
    failingOf(6, { named: 1_500_002, sender: `10.0.1.${index}` }),
  );
  answers.push([
    'argMax(sdk, at)',
    [...old, failingOf(9, named), failingOf(8), failingOf(6, named), ...many],
  ]);
  await look();
  const values = await valuesOf('tidemark_usage_failing_sender_hours');
  expect(values).toHaveLength(50);
  expect(values).toEqual(
    expect.arrayContaining([
      [{ owner: '0', address: '10.0.0.9' }, 8],
      [{ owner: '1500001', address: '' }, 9],
      [{ owner: '1500002', address: '' }, 6],
    ]),
  );
  expect(await valuesOf('tidemark_usage_failing_senders')).toEqual([[{}, 118]]);
});
