import { md5Of, renderDocument } from './document.ts';
import type { NodeManagement, SubscriptionParams } from './node-management.ts';
import type { WantedReport } from './reports.ts';
import type { Subscription } from './subscriptions.ts';

/** How the content of a subscription is made. */
export type TargetDeps = {
  readonly nodeManagement: NodeManagement;
  /** The platform prefix in the names that collectors read. */
  readonly documentPrefix: string;
};

/** The content that one report's subscription must have. */
export type Target = Pick<
  Subscription,
  | 'mon_data_id'
  | 'custom_report_id'
  | 'mon_biz_id'
  | 'adapter'
  | 'md5'
  | 'params_md5'
  | 'document'
  | 'previous'
> & { readonly params: SubscriptionParams; readonly paramsLength: number };

/** The file of the token before a rotation. A node management API has one file for a subscription, of the token now. */
const previousOf = (
  { values, previous }: WantedReport,
  { nodeManagement, documentPrefix }: TargetDeps,
): Subscription['previous'] => {
  if (previous === undefined || nodeManagement.isRemote) return undefined;
  const document = renderDocument({ ...values, token: previous.token }, documentPrefix);
  return { md5: md5Of(document), expires_at: previous.expires_at, document };
};

export const targetOf = (wanted: WantedReport, deps: TargetDeps): Target => {
  const { values, customReportId } = wanted;
  const { nodeManagement, documentPrefix } = deps;
  const document = renderDocument(values, documentPrefix);
  const previous = previousOf(wanted, deps);
  const params = nodeManagement.describe(values);
  const paramsText = JSON.stringify(params);
  return {
    mon_data_id: values.dataId,
    custom_report_id: customReportId,
    mon_biz_id: values.bizId,
    adapter: nodeManagement.name,
    md5: md5Of(document),
    params_md5: md5Of(paramsText),
    document,
    ...(previous === undefined ? {} : { previous }),
    params,
    paramsLength: paramsText.length,
  };
};

/** Whether the record says that node management has this content. */
export const holds = (subscription: Subscription, target: Target): boolean =>
  subscription.state === 'active' &&
  subscription.adapter === target.adapter &&
  subscription.md5 === target.md5 &&
  subscription.params_md5 === target.params_md5 &&
  subscription.previous?.md5 === target.previous?.md5 &&
  subscription.previous?.expires_at === target.previous?.expires_at;
