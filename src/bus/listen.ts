import { Fault } from '../model/fault.ts';
import type { Bus } from './connection.ts';

const flushMsMax = 2_000;

/**
 * Calls `onMessage` with everything that is published to a subject from now on, stored or not, as long as the connection is there;
 * after a reconnect it goes on. Returns the function that stops it. Transient Fault when NATS does not answer.
 */
export const listen = async (
  bus: Bus,
  subject: string,
  onMessage: (payload: Uint8Array) => void,
): Promise<() => void> => {
  const subscription = bus.nc.subscribe(subject, {
    callback: (error, message) => {
      if (error === null) onMessage(message.data);
    },
  });
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Fault('transient', 'nats_unavailable', 'no answer from NATS')),
    flushMsMax,
  );
  try {
    await Promise.race([bus.nc.flush(), late]);
  } catch (error) {
    subscription.unsubscribe();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return () => subscription.unsubscribe();
};
