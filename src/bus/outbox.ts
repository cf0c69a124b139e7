import type { Bus } from './connection.ts';
import { toFault } from './nats-fault.ts';

/** JetStream's answer where the subject has a message already. */
const alreadyThere = 'kv_conflict';

/**
 * Stores a message as the only one of its subject: a repeat is answered as stored and stores nothing, however late it comes
 * (the message id alone would be forgotten after the duplicate window). Transient Fault when no confirmation came: it may
 * be stored.
 */
export const publishOnce = async (
  bus: Bus,
  subject: string,
  messageId: string,
  payload: Uint8Array,
): Promise<void> => {
  try {
    await bus.js.publish(subject, payload, { msgID: messageId, expect: { lastSubjectSequence: 0 } });
  } catch (error) {
    const fault = toFault(error);
    if (fault.code !== alreadyThere) throw fault;
  }
};

/** Removes a key from a bucket and leaves no marker of it: watchers are not told. Transient Faults. */
export const eraseKey = async (bus: Bus, bucket: string, key: string): Promise<void> => {
  try {
    const manager = await bus.manager();
    await manager.streams.purge(`KV_${bucket}`, { filter: `$KV.${bucket}.${key}` });
  } catch (error) {
    throw toFault(error);
  }
};
