import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { unlessConflict } from '../../bus/kv.ts';
import type { Pipelines } from '../../config/pipelines.ts';
import {
  type ApplicationPolicy,
  applicationPolicySchema,
  isSettable,
  keptFromDay,
  type PolicyField,
  retentionDaysOf,
  type SourcePolicy,
  sourcePolicySchema,
} from '../../directory/policies.ts';
import type { ApplicationPipeline, Pipeline } from '../../model/signals.ts';
import { daySeconds } from '../../model/time.ts';
import type { QuestdbTables } from '../../stores/questdb/tables.ts';
import type { ItemLimits } from '../../wire/otlp/types.ts';
import { existing, preconditionFailed, type RecordSet, type Records } from '../records/store.ts';

/** Values by field; null = no bound. */
type Values = Readonly<Record<string, number | boolean | null>>;

/** The values where a policy has none: the pipeline files. An application has those of each of its signals. */
export type PolicyDefaults = {
  readonly source: Readonly<Record<PolicyField<SourcePolicy>, number | boolean | null>>;
  readonly application: Readonly<
    Record<
      ApplicationPipeline,
      Readonly<Partial<Record<PolicyField<ApplicationPolicy>, number | boolean | null>>>
    >
  >;
};

/** What an answer shows for a field whose signals have different values. */
export const bySignal = 'by_signal';

/** One value for each field of an application: `by_signal` where its signals differ. */
export const valuesOfAll = <V>(signals: Readonly<Record<string, Readonly<Record<string, V>>>>) => {
  const values: Record<string, V | typeof bySignal> = {};
  for (const each of Object.values(signals))
    for (const [field, value] of Object.entries(each))
      values[field] = field in values && values[field] !== value ? bySignal : value;
  return values;
};

const secondsOf = (ms: number | undefined): number | null => (ms === undefined ? null : ms / 1000);

type ItemsPipeline = Pick<Pipelines[ApplicationPipeline], 'time' | 'retentionDays'> & {
  readonly limits: Pick<ItemLimits, 'attributesMax' | 'valueBytesMax'>;
};

/** What every signal of an application has, beside its limit of items. */
const ofEverySignal = ({ time, limits, retentionDays }: ItemsPipeline) => ({
  ahead_seconds_max: secondsOf(time.aheadMsMax),
  age_seconds_max: secondsOf(time.ageMsMax),
  attributes_max: limits.attributesMax,
  value_bytes_max: limits.valueBytesMax,
  deduplicate: true,
  fill_dimensions: true,
  retention_days: retentionDays ?? null,
});

/** The defaults as the pipeline files have them. */
export const policyDefaultsOf = ({
  metrics,
  traces,
  logs,
  otel_metrics,
}: Pick<Pipelines, Pipeline>): PolicyDefaults => ({
  source: {
    ahead_seconds_max: secondsOf(metrics.time.aheadMsMax),
    age_seconds_max: secondsOf(metrics.time.ageMsMax),
    points_max: metrics.limits.pointsMax,
    metric_columns_max: metrics.limits.metricsMax,
    dimension_columns_max: metrics.limits.dimensionsMax,
    retention_days: null,
  },
  application: {
    traces: {
      spans_max: traces.limits.itemsMax,
      events_max: traces.limits.eventsMax,
      links_max: traces.limits.linksMax,
      ...ofEverySignal(traces),
    },
    logs: { records_max: logs.limits.itemsMax, ...ofEverySignal(logs) },
    otel_metrics: {
      data_points_max: otel_metrics.limits.itemsMax,
      series_max: otel_metrics.limits.seriesMax ?? null,
      ...ofEverySignal(otel_metrics),
    },
  },
});

/** The values of a field of a policy: a value, `off` where no limit is allowed, null for the default. */
const settable = (schema: z.ZodType): z.ZodType => {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  return inner instanceof z.ZodNullable
    ? z
        .union([inner.unwrap(), z.literal('off')], 'must be a number, "off" or null')
        .nullable()
        .optional()
    : z.union([inner]).nullable().optional();
};

const changeSchemaOf = (schema: z.ZodObject) =>
  z.strictObject(
    Object.fromEntries(
      Object.entries(schema.shape)
        .filter(([field]) => isSettable(field))
        .map(([field, type]) => [field, settable(type)]),
    ),
  );

/** The bodies that change a policy, as merge patches: an absent field stays, null returns to the default. */
export const sourcePolicyChangeSchema = changeSchemaOf(sourcePolicySchema).meta({
  examples: [{ age_seconds_max: 86_400, points_max: null, retention_days: 'off' }],
});
export const applicationPolicyChangeSchema = changeSchemaOf(applicationPolicySchema).meta({
  examples: [{ age_seconds_max: 'off', spans_max: 5_000, deduplicate: null }],
});

type Shown = Readonly<Record<string, number | boolean | string>>;

/** A policy as it holds, `off` for no bound, with the fields that are its own and not the pipeline file's. */
export type EffectivePolicy = {
  readonly policy: Shown;
  /** What holds for each signal of an application: its policy, else the file of the signal. */
  readonly signals?: Readonly<Record<ApplicationPipeline, Shown>>;
  readonly own: readonly string[];
  /** 0 while the record has never had a policy. */
  readonly revision: number;
};

/** The limit that a field of a policy holds; null: none. */
export const capOf = (policy: Shown, field: string): number | null => {
  const cap = policy[field];
  return typeof cap === 'number' ? cap : null;
};

type Stored = SourcePolicy | ApplicationPolicy | undefined;

