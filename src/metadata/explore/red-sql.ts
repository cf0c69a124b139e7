import { dateTimesOf, type Period } from './period.ts';
import { type Applications, appParts, type Part, type Statement, statement } from './statement.ts';

/** What a row of requests, errors and durations stands for. */
export const redGroups = ['service', 'operation'] as const;
export type RedGroup = (typeof redGroups)[number];

/** SpanKind as it is stored. */
const kindTexts = {
  unspecified: 'Unspecified',
  internal: 'Internal',
  server: 'Server',
  client: 'Client',
  producer: 'Producer',
  consumer: 'Consumer',
} as const;
export type SpanKind = keyof typeof kindTexts;
export const spanKinds = [
  'unspecified',
  'internal',
  'server',
  'client',
  'producer',
  'consumer',
] as const satisfies readonly SpanKind[];

/** The spans that count as requests, and how they are grouped. */
export type RedConditions = {
  readonly applications: Applications;
  readonly service?: string | undefined;
  readonly operation?: string | undefined;
  readonly kinds: readonly SpanKind[];
  readonly by: RedGroup;
};

const columns =
  'toUnixTimestamp(Time) AS at, AppId AS app_id, ServiceName AS service, Operation AS operation, ' +
  'Requests AS requests, Errors AS errors, P50Ms AS p50_ms, P95Ms AS p95_ms, P99Ms AS p99_ms';

/** The view reads the spans of its conditions alone: ClickHouse moves them to the table. */
const redSql = (
  { applications, service, operation, kinds, by }: RedConditions,
  period: Period,
  step: number,
  more: readonly Part[],
  after: string,
): Statement => {
  const parts: Part[] = [...appParts(applications), ...more];
  if (service !== undefined) parts.push(['ServiceName = {service:String}', { service }]);
  if (operation !== undefined) parts.push(['Operation = {operation:String}', { operation }]);
  return statement(
    `SELECT ${columns} FROM otel.otel_traces_red(since = {since:DateTime}, until = {until:DateTime}, ` +
      'step = {step:UInt32}, by = {by:String}, kinds = {kinds:Array(String)})',
    parts,
    after,
    { ...dateTimesOf(period), step: String(step), by, kinds: kinds.map((kind) => kindTexts[kind]) },
  );
};

/** A row for each service or operation, those with most requests first. */
export const redTotalsSql = (conditions: RedConditions, period: Period, limit: number): Statement =>
  redSql(conditions, period, 0, [], ` ORDER BY requests DESC, app_id, service, operation LIMIT ${limit}`);

/** What a row of requests, errors and durations is of. */
export type RedKey = { readonly app_id: number; readonly service: string; readonly operation: string };

/** A row for each bucket of `step` seconds that has a request, of these keys alone: a service may have any number of operations. */
export const redSeriesSql = (
  conditions: RedConditions,
  period: Period,
  step: number,
  keys: readonly RedKey[],
): Statement =>
  redSql(
    conditions,
    period,
    step,
    [
      // The first condition finds the spans in the order of the table, the second leaves out what else these services have.
      [
        'ServiceName IN {services:Array(String)} AND has(arrayZip({apps:Array(String)}, {services:Array(String)}, ' +
          '{operations:Array(String)}), (toString(AppId), ServiceName, Operation))',
        {
          apps: keys.map(({ app_id: id }) => String(id)),
          services: keys.map(({ service }) => service),
          operations: keys.map(({ operation }) => operation),
        },
      ],
    ],
    ' ORDER BY at',
  );
