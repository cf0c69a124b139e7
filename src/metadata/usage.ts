import { isSystemOwner, systemOwners } from '../directory/system-owners.ts';
import { readSilentOwners, type SilentOwner, type UsageOwner } from '../outcomes/usage.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import type { Records } from './records/store.ts';
import { bizOfDataSource } from './records/values.ts';

/** The records that usage is attributed by. */
export type UsageRecords = {
  readonly reports: Pick<Records['reports'], 'list'>;
  readonly dataSources: Pick<Records['dataSources'], 'known' | 'list'>;
  readonly applications: Pick<Records['applications'], 'known' | 'list'>;
  readonly groups: Pick<Records['groups'], 'known'>;
  readonly tables: Pick<Records['tables'], 'known'>;
};

/** The business of an owner, deleted ones too; null for an owner without a record. */
export const bizOfOwner = (
  { dataSources, applications }: Pick<UsageRecords, 'dataSources' | 'applications'>,
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

/** Whether receivers take points of a data id: they want its group and its table enabled, too. */
export const areGroupAndTableEnabled = (
  { groups, tables }: Pick<UsageRecords, 'groups' | 'tables'>,
  dataId: number,
): boolean => {
  const group = groups.known(dataId)?.value;
  const table = tables.known(dataId)?.value;
  return group?.is_enable === true && !group.is_delete && table?.is_enable === true && !table.is_deleted;
};

/** A deleted or disabled owner is silent for a reason. */
const isExpected = (records: UsageRecords, { dataId, appId }: UsageOwner): boolean => {
  const source = records.dataSources.known(dataId)?.value;
  if (source === undefined) return records.applications.known(appId)?.value.is_enable === true;
  return source.is_enable && areGroupAndTableEnabled(records, dataId);
};

/** Enabled owners that were seen daily and are silent, without those of `tidemark doctor`. `now` in Unix seconds. */
export const silentProducers = async (
  clickhouse: Clickhouse,
  records: UsageRecords,
  now: number,
): Promise<SilentOwner[]> => {
  const own = systemOwners(records);
  return (await readSilentOwners(clickhouse, now)).filter(
    (owner) => isExpected(records, owner) && !isSystemOwner(own, owner),
  );
};
