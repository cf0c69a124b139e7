import { createHash, timingSafeEqual } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { z } from 'zod';
import { Fault } from '../model/fault.ts';
import type { Log } from '../telemetry/log.ts';
import { type ReadyChecks, readiness } from '../telemetry/ops-server.ts';
import { type CreationDeps, createCustomTimeSeries } from './creation.ts';
import { resourcesOf } from './listing.ts';
import {
  createApplication,
  createDataSource,
  createGroup,
  createResultTable,
  setApplicationEnabled,
  setApplicationPolicy,
  setReportEnabled,
  showApplicationPolicy,
} from './operations.ts';
import { inputProblem, type Problem, toProblem } from './problem.ts';
import {
  applicationPolicyRequestSchema,
  applicationRequestSchema,
  changeRequestSchema,
  dataSourceRequestSchema,
  groupRequestSchema,
  reportRequestSchema,
  resultTableRequestSchema,
} from './requests.ts';

/** Bodies of the admin API are small; what is larger was meant for another port. */
const bodyBytesMax = 1024 * 1024;

const retryAfterSeconds = '2';

export type ApiDeps = CreationDeps & {
  /** SHA-256 of the admin token. */
  readonly adminTokenHash: Buffer;
  readonly checks: ReadyChecks;
  /** False while NATS is away: lists would be of unknown age, and the rest would only wait for its time-out. */
  readonly isConnected: () => boolean;
  /** Hears the status of every answer. */
  readonly onAnswer: (status: number) => void;
  readonly log: Log;
};

/** One endpoint: its handler answers the JSON of a 200, or throws. */
type Endpoint = {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly run: (context: Context) => Promise<unknown>;
};

/** What a schema refused, on its way to the one place that answers. */
class InputRefused extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

const parse = <T>(schema: z.ZodType<T>, value: unknown): T => {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw new InputRefused(inputProblem(result.error));
};

/** The body as JSON; an empty one counts as `{}`. */
const jsonBody = async (context: Context): Promise<unknown> => {
  const text = await context.req.text();
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new Fault('permanent', 'body_not_json', 'the body cannot be read as JSON');
  }
};

const operation = <T>(
  name: string,
  schema: z.ZodType<T>,
  run: (request: T) => Promise<unknown>,
): Endpoint => ({
  method: 'POST',
  path: `/operations/${name}`,
  run: async (context) => run(parse(schema, await jsonBody(context))),
});

/** The creation operations of specification 4.3, by their exact names. */
const operationEndpoints = (deps: ApiDeps): Endpoint[] => [
  operation(
    'monitor_web.custom_report.resources.CreateCustomTimeSeries',
    reportRequestSchema,
    async (request) => {
      const created = await createCustomTimeSeries(deps, request);
      const { time_series_group_id, mon_data_id } = created.custom_report;
      deps.log.info({ mon_data_id, table_id: created.custom_report.table_id }, 'custom report created');
      return { time_series_group_id, mon_data_id, ...created };
    },
  ),
  operation('metadata.resources.resources.CreateDataIDResource', dataSourceRequestSchema, (request) =>
    createDataSource(deps, request),
  ),
  operation('metadata.resources.resources.CreateTimeSeriesGroupResource', groupRequestSchema, (request) =>
    createGroup(deps, request),
  ),
  operation(
    'metadata.models.result_table.ResultTable.create_result_table',
    resultTableRequestSchema,
    (request) => createResultTable(deps, request),
  ),
];

const readEndpoints = (deps: ApiDeps): Endpoint[] =>
  resourcesOf(deps.records).flatMap(({ path, querySchema, list, show }): Endpoint[] => [
    {
      method: 'GET',
      path: `/api/v1/${path}`,
      run: async (context) => list(parse(querySchema, context.req.query())),
    },
    {
      method: 'GET',
      path: `/api/v1/${path}/:id`,
      run: (context) => show(context.req.param('id') ?? ''),
    },
  ]);

const idOf = (context: Context): number => {
  const text = context.req.param('id') ?? '';
  if (!/^\d{1,15}$/.test(text)) throw new Fault('permanent', 'not_found', `there is no ${text}`);
  return Number(text);
};

