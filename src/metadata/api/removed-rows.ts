import type { z } from 'zod';
import { keptFromDay } from '../../directory/policies.ts';
import type { Pipeline } from '../../model/signals.ts';
import { dayMs, dayText, firstKeptDay } from '../../model/time.ts';
import type { removedRows as answer } from '../answers/outcomes.ts';
import type { Records } from '../records/store.ts';
import type { ApiDeps } from './deps.ts';

type Shown = {
  readonly pipeline: Pipeline;
  readonly dataId: number;
  readonly appId: number;
  readonly stored: number;
};

type Known = Pick<Records['purges'], 'known'>;

/** What the retention of an owner is read from. */
export type Keeping = {
  readonly records: {
    readonly purges: Known;
    readonly sourcePolicies: Pick<Records['sourcePolicies'], 'known'>;
    readonly applicationPolicies: Pick<Records['applicationPolicies'], 'known'>;
  };
  readonly ttls: ApiDeps['pipelineRetention'];
  readonly nowMs: number;
};

const keptFrom = ({ records, ttls, nowMs }: Keeping, { pipeline, dataId, appId }: Shown): number =>
  pipeline === 'metrics'
    ? keptFromDay(records.sourcePolicies.known(dataId)?.value, nowMs)
    : Math.max(
        keptFromDay(records.applicationPolicies.known(appId)?.value, nowMs),
        firstKeptDay(nowMs, ttls[pipeline]),
      );

/**
 * The owners of which items were stored whose rows are not in the stores any more, or may not be: by a purge, or by a retention that is
 * shorter than the period is old. `since` in Unix seconds.
 */
export const removedRows = (
  keeping: Keeping,
  accounts: readonly Shown[],
  since: number,
): z.output<typeof answer>[] => {
  const found = new Map<string, z.output<typeof answer>>();
  for (const account of accounts) {
    const { pipeline, dataId, appId, stored } = account;
    const key = `${pipeline} ${dataId} ${appId}`;
    if (stored === 0 || found.has(key)) continue;
    const isPurged = pipeline === 'metrics' && keeping.records.purges.known(dataId) !== undefined;
    const day = keptFrom(keeping, account);
    const hasExpired = day > Math.floor((since * 1000) / dayMs);
    if (!isPurged && !hasExpired) continue;
    const before = hasExpired ? dayText(day) : null;
    found.set(key, { pipeline, data_id: dataId, app_id: appId, purged: isPurged, expired_before: before });
  }
  return [...found.values()];
};
