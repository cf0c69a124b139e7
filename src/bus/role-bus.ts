import { natsTarget, type Settings } from '../config/settings.ts';
import { errorText } from '../model/fault.ts';
import type { Parts } from '../runtime/run-role.ts';
import type { Log } from '../telemetry/log.ts';
import { type Bus, connectBusWhenUp } from './connection.ts';

/** The connection of a role, a part of it: waits until a server answers, and its log has each loss and each return. Rejects when `stop` fires. */
export const openRoleBus = async (
  role: 'ingress' | 'transfer' | 'metadata',
  { settings, log }: { readonly settings: Settings; readonly log: Pick<Log, 'info' | 'warn'> },
  parts: Parts,
  stop: AbortSignal,
): Promise<Bus> => {
  const bus = await connectBusWhenUp(natsTarget(settings), `tidemark-${role}`, stop, (error) =>
    log.warn({ error: errorText(error) }, 'waiting for NATS'),
  );
  parts.add('NATS connection', () => bus.close());
  bus.onDisconnect(() => log.warn({}, 'NATS connection lost'));
  bus.onReconnect(() => log.info({}, 'NATS connection is back'));
  return bus;
};
