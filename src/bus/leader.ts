import type { StreamInfo } from '@nats-io/jetstream';
import { Fault } from '../model/fault.ts';

/** Copies elect another leader no sooner than they have missed this one for so long. A leader that is cut off goes on for 20 s. */
const silenceMsMax = 4_000;

/** Throws a transient Fault of this code unless a server leads the stream, in touch with most of its copies. */
export const requireLed = ({ cluster }: Pick<StreamInfo, 'cluster'>, code: string, what: string): void => {
  // A single server.
  if (cluster === undefined) return;
  const others = cluster.replicas ?? [];
  const heard = others.filter(({ active }) => active < silenceMsMax * 1e6).length;
  // One that led it answers also without a leader.
  if (!cluster.leader || (heard + 1) * 2 <= others.length + 1)
    throw new Fault('transient', code, `no server leads ${what} just now`);
};
