import { errorText } from '../model/fault.ts';
import { type Rounds, startRounds } from '../runtime/rounds.ts';
import type { Log } from '../telemetry/log.ts';
import type { Bus } from './connection.ts';
import { type FleetingBucket, openKvBucket } from './kv.ts';
import { unlessMissing } from './nats-fault.ts';

export type KeepFleetingOptions = {
  readonly bus: Bus;
  readonly name: string;
  readonly limits: FleetingBucket;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly everyMs?: number;
};

const everyMsDefault = 2_000;

/**
 * Makes a fleeting bucket, and looks every other second whether it is still there: it is lost when its NATS server restarts, and those
 * who write to it may not make it. It begins empty. Several processes may keep one bucket.
 */
export const keepFleetingBucket = (options: KeepFleetingOptions): Rounds => {
  const { bus, name, limits, log, everyMs = everyMsDefault } = options;
  let isOpened = false;
  let isFailing = false;

  const look = async (): Promise<void> => {
    const found = await unlessMissing((await bus.manager()).streams.info(`KV_${name}`));
    // The first look brings the copies of one that is there to their number.
    if (found !== undefined && isOpened) return;
    await openKvBucket(bus, name, limits);
    isOpened = true;
    if (found === undefined) log.info({ bucket: name }, 'a bucket in memory was made');
  };

  return startRounds(async () => {
    try {
      // Other checks report a NATS that does not answer.
      if (bus.connected) await look();
      isFailing = false;
    } catch (error) {
      if (!isFailing && bus.connected)
        log.warn({ bucket: name, error: errorText(error) }, 'a bucket in memory cannot be looked at or made');
      isFailing = true;
    }
    return everyMs;
  });
};
