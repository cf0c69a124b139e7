import { connectBus } from '../../../src/bus/connection.ts';

/**
 * Empties every KV bucket of a NATS server, for a new deployment. Emptied and not deleted: for a moment the server
 * answers reads of a new stream from the deleted one.
 */
export const emptyBuckets = async (natsUrl: string): Promise<void> => {
  const bus = await connectBus(natsUrl, 'empty-buckets');
  const { streams } = await bus.manager();
  for await (const name of streams.names()) if (name.startsWith('KV_')) await streams.purge(name);
  await bus.close();
};