/** The fields that were set for an owner. */
const ownOf = (stored: Stored): string[] =>
  Object.keys(stored ?? {})
    .filter(isSettable)
    .toSorted();

/** The largest age, which a retention narrows that was set, or that the pipeline file has (`sourceRules`, `signalRules`). */
const narrowedAge = (age: number | boolean | null, days: readonly unknown[]): number | boolean | null => {
  const kept = days.filter((each) => typeof each === 'number').map((each) => each * daySeconds);
  return kept.length === 0
    ? age
    : Math.min(...kept, typeof age === 'number' ? age : Number.POSITIVE_INFINITY);
};

/** What holds for the fields of these defaults. */
const effective = (defaults: Values, stored: Stored): Shown => {
  const { retention_days_initial: initial, ...own } = stored ?? {};
  const given: Readonly<Record<string, number | boolean | null | undefined>> = own;
  const inherited: Values = { ...defaults, ...(initial === undefined ? {} : { retention_days: initial }) };
  return Object.fromEntries(
    Object.entries(inherited).map(([field, value]) => {
      const held = given[field] === undefined ? value : given[field];
      const holds =
        field === 'age_seconds_max'
          ? narrowedAge(held, [own.retention_days, defaults['retention_days']])
          : held;
      return [field, holds ?? 'off'];
    }),
  );
};

const edited = (current: object, change: object): object => {
  const next: Record<string, unknown> = { ...current };
  for (const [field, value] of Object.entries(change)) {
    if (value === null) delete next[field];
    else if (value !== undefined) next[field] = value === 'off' ? null : value;
  }
  return next;
};

/** Rows that an earlier retention has removed do not come back with a longer one: the account must not miss them. */
const withRemovedDays = <P extends SourcePolicy | ApplicationPolicy>(before: P, next: P): P => {
  const now = Date.now();
  const from = keptFromDay(before, now);
  return from > keptFromDay(next, now) ? { ...next, removed_before_day: from } : next;
};

const write = async <P extends SourcePolicy | ApplicationPolicy>(
  set: RecordSet<P>,
  schema: z.ZodType<P>,
  id: number,
  change: object,
  revision: number | undefined,
): Promise<void> => {
  const make = (current: P): P => {
    const next = schema.parse(edited(current, change));
    return isDeepStrictEqual(next, current) ? current : withRemovedDays(current, next);
  };
  if ((await set.get(id)) === undefined) {
    if (revision !== undefined && revision !== 0) throw preconditionFailed(0);
    const first = schema.parse(edited({}, change));
    if (Object.keys(first).length === 0) return;
    if ((await unlessConflict(set.create(id, first))) !== undefined) return;
  }
  await set.change(id, make, revision);
};

/** The policy of a data id. Permanent Fault `not_found`. */
export const showSourcePolicy = async (
  records: Records,
  defaults: PolicyDefaults,
  dataId: number,
): Promise<EffectivePolicy> => {
  await existing(records.dataSources, dataId);
  const own = await records.sourcePolicies.get(dataId);
  const policy = { mon_data_id: dataId, ...effective(defaults.source, own?.value) };
  return { policy, own: ownOf(own?.value), revision: own?.revision ?? 0 };
};

/** The policy of an application. Permanent Fault `not_found`. */
export const showApplicationPolicy = async (
  records: Records,
  defaults: PolicyDefaults,
  appId: number,
): Promise<EffectivePolicy> => {
  await existing(records.applications, appId);
  const own = await records.applicationPolicies.get(appId);
  const { traces, logs, otel_metrics } = defaults.application;
  const signals = {
    traces: effective(traces, own?.value),
    logs: effective(logs, own?.value),
    otel_metrics: effective(otel_metrics, own?.value),
  };
  const policy = { app_id: appId, ...valuesOfAll(signals) };
  return { policy, signals, own: ownOf(own?.value), revision: own?.revision ?? 0 };
};

/**
 * Changes the policy of a data id, and writes nothing when it has these values; receivers follow within a second, and
 * the TTL of its table before this returns. Permanent Faults `not_found`, `precondition_failed`; transient ones when
 * QuestDB is down (a repeat of the call finishes it, and so does the keeper of the tables).
 */
export const setSourcePolicy = async (
  { records, tables }: { records: Records; tables: QuestdbTables },
  defaults: PolicyDefaults,
  dataId: number,
  change: z.output<typeof sourcePolicyChangeSchema>,
  revision: number | undefined,
): Promise<EffectivePolicy> => {
  await existing(records.dataSources, dataId);
  await write(records.sourcePolicies, sourcePolicySchema, dataId, change, revision);
  const table = (await records.tables.get(dataId))?.value;
  if ('retention_days' in change && table !== undefined && (await records.purges.get(dataId)) === undefined) {
    const days = retentionDaysOf((await records.sourcePolicies.get(dataId))?.value);
    await tables.setTtl(table.table_id, days);
  }
  return showSourcePolicy(records, defaults, dataId);
};

/** Changes the policy of an application; receivers follow within a second. Permanent Faults `not_found`, `precondition_failed`. */
export const setApplicationPolicy = async (
  records: Records,
  defaults: PolicyDefaults,
  appId: number,
  change: z.output<typeof applicationPolicyChangeSchema>,
  revision: number | undefined,
): Promise<EffectivePolicy> => {
  await existing(records.applications, appId);
  await write(records.applicationPolicies, applicationPolicySchema, appId, change, revision);
  return showApplicationPolicy(records, defaults, appId);
};
