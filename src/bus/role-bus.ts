import { requireNatsFiles } from '../config/nats-files.ts';
import { natsTarget, type Settings } from '../config/settings.ts';
import { errorText, Fault } from '../model/fault.ts';
import type { Parts } from '../runtime/run-role.ts';
import type { Log } from '../telemetry/log.ts';
import { type Bus, connectBusWhenUp } from './connection.ts';

/**
 * The connection of a role, a part of it: waits until a server answers, and its log has each loss and each return. The role ends with
 * an error when the client closes the connection for ever. `onWait` gets the state of each failed try. Rejects when `stop` fires, and
 * where a file of the settings cannot be read.
 */
export const openRoleBus = async (
  role: 'ingress' | 'transfer' | 'metadata',
  { settings, log }: { readonly settings: Settings; readonly log: Pick<Log, 'info' | 'warn'> },
  parts: Parts,
  stop: AbortSignal,
  onWait: (why: string) => void = () => {},
): Promise<Bus> => {
  const target = natsTarget(settings);
  await requireNatsFiles(target);
  let told: string | undefined;
  const bus = await connectBusWhenUp(target, `tidemark-${role}`, stop, (error) => {
    const why = errorText(error);
    onWait(`not connected yet: ${why}`);
    const code = error instanceof Fault ? error.code : why;
    if (code !== told) log.warn({ error: why }, 'waiting for NATS');
    told = code;
  });
  let ending = false;
  parts.add('NATS connection', () => {
    ending = true;
    return bus.close();
  });
  void bus.nc.closed().then((error) => {
    if (ending) return;
    const why = error === undefined ? '' : `: ${errorText(error)}`;
    parts.broke(
      new Fault('transient', 'nats_closed', `the connection to NATS is closed for ever${why}`, error),
    );
  });
  bus.onDisconnect(() => log.warn({}, 'NATS connection lost'));
  bus.onReconnect(() => log.info({}, 'NATS connection is back'));
  bus.watchTroubles.listen({
    onBegin: (watch, error) => log.warn({ ...watch, error }, 'changes of a bucket do not arrive'),
    onEnd: (watch) => log.info({ ...watch }, 'changes of a bucket arrive again'),
  });
  return bus;
};
