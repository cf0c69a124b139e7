import { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import {
  lastValuesAnswer,
  logsAnswer,
  metricsAnswer,
  pointsAnswer,
  redAnswer,
  servicesAnswer,
  traceAnswer,
  tracesAnswer,
  valuesAnswer,
} from '../answers/explore.ts';
import type { Asker } from '../explore/explore.ts';
import { logsRequest } from '../explore/log-shapes.ts';
import { lastValuesRequest, metricsRequest } from '../explore/metric-shapes.ts';
import { dimensionName, pointsRequest, tableName } from '../explore/point-shapes.ts';
import { redRequest } from '../explore/red-shapes.ts';
import { wideQuery } from '../explore/shapes.ts';
import { tracesRequest } from '../explore/trace-shapes.ts';
import { numberText } from '../number-text.ts';
import type { AdminIdentity } from '../tokens/admin-token-state.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { type Owners, ownerQuery, refuseUnknownOwner, timeQuery } from './queries.ts';

const tag = 'Explore';

type Called = { readonly identity: AdminIdentity; readonly signal: () => AbortSignal };

const askerOf = ({ identity, signal }: Called): Asker => ({ tokenId: identity.token_id, signal: signal() });

const limitText = 'must be an integer from 1 to 1000';

const valuesQuery = z.strictObject({
  data_id: ownerQuery.data_id,
  table: tableName,
  dimension: dimensionName,
  ...timeQuery,
  wide: wideQuery,
  limit: numberText(
    /^\d{1,4}$/,
    limitText,
    z.int().min(1, limitText).max(1000, limitText).meta({ description: 'How many values at most' }),
  ).default(100),
});

type Search<B extends z.ZodType> = {
  readonly path: string;
  readonly summary: string;
  readonly body: B;
  readonly answer: z.ZodType;
  readonly run: (asker: Asker, asked: z.output<B>) => Promise<unknown>;
};

/** A search in the items of applications: an unknown application is refused. */
const search = <B extends z.ZodType<Owners>>(
  role: Endpoint['role'],
  { run, ...described }: Search<B>,
): Endpoint =>
  endpoint({
    ...described,
    ...{ method: 'POST', tag, role, isQuery: true },
    run: async (call) => {
      await refuseUnknownOwner(call.records, call.body);
      return { body: await run(askerOf(call), call.body) };
    },
  });

const ofPoints = ({ explore }: ApiDeps, role: Endpoint['role']): Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/api/v1/query/points',
    tag,
    summary:
      'Series of stored metrics, at most 20 of 600 buckets, or the last 50 rows; by default of the last hour',
    role,
    isQuery: true,
    body: pointsRequest,
    answer: pointsAnswer,
    run: async (call) => ({ body: await explore.points(askerOf(call), call.body) }),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/query/points/values',
    tag,
    summary: 'Values of a dimension, those with most rows first; by default of the last hour',
    role,
    isQuery: true,
    query: valuesQuery,
    answer: valuesAnswer,
    run: async (call) => ({ body: await explore.values(askerOf(call), call.query) }),
  }),
];

const traceParams = z.strictObject({
  id: z
    .string()
    .regex(/^[0-9a-fA-F]{32}$/)
    .transform((id) => id.toLowerCase())
    .pipe(
      z
        .string()
        .regex(/^[0-9a-f]{32}$/)
        .meta({ description: 'The trace id', examples: ['5b8efff798038103d269b633813fc60c'] }),
    ),
});

const ofTraces = ({ explore }: ApiDeps, role: Endpoint['role']): Endpoint[] => [
  search(role, {
    path: '/api/v1/query/traces',
    summary:
      'Traces with a span that fulfils all conditions together, the newest such span first; by default of the last hour',
    body: tracesRequest,
    answer: tracesAnswer,
    run: explore.traces,
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/traces/services',
    tag,
    summary:
      'Services and the names of their spans, those with most spans first; by default of the last hour',
    role,
    isQuery: true,
    query: z.strictObject({ app_id: ownerQuery.app_id, ...timeQuery, wide: wideQuery }),
    answer: servicesAnswer,
    run: async (call) => {
      await refuseUnknownOwner(call.records, call.query);
      return { body: await explore.services(askerOf(call), call.query) };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/traces/{id}',
    tag,
    summary: 'The spans of a trace by their start, at most 10,000',
    role,
    isQuery: true,
    params: traceParams,
    answer: traceAnswer,
    run: async (call) => ({ body: await explore.trace(askerOf(call), call.params.id) }),
  }),
];

const ofOthers = ({ explore }: ApiDeps, role: Endpoint['role']): Endpoint[] => [
  search(role, {
    path: '/api/v1/query/red',
    summary:
      'Requests, errors and durations of services or operations, computed from spans; by default of the last hour',
    body: redRequest,
    answer: redAnswer,
    run: explore.red,
  }),
  search(role, {
    path: '/api/v1/query/logs',
    summary: 'Log records that fulfil all conditions, the newest first; by default of the last hour',
    body: logsRequest,
    answer: logsAnswer,
    run: explore.logs,
  }),
  search(role, {
    path: '/api/v1/query/metrics',
    summary:
      'Metrics of OpenTelemetry with the number of their series, those with most first; by default of the last hour',
    body: metricsRequest,
    answer: metricsAnswer,
    run: explore.metrics,
  }),
  search(role, {
    path: '/api/v1/query/metrics/last',
    summary:
      'The last value of each series of a gauge or a sum, the latest first; by default of the last hour',
    body: lastValuesRequest,
    answer: lastValuesAnswer,
    run: explore.lastValues,
  }),
];

const switchedOff = (): Promise<never> =>
  Promise.reject(new Fault('permanent', 'explore_off', 'TIDEMARK_CONSOLE_EXPLORE is off'));

/** Queries of stored points, spans, log records and data points (docs/explore.md). */
export const exploreEndpoints = (deps: ApiDeps): Endpoint[] => {
  const { role } = deps.explore;
  const endpoints = [ofPoints, ofTraces, ofOthers].flatMap((of) =>
    of(deps, role === 'off' ? 'viewer' : role),
  );
  return role === 'off' ? endpoints.map((each) => ({ ...each, prepare: switchedOff })) : endpoints;
};
