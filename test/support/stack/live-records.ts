import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { openKvBucket } from '../../../src/bus/kv.ts';
import { buckets } from '../../../src/directory/keys.ts';
import { createRecordWriter } from '../metadata/directory-records.ts';
import type { Stack } from './stack.ts';

/** A way to write the records of a running stack as metadata does, without its API. */
export const openLiveRecords = async (stack: Stack) => {
  const bus: Bus = await connectBus(stack.engines.nats.url, 'test');
  const records = await openKvBucket(bus, buckets.records);
  return { bus, ...createRecordWriter(records), close: () => bus.close() };
};

export type LiveRecords = Awaited<ReturnType<typeof openLiveRecords>>;
