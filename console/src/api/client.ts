import { noteTime } from './clock.ts';
import type { OrUndefined } from './or-undefined.ts';
import type { components, paths } from './schema.d.ts';

/** The part of a problem (RFC 9457) that a page shows. */
type Problem = components['schemas']['Problem'];

/** What an answer that is not a 200 says, or that there was no answer (status 0, code `unreachable`). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly remedy: string | undefined;
  /** The path of the field that is wrong. */
  readonly field: string | undefined;

  constructor(status: number, problem: Partial<Problem>) {
    super(problem.detail ?? problem.title ?? `The admin API answered ${status}.`);
    this.status = status;
    this.code = problem.code ?? 'unknown';
    this.remedy = problem.remedy;
    this.field = problem.field;
  }
}

type Method = 'get' | 'post' | 'patch' | 'delete';

export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];

type Operation<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;

type Parameters<O> = O extends { parameters: infer P } ? P : never;
type Json<B> = B extends { content: { 'application/json': infer T } } ? T : never;

type PathInput<O> = Parameters<O> extends { path: infer T } ? { readonly path: T } : object;
type QueryInput<O> =
  Parameters<O> extends { query: infer T }
    ? { readonly query: OrUndefined<T> }
    : Parameters<O> extends { query?: infer T }
      ? { readonly query?: OrUndefined<T> | undefined }
      : object;
type BodyInput<O> = O extends { requestBody: infer B }
  ? { readonly body: OrUndefined<Json<B>> }
  : O extends { requestBody?: infer B }
    ? { readonly body?: OrUndefined<Json<NonNullable<B>>> }
    : object;

/** What a call may say beside its path: `etag` becomes If-Match. */
type Common = { readonly signal?: AbortSignal | undefined; readonly etag?: string | undefined };

type Loose = Common & { readonly path?: object; readonly query?: object; readonly body?: unknown };

/** The input of an operation: path, query and body in the types of the API. */
export type Input<P extends keyof paths, M extends Method> = PathInput<Operation<P, M>> &
  QueryInput<Operation<P, M>> &
  BodyInput<Operation<P, M>> &
  Common;

export type Answer<P extends keyof paths, M extends Method = 'get'> =
  Operation<P, M> extends { responses: { 200: infer R } } ? Json<R> : never;

/** The body of a query that only reads. */
export type BodyOf<P extends PathOf<'post'>> =
  Input<P, 'post'> extends { readonly body?: infer B } ? B : undefined;

type Rest<P extends keyof paths, M extends Method> =
  object extends Input<P, M> ? [input?: Input<P, M>] : [input: Input<P, M>];

/**
 * What the shell does when the session has ended, when its role does not allow a call, and when a call needs the token again
 * (false: the user declined).
 */
export const hooks: { onEnded: () => void; onForbidden: () => void; stepUp: () => Promise<boolean> } = {
  onEnded: () => undefined,
  onForbidden: () => undefined,
  stepUp: async () => false,
};

const failureOf = async (response: Response): Promise<ApiError> => {
  const isProblem = response.headers.get('Content-Type')?.startsWith('application/problem+json') === true;
  return new ApiError(response.status, isProblem ? await response.json() : {});
};

/** One request with the session's cookie. Throws an ApiError; an aborted one throws its signal's reason. */
export const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
  const headers = { 'X-Tidemark-Console': '1', ...init.headers };
  let response: Response;
  const isRead = (init.method ?? 'GET') === 'GET' || path.startsWith('/api/v1/query/');
  try {
    response = await fetch(path, { ...init, headers, redirect: 'error', cache: 'no-store' });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, {
      code: 'unreachable',
      detail: 'The admin API does not answer.',
      remedy: isRead
        ? 'Check that the metadata role runs. The page tries again by itself.'
        : 'It is not known whether this was done. Check that the metadata role runs, and look before you repeat it.',
    });
  }
  noteTime(response.headers.get('Date'));
  if (response.ok) return response;
  const failure = await failureOf(response);
  if (failure.status === 401 && failure.code === 'unauthorized') hooks.onEnded();
  if (failure.code === 'forbidden') hooks.onForbidden();
  if (failure.code === 'step_up_required' && (await hooks.stepUp())) return send(path, init);
  throw failure;
};

const partsOf = (input: object = {}): Loose => input;

const filled = (path: string, values: object): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(Reflect.get(values, name))));

/** `?a=1&b=2` of the values that are set; empty without any. */
export const queryText = (query: object = {}): string => {
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  return set.length === 0 ? '' : `?${new URLSearchParams(set.map(([name, value]) => [name, String(value)]))}`;
};

/** The address of an operation, for instance of a CSV. */
export const addressOf = <P extends PathOf<'get'>>(path: P, ...[input]: Rest<P, 'get'>): string => {
  const { path: values = {}, query } = partsOf(input);
  return filled(path, values) + queryText(query);
};

const request = async (method: Method, path: string, given: Loose) => {
  const response = await send(filled(path, given.path ?? {}) + queryText(given.query), {
    method: method.toUpperCase(),
    ...(given.signal === undefined ? {} : { signal: given.signal }),
    ...(given.body === undefined ? {} : { body: JSON.stringify(given.body) }),
    headers: {
      Accept: 'application/json',
      ...(given.body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(given.etag === undefined ? {} : { 'If-Match': given.etag }),
    },
  });
  return { data: await response.json(), etag: response.headers.get('ETag') ?? undefined };
};

/** Calls an operation: its JSON and its ETag. */
export const call = <M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  ...[input]: Rest<P, M>
): Promise<{ data: Answer<P, M>; etag: string | undefined }> => request(method, path, partsOf(input));

export const get = async <P extends PathOf<'get'>>(path: P, ...[input]: Rest<P, 'get'>): Promise<Answer<P>> =>
  (await request('get', path, partsOf(input))).data;

/** The same by a POST that only reads, until the signal aborts it. */
export const ask = async <P extends PathOf<'post'>>(
  path: P,
  body: BodyOf<P> | undefined,
  signal: AbortSignal,
): Promise<Answer<P, 'post'>> => (await request('post', path, { body, signal })).data;

/** The same until the signal aborts it. */
export const read = async <P extends PathOf<'get'>>(
  path: P,
  input: Input<P, 'get'>,
  signal: AbortSignal,
): Promise<Answer<P>> => (await request('get', path, { ...partsOf(input), signal })).data;
