import { nothing } from './output.ts';

/** An owner by its id: null and 0 are none. `ifNone` stands for what has no owner. */
export const ownerText = (
  { data_id: dataId, app_id: appId }: { readonly data_id: number | null; readonly app_id: number | null },
  ifNone = nothing,
): string => {
  if (dataId) return `data id ${dataId}`;
  return appId ? `application ${appId}` : ifNone;
};
