import type { Context } from 'hono';
import { Hono } from 'hono';
import { accepts } from 'hono/accepts';
import { keepConnection } from '../../http/room.ts';
import { Fault } from '../../model/fault.ts';
import { bearerToken, hasForm } from '../../model/text-forms.ts';
import { readinessAnswer } from '../../runtime/ops-server.ts';
import { limitBody, readJson } from '../body.ts';
import { whileAllowed } from '../console/while-allowed.ts';
import { answerZippable, answerZipped, zippable } from '../gzip.ts';
import { fieldFault, type Problem, toProblem } from '../problem.ts';
import { pollingPath } from '../refresh/polling-endpoint.ts';
import type { AdminIdentity } from '../tokens/admin-token-state.ts';
import { roleAllows } from '../tokens/roles.ts';
import { accountEndpoints } from './account-endpoints.ts';
import { activityEndpoints } from './activity-endpoints.ts';
import { applicationEndpoints } from './application-endpoints.ts';
import { backupEndpoints } from './backup-endpoints.ts';
import { identifyCall, traceCall } from './call-traces.ts';
import { consoleEndpoints } from './console-endpoints.ts';
import { deadLetterEndpoints } from './dead-letter-endpoints.ts';
import { defaultEndpoints } from './default-endpoints.ts';
import type { ApiDeps } from './deps.ts';
import { diagnosisEndpoints } from './diagnosis-endpoints.ts';
import { diskEndpoint } from './disk-endpoints.ts';
import { type Answer, type Csv, type Endpoint, operatorOf, type Prepared } from './endpoint.ts';
import type { ApiEnv } from './env.ts';
import { exploreEndpoints } from './explore-endpoints.ts';
import { answerLive, lineEndpoints, livePath } from './line-endpoints.ts';
import { openApiDocument } from './openapi.ts';
import { operationEndpoints } from './operation-endpoints.ts';
import { answerLiveDrops, liveDropsPath, outcomeEndpoints } from './outcome-endpoints.ts';
import { placementEndpoints } from './placement-endpoints.ts';
import { allPolicyEndpoints } from './policy-endpoints.ts';
import { recordEndpoints } from './record-endpoints.ts';
import { refreshEndpoints } from './refresh-endpoints.ts';
import { createRefusalLog } from './refusal-log.ts';
import { reportEndpoints } from './report-endpoints.ts';
import { retentionEndpoints } from './retention-endpoints.ts';
import { runbookEndpoints } from './runbook-endpoints.ts';
import { snippetEndpoints } from './snippet-endpoints.ts';
import { storeEndpoints } from './store-endpoints.ts';
import { systemEndpoints } from './system-endpoints.ts';
import { allTokenEndpoints } from './token-endpoints.ts';
import { usageEndpoints } from './usage-endpoints.ts';

/** Bodies of the admin API are small; a larger one was meant for another port. */
const bodyBytesMaxDefault = 1024 * 1024;

const retryAfterSeconds = '2';
/** The window of failed attempts to log in. */
const attemptsAfterSeconds = '60';

/** Every endpoint except `/livez`, `/readyz` and `/openapi.json`. */
export const endpointsOf = (deps: ApiDeps): Endpoint[] => [
  ...operationEndpoints(deps),
  ...reportEndpoints(),
  ...recordEndpoints(),
  ...placementEndpoints(deps),
  ...applicationEndpoints(deps),
  ...allTokenEndpoints(),
  ...allPolicyEndpoints(deps),
  ...defaultEndpoints(deps),
  ...retentionEndpoints(deps),
  ...refreshEndpoints(deps),
  ...outcomeEndpoints(deps),
  ...lineEndpoints(deps),
  ...runbookEndpoints(),
  ...accountEndpoints(deps),
  ...usageEndpoints(deps),
  diskEndpoint(deps),
  ...deadLetterEndpoints(deps),
  ...activityEndpoints(deps),
  ...storeEndpoints(deps),
  ...diagnosisEndpoints(deps),
  ...snippetEndpoints(deps),
  ...exploreEndpoints(deps),
  ...systemEndpoints(deps),
  ...backupEndpoints(deps),
  ...consoleEndpoints(deps),
];

const retryAfterOf = ({ status, code }: Problem): Record<string, string> => {
  if (status !== 503 && status !== 429) return {};
  return { 'Retry-After': code === 'too_many_attempts' ? attemptsAfterSeconds : retryAfterSeconds };
};

const answerProblem = (problem: Problem, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: {
      'Content-Type': 'application/problem+json',
      ...retryAfterOf(problem),
      // The rest of the body is not read, so the connection cannot carry another request.
      ...(problem.code === 'body_too_large' ? { Connection: 'close' } : {}),
      ...(problem.status === 401 ? { 'WWW-Authenticate': 'Bearer realm="tidemark"' } : {}),
      ...headers,
    },
  });

/** No cache keeps what a credential brought, and no browser takes it for another type; an answer may say how it is kept. */
const guardAnswer = ({ headers }: Response): void => {
  if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store');
  headers.set('X-Content-Type-Options', 'nosniff');
};