const changeEndpoints = (deps: ApiDeps): Endpoint[] => [
  {
    method: 'POST',
    path: '/api/v1/applications',
    run: async (context) => ({
      application: await createApplication(deps, parse(applicationRequestSchema, await jsonBody(context))),
    }),
  },
  {
    method: 'GET',
    path: '/api/v1/applications/:id/policy',
    run: async (context) => ({ policy: await showApplicationPolicy(deps, idOf(context)) }),
  },
  {
    method: 'PATCH',
    path: '/api/v1/applications/:id/policy',
    run: async (context) => {
      const change = parse(applicationPolicyRequestSchema, await jsonBody(context));
      return { policy: await setApplicationPolicy(deps, idOf(context), change) };
    },
  },
  ...[true, false].flatMap((isEnabled): Endpoint[] => {
    const verb = isEnabled ? 'enable' : 'disable';
    const operatorOf = async (context: Context): Promise<string> =>
      parse(changeRequestSchema, await jsonBody(context)).operator;
    return [
      {
        method: 'POST',
        path: `/api/v1/custom-reports/:id/${verb}`,
        run: async (context) => setReportEnabled(deps, idOf(context), isEnabled, await operatorOf(context)),
      },
      {
        method: 'POST',
        path: `/api/v1/applications/:id/${verb}`,
        run: async (context) => ({
          application: await setApplicationEnabled(deps, idOf(context), isEnabled, await operatorOf(context)),
        }),
      },
    ];
  }),
];

const answerProblem = (problem: Problem, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: {
      'Content-Type': 'application/problem+json',
      ...(problem.status === 503 ? { 'Retry-After': retryAfterSeconds } : {}),
      ...(problem.status === 401 ? { 'WWW-Authenticate': 'Bearer realm="tidemark"' } : {}),
      ...headers,
    },
  });

const answerJson = (value: unknown, status = 200): Response =>
  new Response(JSON.stringify(value), { status, headers: { 'Content-Type': 'application/json' } });

const isAuthorised = (header: string | undefined, tokenHash: Buffer): boolean => {
  const given = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1];
  return given !== undefined && timingSafeEqual(createHash('sha256').update(given).digest(), tokenHash);
};

/** The answer where no endpoint matched: 405 with Allow when the path has endpoints of other methods, else 404. */
const noEndpoint = (endpoints: readonly Endpoint[], path: string, method: string): Response => {
  const methods = endpoints
    .filter((endpoint) =>
      new RegExp(`^${endpoint.path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`).test(path),
    )
    .flatMap((endpoint) => (endpoint.method === 'GET' ? ['GET', 'HEAD'] : [endpoint.method]));
  if (methods.length === 0) {
    return answerProblem(toProblem(new Fault('permanent', 'not_found', `there is nothing at ${path}`)));
  }
  const allowed = methods.join(', ');
  return answerProblem(
    toProblem(new Fault('permanent', 'method_not_allowed', `${method} is not for ${path}; use ${allowed}`)),
    { Allow: allowed },
  );
};

/** The admin API. Everything but `/livez` and `/readyz` wants the bearer token; errors are problem+json. */
export const createApi = (deps: ApiDeps): Hono => {
  const api = new Hono();
  const endpoints = [...operationEndpoints(deps), ...readEndpoints(deps), ...changeEndpoints(deps)];
  const tooLarge = (): Response =>
    answerProblem(
      toProblem(new Fault('permanent', 'body_too_large', `a body has at most ${bodyBytesMax} bytes`)),
      // The rest of the body is not read, so the connection cannot carry another request.
      { Connection: 'close' },
    );
  api.use(async (context, next) => {
    await next();
    deps.onAnswer(context.res.status);
  });
  api.get('/livez', () => answerJson({ live: true }));
  api.get('/readyz', () => {
    const { status, body } = readiness(deps.checks);
    return new Response(body, { status, headers: { 'Content-Type': 'application/json' } });
  });
  api.use(async (context, next) => {
    if (isAuthorised(context.req.header('Authorization'), deps.adminTokenHash)) return next();
    return answerProblem(
      toProblem(new Fault('permanent', 'unauthorized', 'the admin token is missing or not the right one')),
    );
  });
  api.use(bodyLimit({ maxSize: bodyBytesMax, onError: tooLarge }));
  for (const { method, path, run } of endpoints) {
    api.on(method, path, async (context) => {
      if (!deps.isConnected()) throw new Fault('transient', 'nats_unavailable', 'NATS does not answer');
      return answerJson(await run(context));
    });
  }
  api.notFound((context) => noEndpoint(endpoints, context.req.path, context.req.method));
  api.onError((error) => {
    const problem = error instanceof InputRefused ? error.problem : toProblem(error);
    if (problem.status >= 500) deps.log.error({ code: problem.code }, problem.detail);
    return answerProblem(problem);
  });
  return api;
};
