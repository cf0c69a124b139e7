import { connectBus } from '../../src/bus/connection.ts';
import { until } from './until.ts';

/**
 * Removes every KV bucket of a NATS server and answers when none is left: what follows is a new deployment. A removal
 * that got no answer in time may still be done later, so nothing less than an empty list will do.
 */
export const removeBuckets = async (natsUrl: string): Promise<void> => {
  const bus = await connectBus(natsUrl, 'remove-buckets');
  const manager = await bus.manager();
  await until('the buckets are gone', async () => {
    const buckets: string[] = [];
    for await (const name of manager.streams.names()) if (name.startsWith('KV_')) buckets.push(name);
    await Promise.all(buckets.map((name) => manager.streams.delete(name)));
    return buckets.length === 0;
  });
  await bus.close();
};