/** `format` wins over Accept. */
const wantsCsv = (context: Context): boolean => {
  const format = context.req.query('format');
  return format === undefined
    ? accepts(context, {
        header: 'Accept',
        supports: ['application/json', 'text/csv'],
        default: 'application/json',
      }) === 'text/csv'
    : format === 'csv';
};

const jsonType = { 'Content-Type': 'application/json' };
const csvHeaders = ({ name }: Csv) => ({
  'Content-Type': 'text/csv; charset=utf-8; header=present',
  'Content-Disposition': `attachment; filename="${name}"`,
});

const answerJson = ({ body, revision }: Omit<Answer, 'csv'>): Response =>
  new Response(JSON.stringify(body), {
    headers: { ...jsonType, ...(revision === undefined ? {} : { ETag: `"${revision}"` }) },
  });

/**
 * Zipped where that is worth it. Never an answer that may show a token, as audited ones do: the length of its zipped bytes would give it
 * away to one who chooses a part of the answer and watches the link. Nor one with an ETag, which is that of its plain bytes.
 */
const answerCall = (
  { isWrite }: Endpoint,
  answer: Answer,
  context: Context<ApiEnv>,
): Response | Promise<Response> => {
  const encoding = context.req.header('Accept-Encoding');
  if (answer.csv !== undefined && wantsCsv(context))
    return answerZipped(answer.csv.text(), encoding, csvHeaders(answer.csv));
  if (isWrite || answer.revision !== undefined) return answerJson(answer);
  return answerZipped(JSON.stringify(answer.body), encoding, jsonType);
};

/** Answers `/openapi.json`. */
const documentAnswer = (endpoints: readonly Endpoint[]): ((acceptEncoding?: string) => Response) => {
  const document = zippable(Buffer.from(JSON.stringify(openApiDocument(endpoints))));
  return (acceptEncoding) => answerZippable(document, acceptEncoding, 200, jsonType);
};

/**
 * The revisions of which If-Match demands any: undefined where it is absent or `*`. No record has a weak or foreign ETag. A part between
 * commas is never one within the quotes of a tag: it would not have quotes of its own.
 */
const revisionsOf = (ifMatch: string | undefined): readonly number[] | undefined => {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  return ifMatch.split(',').flatMap((part) => {
    const tag = part.trim();
    return hasForm(/^"\d{1,15}"$/, tag) ? [Number(tag.slice(1, -1))] : [];
  });
};

/** Who calls, and until when. `isProven`: by the token itself, or by a session whose token was presented a moment ago. */
type Caller = {
  readonly identity: AdminIdentity;
  readonly isProven: boolean;
  readonly isAllowed: () => Promise<boolean>;
};

/** A bearer beats the cookie of a session. */
const identify = async (deps: ApiDeps, context: Context<ApiEnv>): Promise<Caller> => {
  const { adminTokens } = deps;
  const header = context.req.header('Authorization');
  const bearer = bearerToken(header);
  if (bearer !== undefined) {
    const identity = await adminTokens.authorize(bearer);
    const isAllowed = async () => (await adminTokens.authorize(bearer)) !== undefined;
    if (identity !== undefined) return { identity, isProven: true, isAllowed };
  }
  const call = header === undefined ? await deps.console?.identify(context) : undefined;
  if (call !== undefined) {
    const { identity, isProven } = call.session;
    return { identity, isProven, isAllowed: call.isAllowed };
  }
  throw new Fault('permanent', 'unauthorized', 'the admin token is missing or not valid');
};

/** `{id}` in Hono's form. */
const honoPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

const pathPattern = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);

/** Paths that no endpoint of the list has. */
const otherPaths = ['/livez', '/readyz', '/openapi.json', liveDropsPath, livePath, pollingPath].map(
  (path) => ({ path, method: 'GET' }),
);

/** The answer where no endpoint matched: 405 with Allow when the path has endpoints of other methods, else 404. */
const noEndpoint = (endpoints: readonly Endpoint[], path: string, method: string): Response => {
  const methods = [...endpoints, ...otherPaths]
    .filter((endpoint) => pathPattern(endpoint.path).test(path))
    .flatMap((endpoint) => (endpoint.method === 'GET' ? ['GET', 'HEAD'] : [endpoint.method]));
  if (methods.length === 0) {
    return answerProblem(toProblem(new Fault('permanent', 'not_found', `unknown path ${path}`)));
  }
  // A path with an id may also be the one of a name.
  const allowed = [...new Set(methods)].join(', ');
  return answerProblem(
    toProblem(
      new Fault('permanent', 'method_not_allowed', `${path} does not accept ${method}; use ${allowed}`),
    ),
    { Allow: allowed },
  );
};

/** Runs a write between its audit's beginning and end. */
const runAudited = (
  { audit }: ApiDeps,
  { token_id, name, role }: AdminIdentity,
  prepared: Prepared,
): Promise<Answer> => {
  const { target, body } = prepared;
  if (target === undefined) return prepared.run(() => {});
  return audit.run(
    {
      actor: { token_id, name, role },
      operator: operatorOf(body),
      action: target.action,
      target: { kind: target.kind, id: target.id },
      request: body,
    },
    (note) => prepared.run(({ kind, id, before, after }) => note({ target: { kind, id }, before, after })),
  );
};

