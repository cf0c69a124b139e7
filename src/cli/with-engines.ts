import type { Bus } from '../bus/connection.ts';
import { engineUrls, natsTarget, type Settings } from '../config/settings.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';

// The clients are loaded here: most commands go through the admin API and need none of them.

/** Does `work` with a connection to NATS. Throws its Faults, and transient ones of NATS. */
export const withBus = async <T>(settings: Settings, work: (bus: Bus) => Promise<T>): Promise<T> => {
  const { connectBus } = await import('../bus/connection.ts');
  const bus = await connectBus(natsTarget(settings), 'tidemark-backup');
  try {
    return await work(bus);
  } finally {
    await bus.close();
  }
};

/** Does `work` with a client of ClickHouse. */
export const withClickhouse = async <T>(
  settings: Settings,
  work: (clickhouse: Clickhouse) => Promise<T>,
): Promise<T> => {
  const { createClickhouse } = await import('../stores/clickhouse/client.ts');
  const clickhouse = createClickhouse({ url: engineUrls(settings).clickhouse });
  try {
    return await work(clickhouse);
  } finally {
    await clickhouse.close();
  }
};
