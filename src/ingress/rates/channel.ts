import { randomUUID } from 'node:crypto';
import type { Bus } from '../../bus/connection.ts';
import { type Change, findKvBucket, type KvBucket } from '../../bus/kv.ts';
import { buckets } from '../../directory/keys.ts';
import { demandPrefix } from '../../directory/rates-bucket.ts';
import type { LastingFault } from '../../telemetry/lasting-fault.ts';
import type { ReportChannel } from './exchange.ts';

/** After this number of own writes that a watch did not deliver, the watch counts as ended. */
const unseenMax = 10;

/**
 * The KV bucket of the reports, one key per process. Metadata makes it, also after a restart of NATS, which loses it, so a failed
 * write looks for it again; `fault` receives each failure and each success.
 */
export const createReportChannel = (bus: Bus, fault: LastingFault): ReportChannel => {
  const process = randomUUID();
  let opening: Promise<KvBucket> | undefined;
  let watch: { stop(): void } | undefined;
  let tell: (process: string, report: unknown) => void = () => {};
  let unseen = 0;
  let isLeft = false;

  const onChange = ({ key, value }: Change): void => {
    const writer = key.slice(demandPrefix.length);
    if (writer === process) unseen = 0;
    tell(writer, value);
  };

  const put = async (report: unknown): Promise<void> => {
    opening ??= findKvBucket(bus, buckets.rates);
    const bucket = await opening;
    if (isLeft) return;
    watch ??= bucket.watch(onChange, () => {});
    await bucket.put(demandPrefix + process, report);
    fault.worked();
    if (++unseen <= unseenMax) return;
    watch.stop();
    watch = undefined;
    unseen = 0;
  };

  return {
    process,
    get connected() {
      return bus.connected;
    },
    write: (report) => {
      put(report).catch((error: unknown) => {
        opening = undefined;
        fault.failed(error);
      });
    },
    watch: (onReport) => {
      tell = onReport;
    },
    leave: async () => {
      isLeft = true;
      watch?.stop();
      const bucket = await opening?.catch(() => undefined);
      if (bus.connected) await bucket?.delete(demandPrefix + process).catch(() => undefined);
    },
  };
};
