import { randomUUID } from 'node:crypto';
import type { Bus } from '../../bus/connection.ts';
import type { KvBucket } from '../../bus/kv.ts';
import { eraseKey, publishOnce } from '../../bus/outbox.ts';
import { createStreamReader, type StreamReader } from '../../bus/stream-reader.ts';
import { buckets } from '../../directory/keys.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { nowSeconds } from '../../model/time.ts';
import type { Log } from '../../telemetry/log.ts';
import { fieldFault } from '../problem.ts';
import {
  type AuditActor,
  type AuditChange,
  type AuditEntry,
  auditEntrySchema,
  bounded,
  changedFields,
  redact,
  secretsIn,
} from './entry.ts';
import {
  type AuditDeps,
  auditStream,
  createSettling,
  type Intent,
  intentPrefix,
  readEntry,
  subjectToken,
} from './intents.ts';
import { createAuditSweeper } from './sweeper.ts';

/** The planned action. `target.id` is null or absent where it is not known yet: the first change of its kind has it. */
export type AuditRequest = {
  readonly actor: AuditActor;
  /** The operator that the caller named. */
  readonly operator?: string | null | undefined;
  readonly action: string;
  readonly target: { readonly kind: string; readonly id?: string | number | null | undefined };
  /** The parameters of the caller. */
  readonly request?: unknown;
};

/** One changed thing, complete, before (absent: it did not exist) and after (absent: it was removed). */
export type NotedChange = {
  /** Default: the target of the request. */
  readonly target?: { readonly kind: string; readonly id: string | number } | undefined;
  readonly before?: unknown;
  readonly after?: unknown;
};

export type Note = (change: NotedChange) => void;

export type AuditQuery = {
  /** 1 to 1000. */
  readonly limit: number;
  readonly cursor?: string | null | undefined;
  readonly target_kind?: string | undefined;
  readonly target_id?: string | undefined;
  readonly action?: string | undefined;
  /** A token_id, or the name of an actor. */
  readonly actor?: string | undefined;
};

/** Newest first. A page may have fewer items than the limit (even none) and yet a cursor. */
export type AuditPage = { readonly items: AuditEntry[]; readonly next_cursor: string | null };

export type Audit = {
  /**
   * Does `work` and writes its audit entry even if this process is killed: the intent is written first, and when that
   * fails, `work` does not begin (transient Fault). Returns or throws the result of `work`. A permanent Fault before the
   * first noted change leaves no entry: nothing was changed. Once the work is done, its result is returned even if the
   * entry cannot be stored yet: the sweeper stores it later.
   *
   * Each call has exactly one entry, permanently: compare-and-set on the intent decides whether this process or a sweeper
   * writes it, and its subject takes one message. If a process stalls in its work for longer than `orphanMs`, the entry is
   * `interrupted`, and its changes are not in the log.
   */
  run<T>(request: AuditRequest, work: (note: Note) => Promise<T>): Promise<T>;
  /** Transient Fault while NATS is down; permanent Fault `invalid_value` for a malformed cursor. */
  list(query: AuditQuery): Promise<AuditPage>;
  /** The entry with this audit_id, while the log has it. Transient Fault while NATS is down. */
  get(auditId: string): Promise<AuditEntry | undefined>;
  /** Starts to publish the entries of dead processes, and those of this one that could not be stored. */
  start(): void;
  stop(): Promise<void>;
};

const orphanMsDefault = 30_000;
/** Entries that one call of `list` reads at most. */
const scanMax = 4_000;
const scanPage = 256;

const idText = (id: string | number | null | undefined): string | null =>
  id === undefined || id === null ? null : String(id);

const toChange = (entry: AuditEntry, { target, before, after }: NotedChange): AuditChange => ({
  kind: target?.kind ?? entry.target.kind,
  id: target === undefined ? entry.target.id : idText(target.id),
  ...changedFields(before, after),
});

/** The entry with the noted changes, without secrets. */
const withChanges = (pending: AuditEntry, noted: readonly NotedChange[], request: unknown): AuditEntry => {
  const secrets = secretsIn(request, ...noted.flatMap(({ before, after }) => [before, after]));
  const first = noted.find(({ target }) => target?.kind === pending.target.kind)?.target;
  const target = { ...pending.target, id: pending.target.id ?? idText(first?.id) };
  const known = { ...pending, target };
  const text = (value: string | null): string | null =>
    value === null ? null : String(redact(value, secrets));
  return bounded({
    ...known,
    target: { ...target, id: text(target.id) },
    operator: text(known.operator),
    changes: noted.map((change) => {
      const { before, after, id, kind } = toChange(known, change);
      return { kind, id: text(id), before: redact(before, secrets), after: redact(after, secrets) };
    }),
    request: redact(request ?? null, secrets),
  });
};

const codeOf = (error: unknown): string => (error instanceof Fault ? error.code : 'internal_error');

