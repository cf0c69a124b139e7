import { Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import type { Bus } from '../../../src/bus/connection.ts';
import { streamHealth } from '../../../src/bus/stream-state.ts';
import { startWatch } from '../../../src/metadata/watch.ts';
import type { Clickhouse } from '../../../src/stores/clickhouse/client.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createWatchMetrics } from '../../../src/telemetry/watch-metrics.ts';

const serverMs = 1_800_000_000_000;

/** A stream whose oldest message was stored 3 s ago by the clock of NATS. */
const info = {
  config: { name: 'LEDGER', max_bytes: 1_000 },
  state: { messages: 1, bytes: 1, last_seq: 1, first_ts: new Date(serverMs - 3_000).toISOString() },
  ts: new Date(serverMs).toISOString(),
};
const bus = { manager: async () => ({ streams: { info: async () => info } }) } as unknown as Bus;

it.each([-10_000, 10_000])(
  'the age of the oldest message holds for a clock that is %d ms off',
  async (offMs) => {
    const watch = startWatch({
      bus,
      clickhouse: { run: async () => {}, rows: async () => [] } as unknown as Clickhouse,
      records: () => undefined,
      streams: [{ name: 'LEDGER' }] as unknown as Parameters<typeof startWatch>[0]['streams'],
      metrics: createWatchMetrics(new Registry()),
      now: () => serverMs + offMs,
      log: createLog('stream-age-test', 'silent'),
    });
    await vi.waitFor(() => expect(watch.trends.of('LEDGER')?.oldestAgeSeconds).toBe(3));
    await watch.stop();
  },
);

it('an age by the time of who asks goes by that time', async () => {
  expect((await streamHealth(bus, 'LEDGER', undefined, serverMs + 10_000)).oldestAgeSeconds).toBe(13);
});
