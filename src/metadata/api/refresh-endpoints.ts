import { notFound } from '../problem.ts';
import { listQuerySchema, pageOf as page } from '../records/listing.ts';
import { actionRequestSchema } from '../records/requests.ts';
import { refreshOperation } from '../refresh/refresh.ts';
import { refreshRunSchema } from '../refresh/runs.ts';
import { type SubscriptionView, subscriptionSchema } from '../refresh/subscriptions.ts';
import { pageOf } from './contract.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';

const tag = 'Refresh job';
const runSchema = refreshRunSchema.meta({ id: 'RefreshRun' });
const viewSchema = subscriptionSchema.meta({ id: 'Subscription' });

const found = <T>(value: T | undefined, what: string): T => {
  if (value === undefined) throw notFound(what);
  return value;
};

/** The refresh job (specification 4.4): a run by hand, the last runs, and the subscriptions in node management. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of endpoints.
export const refreshEndpoints = ({ refresh }: ApiDeps): Endpoint[] => [
  endpoint({
    method: 'POST',
    path: `/operations/${refreshOperation}`,
    tag: 'Operations',
    summary: 'Runs the refresh job, after the current run if there is one, and returns the record',
    role: 'editor',
    body: actionRequestSchema,
    answer: runSchema,
    audit: () => ({ action: 'refresh.run', kind: 'refresh_run', id: undefined }),
    run: async ({ note }) => {
      const run = await refresh.runNow();
      note({ kind: 'refresh_run', id: String(run.run_id), before: undefined, after: run });
      return { body: run };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/refresh-runs',
    tag,
    summary: 'Lists the last hundred runs, newest first',
    role: 'viewer',
    query: listQuerySchema({}),
    answer: pageOf(runSchema),
    run: async ({ query }) => {
      // Pages go by ascending ids: negative ones put the newest first.
      const runs = (await refresh.runs.list()).map((value) => ({ id: -value.run_id, value }));
      return {
        body: page(
          runs.toSorted((left, right) => left.id - right.id),
          query,
        ),
      };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/refresh-runs/{id}',
    tag,
    summary: 'Shows a run',
    role: 'viewer',
    params: idParams,
    answer: runSchema,
    run: async ({ params }) => ({
      body: found(await refresh.runs.get(params.id), `refresh run ${params.id}`),
    }),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/subscriptions',
    tag,
    summary: 'Lists the subscriptions of node management by ascending data id, without their tokens',
    role: 'viewer',
    query: listQuerySchema({ mon_biz_id: 'integer', mon_data_id: 'integer' }),
    answer: pageOf(viewSchema),
    run: async ({ query }) => {
      const isWanted = (view: SubscriptionView): boolean =>
        (['mon_biz_id', 'mon_data_id'] as const).every((field) => {
          const wanted: unknown = Reflect.get(query, field);
          return wanted === undefined || view[field] === wanted;
        });
      const wanted = refresh.subscriptions.list().filter(isWanted);
      return {
        body: page(
          wanted.map((value) => ({ id: value.mon_data_id, value })),
          query,
        ),
      };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/subscriptions/{id}',
    tag,
    summary: 'Shows the subscription of a data id, its token masked',
    role: 'viewer',
    params: idParams,
    answer: viewSchema,
    run: async ({ params }) => ({
      body: found(await refresh.subscriptions.get(params.id), `subscription of data id ${params.id}`),
    }),
  }),
];
