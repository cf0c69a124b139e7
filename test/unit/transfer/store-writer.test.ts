import { expect, it } from 'vitest';
import { createLog } from '../../../src/telemetry/log.ts';
import { createTransferMetrics } from '../../../src/telemetry/transfer-metrics.ts';
import { createStoreWriter } from '../../../src/transfer/store-writer.ts';

it('the time of a failed write, as its timeout in an outage, is no time of a write: it is counted alone', async () => {
  const metrics = createTransferMetrics();
  let tries = 0;
  const writer = createStoreWriter<never>({
    sink: {
      pipeline: 'traces',
      store: 'clickhouse',
      write: async (_batch, sent) => {
        tries++;
        sent(tries === 1 ? 'failed' : 'stored', tries === 1 ? 20 : 0.1);
        if (tries === 1) throw new Error('timeout');
        return { deadLettered: new Map(), retryLater: new Set(), purged: new Set() };
      },
    },
    metrics,
    log: createLog('test', 'silent'),
    isStopping: () => false,
    elapsed: () => 0,
  });
  await writer.write([], undefined);
  const text = await metrics.registry.metrics();
  const writes = text
    .split('\n')
    .filter((line) => /^tidemark_transfer_writes?_.*(_count|total)\{.*traces/.test(line));
  expect(writes.toSorted()).toEqual([
    'tidemark_transfer_write_seconds_count{role="transfer",pipeline="traces"} 1',
    'tidemark_transfer_writes_total{pipeline="traces",outcome="failed",role="transfer"} 1',
    'tidemark_transfer_writes_total{pipeline="traces",outcome="stored",role="transfer"} 1',
  ]);
});
