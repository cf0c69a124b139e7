import { InvalidArgumentError, type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node';
import { Fault } from '../model/fault.ts';
import type { Bus } from './connection.ts';
import { envelopeVersionHeader } from './message-headers.ts';
import { toFault } from './nats-fault.ts';
import { isTooLarge, tooLarge } from './too-large.ts';

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

/** What a stream says that has no room; another failure of its storage has the same code, and may leave bytes there. */
const noRoom = ['maximum bytes exceeded', 'maximum messages exceeded'];

/**
 * Whether the Fault of `publishConfirmed` says that nothing of the message is stored: the stream is full, nobody takes its subject, the
 * user of NATS may not publish there, or it is larger than NATS takes.
 */
export const isNothingStored = (error: unknown): boolean =>
  error instanceof Fault &&
  (error.code === 'jetstream_leaderless' ||
    error.code === 'nats_not_permitted' ||
    isTooLarge(error) ||
    (error.code === 'stream_full' && noRoom.some((words) => error.message.includes(words))));

/** The client refuses a message that is larger than the server takes, and says so in an argument. */
const faultOf = (bus: Bus, error: unknown, size: number): Fault =>
  error instanceof InvalidArgumentError ? tooLarge(size, bus.nc.info?.max_payload ?? 0) : toFault(error);

/** The tries on each connection, by subject: those that are under way, and all that ever began. */
const triesOf = new WeakMap<Bus, Map<string, { open: number; begun: number }>>();

/**
 * Publishes once. The server names the subject that it refuses, and the client takes that for the oldest publish there: where others were
 * under way, such a Fault is transient, because it may be theirs.
 */
const tryOnce = async (
  bus: Bus,
  { subject, messageId, payload }: ConfirmedMessage,
  headers: MsgHdrs,
): Promise<void> => {
  const bySubject = triesOf.get(bus) ?? new Map<string, { open: number; begun: number }>();
  triesOf.set(bus, bySubject);
  const tries = bySubject.get(subject) ?? { open: 0, begun: 0 };
  bySubject.set(subject, tries);
  const isAlone = tries.open++ === 0;
  const own = ++tries.begun;
  try {
    await bus.js.publish(subject, payload, { msgID: messageId, headers });
  } catch (error) {
    const fault = faultOf(bus, error, payload.length);
    if (fault.code !== 'nats_not_permitted' || (isAlone && tries.begun === own)) throw fault;
    throw new Fault('transient', 'nats_unavailable', fault.message, error);
  } finally {
    if (--tries.open === 0) bySubject.delete(subject);
  }
};

/**
 * Publishes with a message id and waits for the PubAck; retries with the same id. Transient Fault: it may be stored, unless
 * `isNothingStored`: where an earlier try got no answer, the Fault is that of this try. Permanent Fault `message_too_large`.
 */
export const publishConfirmed = async (bus: Bus, message: ConfirmedMessage): Promise<void> => {
  const { version, headers = {} } = message;
  const head = newHeaders();
  if (version !== undefined) head.set(envelopeVersionHeader, String(version));
  for (const [name, value] of Object.entries(headers)) head.set(name, value);
  let unanswered: Fault | undefined;
  for (let tries = 1; ; tries++) {
    try {
      await tryOnce(bus, message, head);
      return;
    } catch (error) {
      const fault = toFault(error);
      if (!isNothingStored(fault)) unanswered ??= fault;
      if (fault.kind !== 'transient' || fault.code === 'stream_full' || tries === confirmTries)
        throw unanswered ?? fault;
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
