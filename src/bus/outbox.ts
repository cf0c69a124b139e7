import { headers as newHeaders } from '@nats-io/transport-node';
import type { Bus } from './connection.ts';
import { envelopeVersionHeader } from './message-headers.ts';
import { toFault } from './nats-fault.ts';

/** JetStream's answer where the subject has a message already. */
const alreadyThere = 'kv_conflict';

/**
 * Stores a message as the only one of its subject: a repeat gets the answer "stored" and stores nothing, however late it comes (the
 * message id alone would be forgotten after the duplicate window). Transient Fault when no confirmation came: it may be stored.
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

const erase = async (
  bus: Bus,
  bucket: string,
  key: string,
  bound: { readonly keep: number } | { readonly seq: number },
): Promise<number> => {
  try {
    const manager = await bus.manager();
    const { purged } = await manager.streams.purge(`KV_${bucket}`, {
      filter: `$KV.${bucket}.${key}`,
      ...bound,
    });
    return purged;
  } catch (error) {
    throw toFault(error);
  }
};

/**
 * Removes a key, or all that match a pattern, from a bucket without leaving a marker: watchers do not see it. The `keep` keys that
 * were written last stay. Returns how many it removed: of two calls at once, one removes a key. Transient Faults.
 */
export const eraseKey = (bus: Bus, bucket: string, key: string, keep = 0): Promise<number> =>
  erase(bus, bucket, key, { keep });

/** Removes a key without a marker if it still has this revision. False where another call has removed or written it. Transient Faults. */
export const eraseRevision = async (
  bus: Bus,
  bucket: string,
  key: string,
  revision: number,
): Promise<boolean> => {
  return (await erase(bus, bucket, key, { seq: revision + 1 })) > 0;
};

/** An occasional message, beside the hot path. */
export type ConfirmedMessage = {
  readonly subject: string;
  readonly messageId: string;
  readonly payload: Uint8Array;
  /** Envelope version for its header. */
  readonly version?: number;
  readonly headers?: Readonly<Record<string, string>>;
};

const confirmTries = 3;

/** Publishes with a message id and waits for the PubAck; retries with the same id. Transient Fault: it may be stored. */
export const publishConfirmed = async (
  bus: Bus,
  { subject, messageId, payload, version, headers = {} }: ConfirmedMessage,
): Promise<void> => {
  const head = newHeaders();
  if (version !== undefined) head.set(envelopeVersionHeader, String(version));
  for (const [name, value] of Object.entries(headers)) head.set(name, value);
  for (let tries = 1; ; tries++) {
    try {
      await bus.js.publish(subject, payload, { msgID: messageId, headers: head });
      return;
    } catch (error) {
      const fault = toFault(error);
      if (fault.kind !== 'transient' || fault.code === 'stream_full' || tries === confirmTries) throw fault;
    }
  }
};

/** Whether a stream has this message, by its leader: a replica may not have the newest yet. Throws a Fault. */
export const hasMessage = async (bus: Bus, stream: string, sequence: number): Promise<boolean> => {
  const { streams } = await bus.manager();
  const found = await streams.getMessage(stream, { seq: sequence }).catch((error: unknown) => {
    throw toFault(error);
  });
  return found !== null;
};

/** Removes one message of a stream; a missing one counts as removed. Transient Faults. */
export const deleteMessage = async (bus: Bus, stream: string, sequence: number): Promise<void> => {
  const manager = await bus.manager();
  try {
    await manager.streams.deleteMessage(stream, sequence, false);
  } catch (error) {
    if (await hasMessage(bus, stream, sequence)) throw toFault(error);
  }
};
