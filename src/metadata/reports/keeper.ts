import { retentionDaysOf } from '../../directory/policies.ts';
import type { CustomReport, Purge } from '../../directory/records.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { startRounds } from '../../runtime/rounds.ts';
import type { QuestdbTables } from '../../stores/questdb/tables.ts';
import type { Log } from '../../telemetry/log.ts';
import { purgeNow, reportNow, sourceDaysNow } from '../records/read-now.ts';
import type { Records } from '../records/store.ts';
import { modified } from '../records/values.ts';
import { knownInstanceOf } from '../tables/placement.ts';
import type { TableRepair } from '../tables/repair.ts';
import { finishDeletion, isDeletionOpen, isGone } from './deletion.ts';

export type KeeperDeps = {
  readonly records: Records;
  readonly tables: QuestdbTables;
  readonly repair: TableRepair;
  /** Whether a QuestDB instance does not answer now: its work waits for the next round. */
  readonly isAway: (instance: string) => boolean;
  /** How long after its request a purged table may still be written to: ack wait and store timeout of the consumer. */
  readonly purgeWaitMs: number;
  /** Milliseconds since the epoch, as the times of purges. */
  readonly now: () => number;
  readonly log: Log;
};

/** Reconciles the databases with the records. Every step is idempotent and safe to run concurrently. */
export type Keeper = {
  /** One round over all records; throws the first failure after trying the rest. */
  round(): Promise<void>;
  stop(): Promise<void>;
};

const everyMs = 1_000;
/** Asking QuestDB for all tables costs more than looking at our own copies. */
const tablesEveryMs = 30_000;
const repairEveryMs = 5_000;

/** A failure that lasts is logged again after this time. */
const repeatedMs = 60_000;

/** A deletion or purge whose call ended early. */
const finishReport = async (records: Records, report: CustomReport): Promise<void> => {
  if (isDeletionOpen(records, report)) {
    const current = await reportNow(records, report.custom_report_id);
    if (current !== undefined && isGone(current)) await finishDeletion(records, current);
  }
  const known = records.purges.known(report.mon_data_id)?.value;
  if (known === undefined || report.state === known.state || report.state === 'creating') return;
  const purge = await purgeNow(records, report.mon_data_id);
  if (purge !== undefined) {
    await records.reports.change(report.custom_report_id, (current) =>
      current.state === purge.state ? current : modified(current, purge.requested_by, { state: purge.state }),
    );
  }
};

/** Tells the purges that have waited long enough: by their time, or in the sight of this process, where the clock was ahead of now. */
const createPurgeWait = ({ records, purgeWaitMs, now }: KeeperDeps): (() => Purge[]) => {
  const seenAt = new Map<number, number>();
  return () =>
    records.purges.list().flatMap(({ id, value }) => {
      if (value.state !== 'purging') {
        seenAt.delete(id);
        return [];
      }
      const since = seenAt.get(id) ?? performance.now();
      seenAt.set(id, since);
      const isDue = now() - value.requested_at >= purgeWaitMs || performance.now() - since >= purgeWaitMs;
      return isDue ? [value] : [];
    });
};

/** Drops the table of a purge that has waited long enough, and notes that in its records. */
const dropPurged = async ({ records, tables, log }: KeeperDeps, purge: Purge): Promise<void> => {
  if ((await purgeNow(records, purge.mon_data_id)) === undefined) return;
  await tables.drop(purge.table_id);
  await records.purges.change(purge.mon_data_id, (current) =>
    current.state === 'purged' ? current : { ...current, state: 'purged' },
  );
  log.info({ mon_data_id: purge.mon_data_id, table_id: purge.table_id }, 'the table is purged');
};

/**
 * Tries what belongs to these data ids, and then throws the first failure. An instance that hangs is waited for once: its others wait for the next look,
 * and hold up neither repairs nor purges.
 */
const tryEach = async <T extends { readonly id: number }>(
  { records, isAway }: KeeperDeps,
  all: readonly T[],
  work: (each: T) => Promise<void>,
): Promise<void> => {
  const failures: unknown[] = [];
  const hanging = new Set<string>();
  for (const each of all) {
    const instance = knownInstanceOf(records, each.id);
    // One that went away meanwhile would be waited for with each of its tables.
    if (hanging.has(instance) || isAway(instance)) continue;
    await work(each).catch((error: unknown) => {
      failures.push(error);
      if (!(error instanceof Fault) || error.kind !== 'permanent') hanging.add(instance);
    });
  }
  if (failures.length > 0) throw failures[0];
};

