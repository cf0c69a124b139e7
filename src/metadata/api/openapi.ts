import { createRoute, OpenAPIHono } from '@hono/zod-openapi';
import { z } from 'zod';
import { problem } from './answers.ts';
import type { Endpoint } from './endpoint.ts';

const title = 'Tidemark admin API';
const version = '1';

const problemAnswer = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: problem } },
});

/** The errors an endpoint may answer with, by what it takes. */
const problemsOf = ({ path, schemas, isConditional, isWrite }: Endpoint) => {
  const hasBody = !(schemas.body instanceof z.ZodUndefined);
  const hasInput = hasBody || !(schemas.query instanceof z.ZodUndefined);
  return {
    401: problemAnswer('No valid admin token'),
    403: problemAnswer('The role of the token does not allow this'),
    503: problemAnswer('A dependency is away; the same call may be sent again'),
    ...(path.includes('{') ? { 404: problemAnswer('There is no such record') } : {}),
    ...(hasInput ? { 422: problemAnswer('A value cannot be used; the field is named') } : {}),
    ...(hasBody
      ? { 400: problemAnswer('The body is not JSON'), 413: problemAnswer('The body is too large') }
      : {}),
    ...(isWrite ? { 409: problemAnswer('The state of the records does not allow this') } : {}),
    ...(isConditional ? { 412: problemAnswer('The record has another ETag than If-Match names') } : {}),
  };
};

const headersOf = ({ isConditional }: Endpoint) =>
  isConditional ? { headers: z.object({ 'If-Match': z.string().optional().meta({ example: '"17"' }) }) } : {};

/** An id in a path is an integer to whoever calls, though a path has only text. */
const paramsOf = ({ path }: Endpoint) => {
  const name = /\{(\w+)\}/.exec(path)?.[1];
  if (name === undefined) return {};
  const isText = path.startsWith('/api/v1/result-tables');
  const schema = isText ? z.string().min(1).max(256) : z.int().positive().max(2_147_483_647);
  return { params: z.object({ [name]: schema }) };
};

const mediaTypesOf = ({ method }: Endpoint): string[] =>
  method === 'PATCH' ? ['application/merge-patch+json', 'application/json'] : ['application/json'];

const bodyOf = (endpoint: Endpoint) => {
  const { body } = endpoint.schemas;
  if (body instanceof z.ZodUndefined) return {};
  const isRequired = !body.safeParse({}).success;
  const content = Object.fromEntries(mediaTypesOf(endpoint).map((type) => [type, { schema: body }]));
  return { body: { content, required: isRequired } };
};

const routeOf = (endpoint: Endpoint) => {
  const { query } = endpoint.schemas;
  return createRoute({
    method: methods[endpoint.method],
    path: endpoint.path,
    summary: endpoint.summary,
    tags: [endpoint.tag],
    description: `Needs the role ${endpoint.role}.`,
    security: [{ adminToken: [] }],
    request: {
      ...paramsOf(endpoint),
      ...(query instanceof z.ZodObject ? { query } : {}),
      ...headersOf(endpoint),
      ...bodyOf(endpoint),
    },
    responses: {
      200: { description: 'Done', content: { 'application/json': { schema: endpoint.answer } } },
      ...problemsOf(endpoint),
    },
  });
};

const methods = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const;

/** The OpenAPI 3.1 document of these endpoints. */
export const openApiDocument = (endpoints: readonly Endpoint[]): object => {
  const { openAPIRegistry: registry, getOpenAPI31Document } = new OpenAPIHono();
  registry.registerComponent('securitySchemes', 'adminToken', { type: 'http', scheme: 'bearer' });
  for (const endpoint of endpoints) registry.registerPath(routeOf(endpoint));
  return getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title,
      version,
      description:
        'Records of custom reports and applications, their tokens, limits and policies, and the refresh job.',
    },
  });
};
