import { retentionDaysOf } from '../../directory/policies.ts';
import type { CustomReport, Purge } from '../../directory/records.ts';
import type { Records } from './store.ts';

// What takes rows away asks here, right before it does. While NATS is away or hangs, the copies of this process are those of before: another
// process may have changed the policy since, and rows that were to be kept would be gone. Each throws the Faults of KV then.

/** The days that the points of a data id are kept; undefined: for ever. */
export const sourceDaysNow = async (
  { sourcePolicies }: Pick<Records, 'sourcePolicies'>,
  dataId: number,
): Promise<number | undefined> => retentionDaysOf((await sourcePolicies.get(dataId))?.value);

/** The same of the items of an application. */
export const applicationDaysNow = async (
  { applicationPolicies }: Pick<Records, 'applicationPolicies'>,
  appId: number,
): Promise<number | undefined> => retentionDaysOf((await applicationPolicies.get(appId))?.value);

/** The purge of a data id; undefined where there is none. */
export const purgeNow = async (
  { purges }: Pick<Records, 'purges'>,
  dataId: number,
): Promise<Purge | undefined> => (await purges.get(dataId))?.value;

export const reportNow = async (
  { reports }: Pick<Records, 'reports'>,
  reportId: number,
): Promise<CustomReport | undefined> => (await reports.get(reportId))?.value;
