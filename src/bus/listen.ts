import { Fault } from '../model/fault.ts';
import type { Bus } from './connection.ts';
import { within } from './in-time.ts';

const flushMsMax = 2_000;

/**
 * Calls `onMessage` with every message on a subject from now on, stored or not, while the connection lasts, and again after a
 * reconnect. Returns the function that stops it. Transient Fault when NATS does not answer.
 */
export const listen = async (
  bus: Bus,
  subject: string,
  onMessage: (payload: Uint8Array, subject: string) => void,
): Promise<() => void> => {
  const subscription = bus.nc.subscribe(subject, {
    callback: (error, message) => {
      if (error === null) onMessage(message.data, message.subject);
    },
  });
  const late = () => new Fault('transient', 'nats_unavailable', 'no answer from NATS');
  try {
    await within(bus.nc.flush(), flushMsMax, late);
  } catch (error) {
    subscription.unsubscribe();
    throw error;
  }
  return () => subscription.unsubscribe();
};
