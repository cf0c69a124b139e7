import { systemOwners } from '../directory/system-owners.ts';
import { readSilentOwners, type SilentOwner, type UsageOwner } from '../outcomes/usage.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import type { Records } from './records/store.ts';
import { bizOfDataSource } from './records/values.ts';

/** The records that usage is attributed by. */
export type UsageRecords = {
  readonly reports: Pick<Records['reports'], 'list'>;
  readonly dataSources: Pick<Records['dataSources'], 'known' | 'list'>;
  readonly applications: Pick<Records['applications'], 'known' | 'list'>;
};

/** The business of an owner, deleted ones too; null for an owner without a record. */
export const bizOfOwner = (
  { dataSources, applications }: Omit<UsageRecords, 'reports'>,
  { dataId, appId }: UsageOwner,
): number | null => {
  const source = dataSources.known(dataId)?.value;
  if (source !== undefined) return bizOfDataSource(source) ?? null;
  return applications.known(appId)?.value.mon_biz_id ?? null;
};

/** All owners of a business, deleted ones too. */
export const ownersOfBiz = ({ dataSources, applications }: UsageRecords, biz: number) => ({
  dataIds: dataSources.list().flatMap(({ id, value }) => (bizOfDataSource(value) === biz ? [id] : [])),
  appIds: applications.list().flatMap(({ id, value }) => (value.mon_biz_id === biz ? [id] : [])),
});

/** A deleted or disabled owner is silent for a reason. */
const isExpected = ({ dataSources, applications }: UsageRecords, { dataId, appId }: UsageOwner): boolean =>
  (dataSources.known(dataId)?.value ?? applications.known(appId)?.value)?.is_enable === true;

/** Enabled owners that were seen daily and are silent, without those of `tidemark doctor`. `now` in Unix seconds. */
export const silentProducers = async (
  clickhouse: Clickhouse,
  records: UsageRecords,
  now: number,
): Promise<SilentOwner[]> => {
  const own = systemOwners(records);
  return (await readSilentOwners(clickhouse, now)).filter(
    (owner) => isExpected(records, owner) && !own.dataIds.has(owner.dataId) && !own.appIds.has(owner.appId),
  );
};
