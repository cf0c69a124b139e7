import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type {
  Application,
  CustomReport,
  DataSource,
  ResultTable,
  TimeSeriesGroup,
} from '../../directory/records.ts';
import { fieldFault, parseInput } from '../problem.ts';
import { masked } from '../records/masking.ts';
import {
  applicationChangeSchema,
  dataSourceChangeSchema,
  groupChangeSchema,
  reportChangeSchema,
  resultTableChangeSchema,
} from '../records/requests.ts';
import type { RecordSet, Records, Versioned } from '../records/store.ts';
import { modified } from '../records/values.ts';
import { type ChangeBy, type ReportWithRecords, readReport, requireActive } from './life-cycle.ts';

/** A JSON merge patch (RFC 7396) as sent: fields to change, and any other field of the record with the value it has. */
export type MergePatch = Readonly<Record<string, unknown>>;

/**
 * The part of a patch that `schema` allows to change. The patch may have another field of the record with its present
 * value, so that a record can be read, edited and sent back; another value is a permanent Fault `fixed_at_creation`,
 * or `has_own_operation` for `is_enable`, and an unknown field is `invalid_value`.
 */
const changeOf = <S extends z.ZodObject>(schema: S, shown: object, patch: MergePatch): z.output<S> => {
  const change: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(patch)) {
    if (Object.hasOwn(schema.shape, field)) change[field] = value;
    else if (!Object.hasOwn(shown, field)) throw fieldFault('invalid_value', field, 'unknown field');
    else if (!isDeepStrictEqual(Reflect.get(shown, field), value)) {
      throw field === 'is_enable'
        ? fieldFault('has_own_operation', field, 'cannot be changed by a PATCH')
        : fieldFault('fixed_at_creation', field, 'cannot be changed');
    }
  }
  return parseInput(schema, change);
};

/** The record with the given fields of `change`; the same object when it has these values already. */
const changed = <T extends CustomReport | DataSource | TimeSeriesGroup | ResultTable | Application>(
  record: T,
  change: object,
  operator: string,
): T => {
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  const next: T = Object.assign({ ...record }, Object.fromEntries(given));
  return isDeepStrictEqual(next, record) ? record : modified(next, operator, {});
};

const patchRecord =
  <T extends DataSource | TimeSeriesGroup | ResultTable | Application>(
    setOf: (records: Records) => RecordSet<T>,
    schema: z.ZodObject,
  ) =>
  (
    records: Records,
    id: number,
    patch: MergePatch,
    { operator, revision }: ChangeBy,
  ): Promise<Versioned<T>> =>
    setOf(records).change(
      id,
      (record) => changed(record, changeOf(schema, masked(record), patch), operator),
      revision,
    );

/**
 * Changes fields of one record by a merge patch; nothing is written when it has these values. Permanent Faults `not_found`,
 * `precondition_failed`, `fixed_at_creation` and `invalid_value` with the field.
 */
export const patchDataSource = patchRecord((records) => records.dataSources, dataSourceChangeSchema);
export const patchGroup = patchRecord((records) => records.groups, groupChangeSchema);
export const patchResultTable = patchRecord((records) => records.tables, resultTableChangeSchema);
export const patchApplication = patchRecord((records) => records.applications, applicationChangeSchema);

/**
 * Copies the values of the report to group and table, and repeats that while other calls change it: of two concurrent
 * calls the later one counts in all three records.
 */
const passOn = async (
  records: Records,
  report: Versioned<CustomReport>,
  change: z.output<typeof reportChangeSchema>,
  operator: string,
): Promise<void> => {
  const { custom_report_id, mon_data_id } = report.value;
  for (let current: Versioned<CustomReport> | undefined = report; current !== undefined; ) {
    const label = change.scenario && current.value.scenario;
    const data_label = change.data_label === undefined ? undefined : current.value.data_label;
    await records.groups.change(mon_data_id, (group) => changed(group, { label }, operator));
    await records.tables.change(mon_data_id, (table) => changed(table, { label, data_label }, operator));
    const now = await records.reports.get(custom_report_id);
    current = now?.revision === current.revision ? undefined : now;
  }
};

/**
 * The same for a custom report, whose scenario is the label of its group and table, whose data_label is the table's,
 * and whose max_rate is the group's. Permanent Fault `report_not_active` for a report in another state.
 */
export const patchReport = async (
  records: Records,
  reportId: number,
  patch: MergePatch,
  { operator, revision }: ChangeBy,
): Promise<Versioned<ReportWithRecords>> => {
  const group = (await readReport(records, reportId)).value.time_series_group;
  let change: z.output<typeof reportChangeSchema> = {};
  const report = await records.reports.change(
    reportId,
    (current) => {
      requireActive(current);
      change = changeOf(reportChangeSchema, { ...current, max_rate: group?.max_rate }, patch);
      const { max_rate, ...own } = change;
      const next = changed(current, own, operator);
      // A changed max_rate is the group's, but the report counts as changed with it.
      return next === current && max_rate !== undefined && max_rate !== group?.max_rate
        ? modified(current, operator, {})
        : next;
    },
    revision,
  );
  const { max_rate } = change;
  if (max_rate !== undefined) {
    await records.groups.change(report.value.mon_data_id, (current) =>
      changed(current, { max_rate }, operator),
    );
  }
  await passOn(records, report, change, operator);
  return readReport(records, reportId);
};
