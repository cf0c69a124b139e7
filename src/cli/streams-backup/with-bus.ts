import type { Bus } from '../../bus/connection.ts';
import { natsTarget, type Settings } from '../../config/settings.ts';

/** Does `work` with a connection to NATS. Throws its Faults, and transient ones of NATS. */
export const withBus = async <T>(settings: Settings, work: (bus: Bus) => Promise<T>): Promise<T> => {
  // Loaded here: most commands go through the admin API and need no NATS.
  const { connectBus } = await import('../../bus/connection.ts');
  const bus = await connectBus(natsTarget(settings), 'tidemark-backup');
  try {
    return await work(bus);
  } finally {
    await bus.close();
  }
};
