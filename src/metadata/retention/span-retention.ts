import { setTimeout as delay } from 'node:timers/promises';
import { retentionDaysOf } from '../../directory/policies.ts';
import { errorText } from '../../model/fault.ts';
import type { Clickhouse } from '../../stores/clickhouse/client.ts';
import { type KeptDays, removeExpiredItems } from '../../stores/clickhouse/item-days.ts';
import { spansTable } from '../../stores/clickhouse/item-tables.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Records } from '../records/store.ts';

export type SpanRetentionDeps = {
  readonly clickhouse: Clickhouse;
  readonly records: Pick<Records, 'applicationPolicies'>;
  readonly now: () => number;
  readonly log: Log;
};

const everyMs = 30_000;
/** A look reads the applications of all rows that may have expired: where it found none, the next one waits. */
const restMs = 3_600_000;
const dayMs = 86_400_000;

/** The applications whose spans are not kept for ever; deleted ones too. */
const keptDaysOf = ({ applicationPolicies }: SpanRetentionDeps['records']): KeptDays =>
  new Map(
    applicationPolicies.list().flatMap(({ id, value }) => {
      const days = retentionDaysOf(value);
      return days === undefined ? [] : [[id, days]];
    }),
  );

/** Removes expired spans, application by application, as the policies in the records say, until it is stopped. */
export const startSpanRetention = ({
  clickhouse,
  records,
  now,
  log,
}: SpanRetentionDeps): { stop(): Promise<void> } => {
  const stopping = new AbortController();
  /** What the last look that found nothing looked for, and when. */
  let rest: { readonly wanted: string; readonly at: number } | undefined;
  const round = async (): Promise<void> => {
    const kept = keptDaysOf(records);
    // Another policy or another day can make rows expire; beside them only rows that arrive late.
    const wanted = JSON.stringify([Math.floor(now() / dayMs), ...kept]);
    if (rest?.wanted === wanted && performance.now() - rest.at < restMs) return;
    const removed = await removeExpiredItems(clickhouse, spansTable, kept, now());
    rest = removed?.days === 0 ? { wanted, at: performance.now() } : undefined;
    if (removed !== undefined && removed.days > 0)
      log.info({ days: removed.days, spans: removed.items }, 'expired spans are being removed');
  };
  const follow = async (): Promise<void> => {
    let told = '';
    while (!stopping.signal.aborted) {
      const why = await round().then(() => '', errorText);
      if (why !== '' && why !== told)
        log.warn({}, `expired spans were not removed, which is retried: ${why}`);
      told = why;
      await delay(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const following = follow();
  return {
    stop: async () => {
      stopping.abort();
      await following;
    },
  };
};