/** A process that stalled before the purge may create the table once more; no reader needs it. */
const dropReturned = async (deps: KeeperDeps): Promise<void> => {
  const { records, tables, log } = deps;
  const purged = records.purges.list().filter(({ value }) => value.state === 'purged');
  if (purged.length === 0) return;
  // The instances that answer.
  const names = await tables.ttls();
  await tryEach(deps, purged, async ({ value }) => {
    if (!names.has(value.table_id) || (await purgeNow(records, value.mon_data_id)) === undefined) return;
    await tables.drop(value.table_id);
    log.warn(
      { mon_data_id: value.mon_data_id, table_id: value.table_id },
      'a purged table was created again; it is dropped',
    );
  });
};

/** The tables keep their rows as long as the policies require. */
const alignTtls = async (deps: KeeperDeps): Promise<void> => {
  const { records, tables, log } = deps;
  const wanted = records.sourcePolicies.list();
  if (wanted.length === 0) return;
  const ttls = await tables.ttls();
  await tryEach(deps, wanted, async ({ id, value }) => {
    const tableId = records.tables.known(id)?.value.table_id;
    if (tableId === undefined || !ttls.has(tableId)) return;
    if (ttls.get(tableId) === retentionDaysOf(value)) return;
    const days = await sourceDaysNow(records, id);
    if (ttls.get(tableId) === days) return;
    await tables.setTtl(tableId, days);
    log.info(
      { mon_data_id: id, retention_days: days ?? 'off' },
      'the TTL of the table was set to its policy',
    );
  });
};

/** Logs each distinct failure at once and then once a minute: two that alternate must not fill the log. */
const reportFailures = (log: KeeperDeps['log']): ((failures: Iterable<unknown>) => void) => {
  const saidAt = new Map<string, number>();
  return (failures) => {
    const now = performance.now();
    for (const [message, at] of saidAt) if (now - at >= repeatedMs) saidAt.delete(message);
    for (const message of new Set([...failures].map(errorText))) {
      if (saidAt.has(message)) continue;
      saidAt.set(message, now);
      log.warn({}, `the keeper failed and will retry: ${message}`);
    }
  };
};

/** Work of which one failure holds up nothing else. */
const createAttempts = () => {
  const failures: unknown[] = [];
  return {
    failures,
    attempt: (work: Promise<void>): Promise<void> =>
      work.catch((error: unknown) => {
        failures.push(error);
      }),
    throwFirst: (): void => {
      if (failures.length > 0) throw failures[0];
    },
  };
};

/** Drops the tables of purges that are due; throws the first failure. */
const dropDue = async (deps: KeeperDeps, due: readonly Purge[]): Promise<void> => {
  const { attempt, throwFirst } = createAttempts();
  const byInstance = Map.groupBy(due, ({ mon_data_id }) => knownInstanceOf(deps.records, mon_data_id));
  // In parallel: a purge that hangs delays no other.
  await Promise.all(
    [...byInstance].map(async ([instance, purges]) => {
      if (deps.isAway(instance)) return;
      for (const purge of purges) await attempt(dropPurged(deps, purge));
    }),
  );
  throwFirst();
};

/** Ends what calls have begun; throws the first failure. */
const finishReports = async (records: Records): Promise<void> => {
  const { attempt, throwFirst } = createAttempts();
  for (const { value } of records.reports.list())
    if (value.state !== 'active' && value.state !== 'creating') await attempt(finishReport(records, value));
  throwFirst();
};

/** Starts the rounds. The copies of `records` must have been read. */
export const startKeeper = (deps: KeeperDeps): Keeper => {
  const duePurges = createPurgeWait(deps);
  const report = reportFailures(deps.log);
  let tablesAt = Number.NEGATIVE_INFINITY;
  let repairAt = Number.NEGATIVE_INFINITY;

  /** Logs the first failure of each kind of work; the function that it returns throws the first of them. */
  const workOnce = async (): Promise<() => void> => {
    const { failures, attempt, throwFirst } = createAttempts();
    await attempt(dropDue(deps, duePurges()));
    await attempt(finishReports(deps.records));
    // A clock that is set back must not hold them up.
    if (performance.now() - repairAt >= repairEveryMs) {
      repairAt = performance.now();
      await attempt(deps.repair.round());
    }
    if (performance.now() - tablesAt >= tablesEveryMs) {
      tablesAt = performance.now();
      await attempt(alignTtls(deps));
      await attempt(dropReturned(deps));
    }
    report(failures);
    return throwFirst;
  };

  const rounds = startRounds(async () => {
    await workOnce();
    return everyMs;
  });
  return {
    round: async () => {
      const throwFirst = await workOnce();
      throwFirst();
    },
    stop: rounds.stop,
  };
};
