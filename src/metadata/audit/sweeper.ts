import { unlessConflict } from '../../bus/kv.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { type Rounds, startRounds } from '../../runtime/rounds.ts';
import type { AuditEntry } from './entry.ts';
import { type AuditDeps, type Intent, intentPrefix, type Settling } from './intents.ts';

/** Publishes entries that dead processes left behind, and renews the intents of this process. */
export type AuditSweeper = {
  /** An intent of this process whose work has not ended. */
  hold(auditId: string, intent: Intent, revision: number): void;
  /** The entry of an intent of this process that could not be stored: it is retried. */
  keep(entry: AuditEntry): void;
  /** An intent of this process that has ended. */
  forget(auditId: string): void;
  start(): void;
  stop(): Promise<void>;
};

type Held = { intent: Intent; revision: number; renewedAt: number; final: AuditEntry | undefined };

const restMsMax = 5_000;

const isTransient = (error: unknown): boolean => error instanceof Fault && error.kind === 'transient';

/**
 * Any number of processes may sweep in parallel. An intent is an orphan when its revision has not changed for
 * `orphanMs` by this process's own clock; clocks of other machines do not count, and after an outage of the bus, when
 * no process could renew, the time starts again.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the parts of one round and the state that they share.
export const createAuditSweeper = (deps: AuditDeps, settling: Settling): AuditSweeper => {
  const { system, log, orphanMs } = deps;
  const restMs = Math.min(restMsMax, orphanMs / 6);
  const held = new Map<string, Held>();
  const seen = new Map<string, { revision: number; since: number }>();
  let watch: { stop(): void } | undefined;
  let rounds: Rounds | undefined;

  const renew = async (auditId: string, own: Held, now: number): Promise<void> => {
    own.renewedAt = now;
    own.intent = { ...own.intent, renewals: own.intent.renewals + 1 };
    const key = `${intentPrefix}${auditId}`;
    // Else it was concluded in this moment, by this process or another.
    own.revision = (await unlessConflict(system.update(key, own.intent, own.revision))) ?? own.revision;
  };

  const tendOwn = async (now: number): Promise<void> => {
    for (const [auditId, own] of held) {
      const { final } = own;
      if (final !== undefined) {
        await settling.finish(final);
        held.delete(auditId);
      } else if (now - own.renewedAt >= orphanMs / 3) await renew(auditId, own, now);
    }
  };

  const sweepOrphans = async (now: number): Promise<void> => {
    for (const [auditId, { revision, since }] of seen) {
      if (held.has(auditId) || now - since < orphanMs) continue;
      try {
        const entry = await settling.settle(auditId, (pending) => pending, revision);
        if (entry !== undefined) log.warn({ audit_id: auditId }, `audit entry published: ${entry.outcome}`);
      } catch (error) {
        if (isTransient(error)) throw error;
        // A malformed one must not delay the others.
        log.error({ audit_id: auditId }, `an audit intent cannot be settled: ${errorText(error)}`);
      }
      // The watch delivers again what was renewed in the meantime.
      if (seen.get(auditId)?.revision === revision) seen.delete(auditId);
    }
  };

  const tick = async (): Promise<void> => {
    const now = performance.now();
    try {
      await tendOwn(now);
      await sweepOrphans(now);
    } catch (error) {
      for (const orphan of seen.values()) orphan.since = performance.now();
      if (!isTransient(error)) log.error({}, `audit intents cannot be processed: ${errorText(error)}`);
    }
  };

  return {
    hold: (auditId, intent, revision) => {
      held.set(auditId, { intent, revision, renewedAt: performance.now(), final: undefined });
    },
    keep: (entry) => {
      const own = held.get(entry.audit_id);
      if (own !== undefined) own.final = entry;
    },
    forget: (auditId) => {
      held.delete(auditId);
      seen.delete(auditId);
    },
    start: () => {
      watch = system.watch(
        ({ key, value, revision }) => {
          if (!key.startsWith(intentPrefix)) return;
          const auditId = key.slice(intentPrefix.length);
          if (value === undefined) seen.delete(auditId);
          else seen.set(auditId, { revision, since: performance.now() });
        },
        () => undefined,
      );
      rounds = startRounds(() => tick().then(() => restMs), restMs);
    },
    stop: async () => {
      watch?.stop();
      await rounds?.stop();
    },
  };
};
