import type { Bus } from '../../../src/bus/connection.ts';
import { holdKey } from '../../../src/bus/stream-differences.ts';

/** Gives a stream another byte budget, which metadata leaves as it is; call the result to give it its own again. */
export const limitStream = async (bus: Bus, stream: string, bytes: number): Promise<() => Promise<void>> => {
  const { streams } = await bus.manager();
  const { config } = await streams.info(stream);
  const { [holdKey]: _, ...metadata } = config.metadata ?? {};
  await streams.update(stream, { max_bytes: bytes, metadata: { ...metadata, [holdKey]: 'a test' } });
  return async () => {
    await streams.update(stream, { max_bytes: config.max_bytes, metadata });
  };
};
