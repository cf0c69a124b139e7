import { z } from 'zod';
import { nearestName } from '../../model/nearest-name.ts';

/** What an audited call acts on. */
export const auditKinds = [
  'report',
  'data_source',
  'group',
  'table',
  'application',
  'source_policy',
  'application_policy',
  'admin_token',
  'console_session',
  'records',
  'refresh_run',
  'dead_letter',
  'consumer',
  'account',
] as const;

export const auditActions = [
  ...(['report.create', 'custom_report.change', 'custom_report.enable', 'custom_report.disable'] as const),
  ...(['custom_report.delete', 'custom_report.purge'] as const),
  ...(['data_source.create', 'data_source.change', 'data_source.enable', 'data_source.disable'] as const),
  ...(['data_source.purge', 'data_source.rotate_token', 'data_source.reveal_token'] as const),
  ...(['group.create', 'group.change', 'group.enable', 'group.disable', 'group.delete'] as const),
  ...(['table.create', 'table.change', 'table.enable', 'table.disable', 'table.delete'] as const),
  ...(['application.create', 'application.change', 'application.enable', 'application.disable'] as const),
  ...(['application.delete', 'application.rotate_token', 'application.reveal_token'] as const),
  ...(['source_policy.change', 'application_policy.change'] as const),
  ...(['admin_token.create', 'admin_token.revoke', 'admin_token.reset'] as const),
  ...(['console.link', 'console.login', 'console.login_refused', 'console.logout'] as const),
  ...(['records.export', 'records.import', 'records.restore'] as const),
  ...(['refresh.run', 'account.close'] as const),
  ...(['dead_letter.redrive', 'dead_letter.purge', 'consumer.resume'] as const),
] as const;

export type AuditKind = (typeof auditKinds)[number];
export type AuditAction = (typeof auditActions)[number];

/** A filter by one of these names. Another one is refused: a list without items would look like nothing was done. */
const filterBy = (names: readonly string[]) =>
  z
    .string()
    .max(64)
    .refine((name) => names.includes(name), {
      error: ({ input }) => {
        const near = nearestName(String(input), names);
        const meant = near === undefined ? '' : ` (did you mean ${near}?)`;
        return `there is no ${JSON.stringify(input)}${meant}; there are ${names.join(', ')}`;
      },
      abort: true,
    })
    .optional()
    .meta({ description: `One of ${names.join(', ')}` });

/** The filters of the audit log by what an action is, and by what it acts on. */
export const auditFilters = { target_kind: filterBy(auditKinds), action: filterBy(auditActions) };
