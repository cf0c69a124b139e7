import { retentionDaysOf } from '../../directory/policies.ts';
import { errorText } from '../../model/fault.ts';
import { signals } from '../../model/signals.ts';
import { dayMs } from '../../model/time.ts';
import { type Rounds, startRounds } from '../../runtime/rounds.ts';
import type { Clickhouse } from '../../stores/clickhouse/client.ts';
import { type KeptDays, removeExpiredItems } from '../../stores/clickhouse/item-days.ts';
import { type ItemTable, itemTables } from '../../stores/clickhouse/item-tables.ts';
import type { Log } from '../../telemetry/log.ts';
import { applicationDaysNow } from '../records/read-now.ts';
import type { Records } from '../records/store.ts';

export type ItemRetentionDeps = {
  readonly clickhouse: Clickhouse;
  readonly records: Pick<Records, 'applicationPolicies' | 'bucket'>;
  readonly now: () => number;
  readonly log: Log;
};

const everyMs = 30_000;
/** A look reads the applications of all rows that may have expired: where it found none, the next one waits. */
const restMs = 3_600_000;

/** The applications whose items are not kept for ever; deleted ones too. */
const keptDaysOf = ({ applicationPolicies }: ItemRetentionDeps['records']): KeptDays =>
  new Map(
    applicationPolicies.list().flatMap(({ id, value }) => {
      const days = retentionDaysOf(value);
      return days === undefined ? [] : [[id, days]];
    }),
  );

/** Looks at one table; a look that finds nothing rests until another policy or day, or an hour has passed. */
const createLook = (table: ItemTable, { clickhouse, records, now, log }: ItemRetentionDeps) => {
  const { items } = signals[table.pipeline];
  /** What the last look that found nothing looked for, and when. */
  let rest: { readonly wanted: string; readonly at: number } | undefined;
  let told = '';
  const look = async (): Promise<void> => {
    const kept = keptDaysOf(records);
    // Another policy or another day can make rows expire; beside them only rows that arrive late.
    const wanted = JSON.stringify([Math.floor(now() / dayMs), ...kept]);
    if (rest?.wanted === wanted && performance.now() - rest.at < restMs) return;
    const daysNow = (appIds: readonly number[]) => applicationDaysNow(records, appIds);
    const removed = await removeExpiredItems(clickhouse, table, kept, now(), daysNow);
    rest = removed?.days === 0 ? { wanted, at: performance.now() } : undefined;
    if (removed !== undefined && removed.days > 0)
      log.info({ days: removed.days, items: removed.items }, `expired ${items} are being removed`);
  };
  /** Logs each failure once; the next call tries again. */
  return async (): Promise<void> => {
    const why = await look().then(() => '', errorText);
    if (why !== '' && why !== told)
      log.warn({}, `expired ${items} were not removed, which is retried: ${why}`);
    told = why;
  };
};

/** Removes expired items of each signal, application by application, as the policies in the records say, until it is stopped. */
export const startItemRetention = (deps: ItemRetentionDeps): Rounds => {
  const looks = itemTables.map((table) => createLook(table, deps));
  return startRounds(async () => {
    // One table after the other: a deletion rewrites parts.
    for (const look of looks) await look();
    return everyMs;
  });
};
