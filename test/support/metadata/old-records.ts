import { z } from 'zod';
import { connectBus } from '../../../src/bus/connection.ts';
import { openKvBucket } from '../../../src/bus/kv.ts';
import { buckets, recordKeys } from '../../../src/directory/keys.ts';
import type { TestEngines } from '../stack/engines.ts';

/** Texts as a former version took them. */
export const oldTexts = {
  data_description: 'old\u001b]0;pwn\u0007\u001b[2J\u009b\nnote \u202e\u200b',
  creator: 'ann\u001b[31m',
} as const;

/** Writes them into an existing data source, as an earlier version would have. */
export const makeOld = async (engines: TestEngines, dataId: number): Promise<void> => {
  const bus = await connectBus(engines.nats.url, 'old-records');
  try {
    const records = await openKvBucket(bus, buckets.records);
    const key = recordKeys.dataSource(dataId);
    const stored = await records.get(key);
    await records.put(key, { ...z.record(z.string(), z.unknown()).parse(stored?.value), ...oldTexts });
  } finally {
    await bus.close();
  }
};
