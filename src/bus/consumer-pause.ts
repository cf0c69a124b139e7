import type { ConsumerInfo } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { z } from 'zod';
import { Fault } from '../model/fault.ts';
import type { Bus } from './connection.ts';
import { toFault } from './nats-fault.ts';
import { readServerTimeMs } from './stream-state.ts';

/** A pause ends by itself after this time: its process may have been killed. */
const pauseMs = 180_000;
const renewMs = 60_000;
/** How long delivered messages may take until they are acknowledged. */
export const settleMsMax = 30_000;
/** Without an acknowledgement for this time, an unavailable store holds the delivered messages. */
const stillMsDefault = 5_000;
const pollMs = 50;

const durables = async (bus: Bus, stream: string): Promise<ConsumerInfo[]> => {
  const found: ConsumerInfo[] = [];
  for await (const info of (await bus.manager()).consumers.list(stream))
    if (info.config.durable_name !== undefined) found.push(info);
  return found;
};

/** The rest is for an answer that comes late. */
const pauseNsMax = nanos(pauseMs + 30_000);

/** Whether a consumer is paused for longer than a backup pauses it: by somebody, or by a backup whose clock was ahead. */
export const isLongPaused = ({ paused, pause_remaining }: ConsumerInfo): boolean =>
  paused === true && pause_remaining > pauseNsMax;

const ended = new Date(0);

/** When the pause of another process ends. */
const pausedUntil = ({ config }: ConsumerInfo): Date =>
  config.pause_until === undefined ? ended : new Date(config.pause_until);

const pauseAnswer = z.object({ paused: z.boolean(), pause_remaining: z.number().default(0) });

/** Transient Fault `consumer_not_paused` for an answer by which messages would leave before the second renewal. */
export const requirePaused = (name: string, answer: unknown): void => {
  const { paused, pause_remaining: remaining } = pauseAnswer.parse(answer);
  if (paused && remaining >= nanos(2 * renewMs)) return;
  throw new Fault(
    'transient',
    'consumer_not_paused',
    `NATS does not pause consumer ${name} for ${pauseMs / 1000} s: compare the clocks of its servers, and repeat the backup`,
  );
};

export type PauseOptions = {
  /** Once it is aborted, nothing waits for a message any more: `work` has to look at it. */
  readonly signal?: AbortSignal | undefined;
  /** How long none may be acknowledged before the delivered ones count as held by an unavailable store. */
  readonly stillMs?: number | undefined;
  /** Whether a pause that is longer than that of a backup ends with this one. Else it stays. */
  readonly isLongPauseEnded?: boolean | undefined;
};

/** Waits until the delivered messages are acknowledged, no further acknowledgement comes, or the work is stopped. */
const untilSettled = async (
  bus: Bus,
  stream: string,
  { signal, stillMs = stillMsDefault }: PauseOptions,
): Promise<void> => {
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
 * Restores the state before the pauses. The client's `resume` would leave a date, which differs from the definition of the consumer.
 */
const resumeAll = async (bus: Bus, stream: string, before: ReadonlyMap<string, Date>): Promise<void> => {
  const now = await readServerTimeMs(bus, stream);
  for (const [name, until] of before) {
    const body = until.getTime() > now ? { pause_until: until.toISOString() } : {};
    await bus.nc
      .request(`$JS.API.CONSUMER.PAUSE.${stream}.${name}`, JSON.stringify(body))
      .catch(() => undefined);
  }
};

/**
 * Does `work` while the durable consumers of a stream get no message: pulls wait, publishing continues. Begins once the delivered
 * messages are settled, after 30 s at the latest. Afterwards the consumers continue, by themselves within three minutes if this
 * process is killed; a pause of another process stays. The clock of the server counts, so that of this machine may be wrong. Throws
 * the Faults of `work`, and transient ones.
 */
export const withPausedConsumers = async <T>(
  bus: Bus,
  stream: string,
  work: () => Promise<T>,
  options: PauseOptions = {},
): Promise<T> => {
  const { isLongPauseEnded = false } = options;
  const found = await durables(bus, stream).catch((error: unknown) => {
    throw toFault(error);
  });
  const before = new Map(
    found.map((info) => [info.name, isLongPauseEnded && isLongPaused(info) ? ended : pausedUntil(info)]),
  );
  const pause = async (): Promise<void> => {
    const { consumers } = await bus.manager();
    const until = new Date((await readServerTimeMs(bus, stream)) + pauseMs);
    for (const [name, otherUntil] of before)
      if (otherUntil < until) requirePaused(name, await consumers.pause(stream, name, until));
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
    await untilSettled(bus, stream, options).catch((error: unknown) => {
      throw toFault(error);
    });
    return await work();
  } finally {
    clearInterval(renewal);
    await renewing;
    // A pause that cannot be ended now ends by itself.
    await resumeAll(bus, stream, before).catch(() => undefined);
  }
};