export const createAudit = (deps: AuditDeps): Audit => {
  const { system, reader, log } = deps;
  const settling = createSettling(deps);
  const sweeper = createAuditSweeper(deps, settling);

  const finish = async (entry: AuditEntry): Promise<void> => {
    try {
      const counted = await settling.finish(entry);
      sweeper.forget(entry.audit_id);
      if (counted.outcome !== entry.outcome) {
        log.warn(
          { audit_id: entry.audit_id },
          'this process was suspended: the audit log has its call as interrupted',
        );
      }
    } catch (error) {
      sweeper.keep(entry);
      log.warn({ audit_id: entry.audit_id }, `the audit entry is stored later: ${errorText(error)}`);
    }
  };

  const withdraw = async (auditId: string): Promise<void> => {
    sweeper.forget(auditId);
    await deps.erase(`${intentPrefix}${auditId}`).catch((error: unknown) => {
      log.warn(
        { audit_id: auditId },
        `the audit log may have a refused call as interrupted: ${errorText(error)}`,
      );
    });
  };

  const run: Audit['run'] = async ({ actor, operator, action, target, request }, work) => {
    const noted: NotedChange[] = [];
    const blank: AuditEntry = {
      audit_id: randomUUID(),
      at: deps.now(),
      actor,
      operator: operator ?? null,
      action,
      target: { kind: target.kind, id: idText(target.id) },
      outcome: 'interrupted',
      changes: [],
      request: null,
    };
    const pending = withChanges(blank, [], request);
    const intent: Intent = { pending, renewals: 0 };
    const revision = await system.create(`${intentPrefix}${blank.audit_id}`, intent);
    sweeper.hold(blank.audit_id, intent, revision);
    // As it is when it is noted: the caller may go on to change the object.
    const note: Note = (change) => {
      noted.push(structuredClone(change));
    };
    let result: Awaited<ReturnType<typeof work>>;
    try {
      result = await work(note);
    } catch (error) {
      const isRefused = error instanceof Fault && error.kind === 'permanent' && noted.length === 0;
      if (isRefused) await withdraw(blank.audit_id);
      else await finish({ ...withChanges(blank, noted, request), outcome: 'failed', code: codeOf(error) });
      throw error;
    }
    await finish({ ...withChanges(blank, noted, request), outcome: 'done' });
    return result;
  };

  return {
    run,
    list: (query) => listEntries(reader, query),
    get: (auditId) => readEntry(reader, auditId),
    start: sweeper.start,
    stop: sweeper.stop,
  };
};

const parseCursor = (cursor: string): number => {
  if (/^[1-9]\d{0,14}$/.test(cursor)) return Number(cursor);
  throw fieldFault('invalid_value', 'cursor', 'is not a next_cursor of this list');
};

const matches = (entry: AuditEntry, query: AuditQuery): boolean =>
  (query.target_kind === undefined || entry.target.kind === query.target_kind) &&
  (query.target_id === undefined || entry.target.id === query.target_id) &&
  (query.action === undefined || entry.action === query.action) &&
  (query.actor === undefined ||
    entry.actor.name === query.actor ||
    String(entry.actor.token_id) === query.actor);

const listEntries = async (reader: StreamReader, query: AuditQuery): Promise<AuditPage> => {
  const kind = query.target_kind === undefined ? '*' : subjectToken(query.target_kind);
  const id = query.target_id === undefined ? '*' : subjectToken(query.target_id);
  const items: AuditEntry[] = [];
  let next = typeof query.cursor === 'string' ? parseCursor(query.cursor) : undefined;
  let scanned = 0;
  while (scanned < scanMax) {
    const page = await reader.readBackwards(auditStream, {
      ...(next === undefined ? {} : { beforeSequence: next }),
      limit: Math.min(scanPage, scanMax - scanned),
      ...(kind === '*' && id === '*' ? {} : { subject: `audit.${kind}.${id}.*` }),
    });
    scanned += page.entries.length;
    for (const { sequence, payload } of page.entries) {
      const entry = auditEntrySchema.safeParse(JSON.parse(Buffer.from(payload).toString()));
      if (!entry.success || !matches(entry.data, query)) continue;
      items.push(entry.data);
      if (items.length === query.limit) return { items, next_cursor: String(sequence) };
    }
    next = page.next;
    if (next === undefined) return { items, next_cursor: null };
  }
  return { items, next_cursor: next === undefined ? null : String(next) };
};

const auditOn = (
  bus: Bus,
  system: KvBucket,
  log: Log,
  { publish, erase }: Pick<AuditDeps, 'publish' | 'erase'>,
  orphanMs = orphanMsDefault,
): Audit =>
  createAudit({
    ...{ system, publish, erase, log, orphanMs },
    reader: createStreamReader(bus),
    now: nowSeconds,
  });

/** The audit log on this bus. `orphanMs` as in `AuditDeps`, 30 s by default. */
export const openAudit = (bus: Bus, system: KvBucket, log: Log, orphanMs = orphanMsDefault): Audit =>
  auditOn(
    bus,
    system,
    log,
    {
      publish: (subject, messageId, payload) => publishOnce(bus, subject, messageId, payload),
      erase: async (key) => {
        await eraseKey(bus, buckets.system, key);
      },
    },
    orphanMs,
  );

/**
 * For a process whose user of NATS may neither write the log nor purge: its entries wait in their intents, final, until metadata
 * stores them.
 */
export const openAuditForMetadata = (bus: Bus, system: KvBucket, log: Log): Audit =>
  auditOn(bus, system, log, {
    publish: async () => {
      throw new Fault('transient', 'audit_left', 'metadata stores this entry');
    },
    erase: (key) => system.delete(key),
  });
