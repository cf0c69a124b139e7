import { z } from 'zod';
import { type KvBucket, untilWritten } from '../../bus/kv.ts';
import type { StoredMessage, StreamReader } from '../../bus/stream-reader.ts';
import { Fault } from '../../model/fault.ts';
import type { Log } from '../../telemetry/log.ts';
import { type AuditEntry, auditEntrySchema } from './entry.ts';

export type AuditDeps = {
  readonly system: KvBucket;
  /** Stores a message once per subject. */
  readonly publish: (subject: string, messageId: string, payload: Uint8Array) => Promise<void>;
  /** Removes a key of the system bucket without a trace. */
  readonly erase: (key: string) => Promise<void>;
  readonly reader: StreamReader;
  /** Unix seconds. */
  readonly now: () => number;
  readonly log: Log;
  /** An intent without renewal for this long belongs to a dead process. */
  readonly orphanMs: number;
};

/** The content of `audit_intent.<audit_id>`: the entry in case the process dies, and the final one once it is known. */
export const intentSchema = z.strictObject({
  pending: auditEntrySchema,
  final: auditEntrySchema.optional(),
  /** Counts up while the work continues. */
  renewals: z.int(),
});

export type Intent = z.output<typeof intentSchema>;

export const intentPrefix = 'audit_intent.';

const decidesMax = 20;

/** One token of a subject; texts that differ may give the same. */
export const subjectToken = (text: string | null): string =>
  text === null || text === '' ? '-' : text.slice(0, 64).replaceAll(/[^A-Za-z0-9_-]/g, '_');

/** A separate subject for each entry, so that NATS recognises a repeat for as long as the entry exists. */
const subjectOf = ({ audit_id, target }: AuditEntry): string =>
  `audit.${subjectToken(target.kind)}.${subjectToken(target.id)}.${audit_id}`;

/** How entries get from the system bucket to the stream. Every step may be repeated, by any process. */
export type Settling = {
  /**
   * Makes the result of `conclude` the final entry unless there is one already, stores the final one and removes the
   * intent. With `revision` it concludes only an intent that still has it. Returns the entry that counts, or undefined
   * when the intent was removed or not concluded, or its entry was in the log before. Transient Faults: call it again.
   */
  settle(
    auditId: string,
    conclude: (pending: AuditEntry) => AuditEntry,
    revision?: number,
  ): Promise<AuditEntry | undefined>;
  /**
   * Stores the entry of a call that this process has ended, and returns the one that counts: another process may have concluded it as
   * interrupted. Without an intent, too: it is lost with its bucket. Throws Faults: call it again.
   */
  finish(entry: AuditEntry): Promise<AuditEntry>;
};

export const auditStream = 'AUDIT';

const auditIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const findEntry = async (reader: StreamReader, auditId: string): Promise<StoredMessage | undefined> => {
  // Any other text would be a pattern of subjects.
  if (!auditIdPattern.test(auditId)) return undefined;
  const { entries } = await reader.readBackwards(auditStream, { limit: 1, subject: `audit.*.*.${auditId}` });
  return entries[0];
};

export const readEntry = async (reader: StreamReader, auditId: string): Promise<AuditEntry | undefined> => {
  const entry = await findEntry(reader, auditId);
  if (entry === undefined) return undefined;
  return auditEntrySchema.safeParse(JSON.parse(Buffer.from(entry.payload).toString())).data;
};

export const createSettling = ({ system, publish, erase, reader }: AuditDeps): Settling => {
  const decide = (
    key: string,
    conclude: (pending: AuditEntry) => AuditEntry,
    revision: number | undefined,
  ): Promise<AuditEntry | undefined> =>
    untilWritten(key, decidesMax, async () => {
      const stored = await system.get(key);
      if (stored === undefined) return undefined;
      const intent = intentSchema.parse(stored.value);
      if (intent.final !== undefined) return intent.final;
      if (revision !== undefined && stored.revision !== revision) return undefined;
      const final = conclude(intent.pending);
      await system.update(key, { ...intent, final }, stored.revision);
      return final;
    });
  const store = (entry: AuditEntry): Promise<void> =>
    publish(subjectOf(entry), entry.audit_id, Buffer.from(JSON.stringify(entry)));
  const isEntered = async (auditId: string): Promise<boolean> => {
    try {
      return (await findEntry(reader, auditId)) !== undefined;
    } catch (error) {
      // Metadata makes a missing stream again.
      if (error instanceof Fault && error.code === 'stream_not_found')
        throw new Fault('transient', error.code, error.message, error);
      throw error;
    }
  };

  const settle: Settling['settle'] = async (auditId, conclude, revision) => {
    const key = `${intentPrefix}${auditId}`;
    const final = await decide(key, conclude, revision);
    if (final === undefined) return undefined;
    // A removed intent is back after a kill of NATS, and the entry of a creation stands under the id that it gave.
    const isBack = final.outcome === 'interrupted' && (await isEntered(auditId));
    if (!isBack) await store(final);
    await erase(key);
    return isBack ? undefined : final;
  };
  return {
    settle,
    finish: async (entry) => {
      const counted =
        (await settle(entry.audit_id, () => entry)) ?? (await readEntry(reader, entry.audit_id));
      if (counted === undefined) await store(entry);
      return counted ?? entry;
    },
  };
};
