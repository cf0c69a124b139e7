import type { Application, CustomReport } from './records.ts';

/** The report and the application that the trials of `tidemark doctor` go to: made once in a business, and kept for the next time. */
export const doctorName = 'tidemark_doctor';

/** The report and the application of business 2 that `tidemark up` makes for its first commands. */
export const demoNames = { bizId: 2, report: 'demo', application: 'shop' } as const;

/** The owners that Tidemark made for itself: lists, exports, subscriptions and ledgers leave them out. */
export type SystemOwners = {
  readonly dataIds: ReadonlySet<number>;
  readonly appIds: ReadonlySet<number>;
};

/** Whether Tidemark made this owner for itself: the id of the other kind is 0. */
export const isSystemOwner = (
  { dataIds, appIds }: SystemOwners,
  { dataId, appId }: { readonly dataId: number; readonly appId: number },
): boolean => dataIds.has(dataId) || appIds.has(appId);

type Listed<T> = { list(): readonly { readonly id: number; readonly value: T }[] };

/** Whether a report is one that Tidemark made for itself. */
export const isSystemReport = ({ name }: Pick<CustomReport, 'name'>): boolean => name === doctorName;

export const systemOwners = ({
  reports,
  applications,
}: {
  readonly reports: Listed<Pick<CustomReport, 'name' | 'mon_data_id'>>;
  readonly applications: Listed<Pick<Application, 'app_name'>>;
}): SystemOwners => ({
  dataIds: new Set(
    reports
      .list()
      .filter(({ value }) => isSystemReport(value))
      .map(({ value }) => value.mon_data_id),
  ),
  appIds: new Set(
    applications
      .list()
      .filter(({ value }) => value.app_name === doctorName)
      .map(({ id }) => id),
  ),
});
