import { retentionDaysOf } from '../../directory/policies.ts';
import type { CustomReport, Purge } from '../../directory/records.ts';
import type { RecordSet, Records } from './store.ts';

// What takes rows away asks here, right before it does. While NATS is away or hangs, the copies of this process are those of before: another
// process may have changed the policy since, and rows that were to be kept would be gone. Each throws the Faults of KV then. In a cluster a server
// that is cut off still answers from its copy, so the leader is asked first. What remains: a leader that is cut off counts for 4 s more, and a
// copy in touch with its leader is milliseconds behind.

/** These records as KV has them. */
const readNow = async <T>(
  { bucket }: Pick<Records, 'bucket'>,
  set: RecordSet<T>,
  ids: readonly number[],
): Promise<(T | undefined)[]> => {
  await bucket.askLeader();
  return Promise.all(ids.map(async (id) => (await set.get(id))?.value));
};

/** The days that the points of a data id are kept; undefined: for ever. */
export const sourceDaysNow = async (
  records: Pick<Records, 'bucket' | 'sourcePolicies'>,
  dataId: number,
): Promise<number | undefined> =>
  retentionDaysOf((await readNow(records, records.sourcePolicies, [dataId]))[0]);

/** The same of the items of each of these applications. */
export const applicationDaysNow = async (
  records: Pick<Records, 'bucket' | 'applicationPolicies'>,
  appIds: readonly number[],
): Promise<(number | undefined)[]> =>
  (await readNow(records, records.applicationPolicies, appIds)).map(retentionDaysOf);

/** The purge of a data id; undefined where there is none. */
export const purgeNow = async (
  records: Pick<Records, 'bucket' | 'purges'>,
  dataId: number,
): Promise<Purge | undefined> => (await readNow(records, records.purges, [dataId]))[0];

export const reportNow = async (
  records: Pick<Records, 'bucket' | 'reports'>,
  reportId: number,
): Promise<CustomReport | undefined> => (await readNow(records, records.reports, [reportId]))[0];