/** Refuses a repeated parameter: the intended value is unknown. */
const queryOf = (context: Context): Record<string, string> => {
  const given = [...new URL(context.req.url).searchParams];
  const twice = given.find(([name], index) => given.findIndex(([other]) => other === name) < index)?.[0];
  if (twice !== undefined) throw fieldFault('invalid_value', twice, 'is given more than once');
  return Object.fromEntries(given);
};

/** The caller, if the role of its token allows the call: checked before any other part of the request is read. */
const admit = async (
  deps: ApiDeps,
  endpoint: Pick<Endpoint, 'role' | 'needsProof'>,
  context: Context<ApiEnv>,
): Promise<void> => {
  if (!deps.isConnected()) throw new Fault('transient', 'nats_unavailable', 'no answer from NATS');
  const { identity, isProven, isAllowed } = await identify(deps, context);
  if (!roleAllows(identity.role, endpoint.role)) {
    throw new Fault(
      'permanent',
      'forbidden',
      `this call needs the role ${endpoint.role}; the token ${JSON.stringify(identity.name)} has the role ${identity.role}`,
    );
  }
  if (endpoint.needsProof === true && !isProven)
    throw new Fault('permanent', 'step_up_required', 'this call requires the admin token again');
  if (context.env.incoming !== undefined) keepConnection(context.env.incoming);
  context.set('identity', identity);
  context.set('isAllowed', isAllowed);
};

const call = async (deps: ApiDeps, endpoint: Endpoint, context: Context<ApiEnv>): Promise<Response> => {
  const identity = context.get('identity');
  const prepared = await endpoint.prepare({
    params: context.req.param(),
    query: queryOf(context),
    body: () => readJson(context),
    revisions: revisionsOf(context.req.header('If-Match')),
    host: context.req.header('Host'),
    identity,
    records: deps.records,
    signal: () => context.req.raw.signal,
  });
  return answerCall(endpoint, await runAudited(deps, identity, prepared), context);
};

/** An endless answer, which ends with the token or the session of its caller. */
const endingWithCaller = (answer: Response, context: Context<ApiEnv>): Response =>
  answer.body === null ? answer : new Response(whileAllowed(answer.body, context.get('isAllowed')), answer);

/**
 * The admin API. `/livez`, `/readyz` and `/openapi.json` are open; every other endpoint demands the bearer token of a sufficient
 * role. Errors are problem+json (RFC 9457); records have ETags, and every change of a record obeys If-Match.
 */
export const createApi = (deps: ApiDeps): Hono<ApiEnv> => {
  const api = new Hono<ApiEnv>();
  const endpoints = endpointsOf(deps);
  const answerDocument = documentAnswer(endpoints);
  const refusals = createRefusalLog(deps.log, Date.now);
  api.use(identifyCall, async (context, next) => {
    await next();
    guardAnswer(context.res);
    deps.onAnswer(context.res.status);
  });
  api.get('/livez', () => answerJson({ body: { live: true } }));
  api.get('/readyz', () => {
    const { status, body } = readinessAnswer(deps.readiness);
    return new Response(body, { status, headers: { 'Content-Type': 'application/json' } });
  });
  api.get('/openapi.json', ({ req }) => answerDocument(req.header('Accept-Encoding')));
  for (const endpoint of endpoints) {
    const bytesMax = endpoint.bodyBytesMax ?? bodyBytesMaxDefault;
    api.on(
      endpoint.method,
      honoPath(endpoint.path),
      traceCall(deps.tracing, endpoint),
      async (context, next) => {
        await admit(deps, endpoint, context);
        await next();
      },
      limitBody(bytesMax),
      (context) => call(deps, endpoint, context),
    );
  }
  api.get(liveDropsPath, async (context) => {
    await admit(deps, { role: 'viewer' }, context);
    const isHead = context.req.method === 'HEAD';
    return endingWithCaller(await answerLiveDrops(deps.outcomes, queryOf(context), isHead), context);
  });
  api.get(livePath, async (context) => {
    await admit(deps, { role: 'viewer' }, context);
    const isHead = context.req.method === 'HEAD';
    return endingWithCaller(await answerLive(deps.pulse, queryOf(context), isHead), context);
  });
  api.route('/', deps.refresh.pollingApp);
  if (deps.console !== undefined) api.route('/console', deps.console.app);
  api.notFound(async (context) => {
    await identify(deps, context);
    return noEndpoint(endpoints, context.req.path, context.req.method);
  });
  api.onError((error, context) => {
    const problem = toProblem(error);
    const isDefect = !(error instanceof Fault) || error.kind === 'internal';
    if (isDefect) deps.log.error({ code: problem.code, request: context.get('requestId') }, problem.detail);
    else if (problem.status >= 500) refusals.add(problem.code, problem.detail);
    return answerProblem(problem);
  });
  return api;
};
