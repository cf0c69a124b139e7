import { z } from 'zod';
import { retentionDaysOf } from '../../directory/policies.ts';
import { type ApplicationPipeline, applicationPipelines } from '../../model/signals.ts';
import { dayMs, dayText } from '../../model/time.ts';
import { readItemDays } from '../../stores/clickhouse/item-days.ts';
import { itemTables } from '../../stores/clickhouse/item-tables.ts';
import { readTableFigures } from '../../stores/questdb/table-figures.ts';
import { retention } from '../answers/retention.ts';
import { numberText } from '../number-text.ts';
import { existing, type Records } from '../records/store.ts';
import { knownInstanceOf, unknownInstance } from '../tables/placement.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';

/** Rows of one day, as a store has them. */
type Day = { readonly day: string; readonly rows: number; readonly bytes: number };

type Kept = Pick<z.output<typeof retention>, 'retention_days' | 'origin'>;

const wrong = 'must be off, default, or a whole number of days from 1 to 36500';

const query = z.strictObject({
  days: z
    .union(
      [z.literal(['off', 'default']), numberText(/^[1-9]\d{0,4}$/, wrong, z.int().min(1).max(36_500, wrong))],
      wrong,
    )
    .optional()
    .meta({ description: 'Shows what this retention would remove' }),
});

const sumOf = (days: readonly Day[]) => ({
  days: new Set(days.map(({ day }) => day)).size,
  rows: days.reduce((sum, { rows }) => sum + rows, 0),
  bytes: days.reduce((sum, { bytes }) => sum + bytes, 0),
});

/** The first day that is kept whole: one expires once all of it is older than the retention. */
const keptFrom = (days: number, nowMs: number): string => dayText(Math.floor(nowMs / dayMs) - days);

type Asked = z.output<typeof query>['days'];
type Policy = Parameters<typeof retentionDaysOf>[0];

const shortest = (days: readonly (number | undefined)[]): number | undefined => {
  const least = Math.min(...days.map((each) => each ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(least) ? least : undefined;
};

/** The retention of an owner with this policy. `ttl`: that of the pipeline files, which holds for every owner. */
const keptBy = (policy: Policy, ttl: number | undefined): Kept => {
  const days = retentionDaysOf(policy);
  if (ttl !== undefined && ttl < (days ?? Number.POSITIVE_INFINITY))
    return { retention_days: ttl, origin: 'pipelines' };
  const own = policy?.retention_days;
  if (own === undefined && days === undefined) return { retention_days: null, origin: 'none' };
  return { retention_days: days ?? null, origin: own === undefined ? 'creation' : 'policy' };
};

const changeTo = (asked: Asked, policy: Policy, ttl: number | undefined): number | null => {
  const days = asked === undefined || asked === 'default' ? policy?.retention_days_initial : asked;
  return shortest([days === 'off' ? undefined : days, ttl]) ?? null;
};

/** What a table has of an owner. `ttl`: its retention by the pipeline file; `pipeline`: undefined for points. */
type InTable = {
  readonly pipeline: ApplicationPipeline | undefined;
  readonly ttl: number | undefined;
  readonly days: readonly Day[];
};

const goneOf = ({ ttl, days }: InTable, asked: Asked, policy: Policy, now: number): readonly Day[] => {
  const to = changeTo(asked, policy, ttl);
  if (to === null) return [];
  const from = keptFrom(to, now);
  return days.filter(({ day }) => day < from);
};

/** Each signal once: the tables of one have one retention. */
const signalsOf = (policy: Policy, tables: readonly InTable[]) =>
  applicationPipelines.flatMap((pipeline) => {
    const table = tables.find((each) => each.pipeline === pipeline);
    return table === undefined ? [] : [{ pipeline, ...keptBy(policy, table.ttl) }];
  });

/** Of several tables the shortest retention, and that of each signal. */
export const shownRetention = (asked: Asked, policy: Policy, tables: readonly InTable[], now: number) => {
  const ttl = shortest(tables.map((table) => table.ttl));
  const to = changeTo(asked, policy, ttl);
  const from = to === null ? null : keptFrom(to, now);
  const gone = tables.flatMap((table) => goneOf(table, asked, policy, now));
  const days = tables
    .flatMap((table) => table.days)
    .toSorted((left, right) => left.day.localeCompare(right.day));
  return {
    ...keptBy(policy, ttl),
    signals: signalsOf(policy, tables),
    ...sumOf(days),
    oldest_day: days[0]?.day ?? null,
    newest_day: days.at(-1)?.day ?? null,
    change: asked === undefined ? null : { retention_days: to, kept_from: from, ...sumOf(gone) },
  };
};

const pointDays = async (
  { inspected }: ApiDeps,
  records: Records,
  dataId: number,
): Promise<readonly Day[]> => {
  await existing(records.dataSources, dataId);
  const table = (await records.tables.get(dataId))?.value.table_id;
  if (table === undefined) return [];
  const instance = knownInstanceOf(records, dataId);
  const sql = inspected.questdb.find(({ name }) => name === instance)?.sql;
  if (sql === undefined) throw unknownInstance(instance, `table ${table}`);
  return (await readTableFigures(sql, table))?.partitions ?? [];
};

const common = {
  method: 'GET',
  tag: 'Policies',
  role: 'viewer',
  params: idParams,
  query,
  answer: retention,
} as const;

/** …/retention of data sources and applications. Their policies change it. */
export const retentionEndpoints = (deps: ApiDeps): Endpoint[] => [
  endpoint({
    ...common,
    path: '/api/v1/data-sources/{id}/retention',
    summary: 'Shows how long points are kept, what is stored, and what another retention would remove',
    run: async ({ params: { id }, query: { days: asked }, records }) => {
      const days = await pointDays(deps, records, id);
      const policy = (await records.sourcePolicies.get(id))?.value;
      return {
        body: shownRetention(
          asked,
          policy,
          [{ pipeline: undefined, ttl: undefined, days }],
          deps.outcomes.now(),
        ),
      };
    },
  }),
  endpoint({
    ...common,
    path: '/api/v1/applications/{id}/retention',
    summary:
      'Shows how long items of an application are kept, what is stored, and what another retention would remove',
    run: async ({ params: { id }, query: { days: asked }, records }) => {
      await existing(records.applications, id);
      const policy = (await records.applicationPolicies.get(id))?.value;
      const tables = await Promise.all(
        itemTables.map(async (table) => ({
          pipeline: table.pipeline,
          ttl: deps.pipelineRetention[table.pipeline],
          days: await readItemDays(deps.outcomes.clickhouse, table, { appId: id, timeoutMs: 20_000 }),
        })),
      );
      return { body: shownRetention(asked, policy, tables, deps.outcomes.now()) };
    },
  }),
];
