import type { ConsumerInfo } from '@nats-io/jetstream';
import type { Bus } from './connection.ts';
import { toFault } from './nats-fault.ts';

/** A pause ends by itself after this time: its process may have been killed. */
export const pauseMs = 180_000;
const renewMs = 60_000;
const settleMsMax = 30_000;
/** Without an acknowledgement for this time, an unavailable store holds the delivered messages. */
const stillMs = 5_000;
const pollMs = 50;

const durables = async (bus: Bus, stream: string): Promise<ConsumerInfo[]> => {
  const found: ConsumerInfo[] = [];
  for await (const info of (await bus.manager()).consumers.list(stream))
    if (info.config.durable_name !== undefined) found.push(info);
  return found;
};

const ended = new Date(0);

/** When the pause of another process ends. */
const pausedUntil = ({ config }: ConsumerInfo): Date =>
  config.pause_until === undefined ? ended : new Date(config.pause_until);

/** Waits until the delivered messages are acknowledged, no further acknowledgement comes, or the work is stopped. */
const untilSettled = async (bus: Bus, stream: string, signal: AbortSignal | undefined): Promise<void> => {
  const deadline = performance.now() + settleMsMax;
  let floors = '';
  let since = performance.now();
  while (!signal?.aborted) {
    const infos = await durables(bus, stream);
    const found = infos.map((info) => `${info.num_ack_pending}/${info.ack_floor.stream_seq}`).join();
    const now = performance.now();
    if (found !== floors) since = now;
    floors = found;
    if (infos.every((info) => info.num_ack_pending === 0) || now - since > stillMs || now > deadline) return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
};

/**
 * Restores the state before the pause. The client's `resume` would leave a date, which differs from the definition of the consumer.
 */
const resume = async (bus: Bus, stream: string, info: ConsumerInfo): Promise<void> => {
  const until = pausedUntil(info);
  const body = until.getTime() > Date.now() ? { pause_until: until.toISOString() } : {};
  await bus.nc.request(`$JS.API.CONSUMER.PAUSE.${stream}.${info.name}`, JSON.stringify(body));
};

/**
 * Does `work` while the durable consumers of a stream get no message: pulls wait, publishing continues. Begins once the delivered
 * messages are settled, after 30 s at the latest. Afterwards the consumers continue, by themselves within three minutes if this
 * process is killed; a longer pause of another process stays. With an aborted `signal` it waits for no message any more: `work` has
 * to look at it. Throws the Faults of `work`, and transient ones.
 */
export const withPausedConsumers = async <T>(
  bus: Bus,
  stream: string,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> => {
  const before = await durables(bus, stream).catch((error: unknown) => {
    throw toFault(error);
  });
  const pause = async (): Promise<void> => {
    const { consumers } = await bus.manager();
    const until = new Date(Date.now() + pauseMs);
    for (const info of before) if (pausedUntil(info) < until) await consumers.pause(stream, info.name, until);
  };
  // After a failed renewal the consumers continue, which the copy's own check finds.
  let renewing: Promise<unknown> = Promise.resolve();
  const renewal = setInterval(() => {
    renewing = pause().catch(() => undefined);
  }, renewMs);
  try {
    await pause().catch((error: unknown) => {
      throw toFault(error);
    });
    await untilSettled(bus, stream, signal).catch((error: unknown) => {
      throw toFault(error);
    });
    return await work();
  } finally {
    clearInterval(renewal);
    await renewing;
    // A pause that cannot be ended now ends by itself.
    for (const info of before) await resume(bus, stream, info).catch(() => undefined);
  }
};
