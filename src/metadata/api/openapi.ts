import { isDeepStrictEqual } from 'node:util';
import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import type { Endpoint } from './endpoint.ts';
import { problemAnswer, text } from './openapi-answers.ts';
import { exampleOf } from './openapi-examples.ts';
import { nodeTokenScheme, pollingRoute } from './polling-route.ts';

const title = 'Tidemark admin API';
const version = '1';
const description = `Records of custom reports and applications, their tokens, limits and policies, and the refresh job.

Every call needs \`Authorization: Bearer <admin token>\`; what a token may do follows from its role. Only \`/v1/subscriptions/{biz}\`
needs a node token. Errors are problem+json (RFC 9457)
with a stable \`code\`. A body is JSON in UTF-8; its Content-Type is ignored, and of a repeated field the last one counts. Unknown fields and unknown query parameters are
refused with 422; another method than those listed is a 405 with Allow. HEAD is allowed where GET is. A 503 comes with Retry-After:
the same call may be sent again.`;

const hasBody = ({ schemas }: Endpoint): boolean => !(schemas.body instanceof z.ZodUndefined);

/** The errors that an endpoint may answer with, by its inputs. */
const problemsOf = (endpoint: Endpoint) => {
  const { path, method, isConditional, isLimited, isWrite, namesRecord, isQuery } = endpoint;
  return {
    401: problemAnswer('No valid admin token', { 'WWW-Authenticate': text('Bearer') }),
    403: problemAnswer('The role of the token does not allow this'),
    422: problemAnswer('A value is invalid; the answer names the field'),
    503: problemAnswer('A dependency is not available; the same call may be repeated', {
      'Retry-After': text('Seconds to wait'),
    }),
    ...(path.includes('{') || namesRecord === true || isQuery === true
      ? { 404: problemAnswer('The record does not exist') }
      : {}),
    ...(hasBody(endpoint) ? { 400: problemAnswer('The body is not JSON') } : {}),
    ...(method === 'GET' ? {} : { 413: problemAnswer('The body is too large') }),
    ...((isWrite && method !== 'GET') || isQuery === true
      ? { 409: problemAnswer('The state of the records does not allow this') }
      : {}),
    ...(isQuery === true
      ? {
          429: problemAnswer('Too many queries at once', { 'Retry-After': text('Seconds to wait') }),
          504: problemAnswer('The query took too long'),
        }
      : {}),
    ...(isLimited
      ? { 429: problemAnswer('The token has to wait', { 'Retry-After': text('Seconds to wait') }) }
      : {}),
    ...(isConditional ? { 412: problemAnswer('The ETag of the record differs from If-Match') } : {}),
  };
};

const ifMatch = z
  .string()
  .optional()
  .meta({
    description: 'The expected ETag of the record, a list of ETags of which it has to have one, or `*`',
    examples: ['"17"', '"17", "19"', '*'],
  });

/** A parameter in the type that its caller means, although a URL has only text. */
const readAs = (schema: z.ZodType): z.ZodType => {
  if (schema instanceof z.ZodOptional) {
    const inner = schema.unwrap();
    return inner instanceof z.ZodType ? readAs(inner).optional() : schema;
  }
  if (schema instanceof z.ZodDefault) {
    const inner = schema.unwrap();
    return inner instanceof z.ZodType ? readAs(inner).default(schema.def.defaultValue) : schema;
  }
  if (schema instanceof z.ZodPipe) {
    const { in: from, out: to } = schema;
    if (!(to instanceof z.ZodTransform) && to instanceof z.ZodType) return readAs(to);
    return from instanceof z.ZodType ? readAs(from) : schema;
  }
  return schema;
};

const parametersOf = (schema: z.ZodType): z.ZodObject | undefined => {
  if (!(schema instanceof z.ZodObject)) return undefined;
  const fields = Object.entries(schema.shape).map(([name, field]) => [
    name,
    field instanceof z.ZodType ? readAs(field) : field,
  ]);
  return z.object(Object.fromEntries(fields));
};

const mediaTypesOf = ({ method }: Endpoint): string[] =>
  method === 'PATCH' ? ['application/merge-patch+json', 'application/json'] : ['application/json'];

const requestOf = (endpoint: Endpoint) => {
  const { body } = endpoint.schemas;
  const params = parametersOf(endpoint.schemas.params);
  const query = parametersOf(endpoint.schemas.query);
  // An empty body counts as {}, but of a PATCH.
  const isRequired = endpoint.method === 'PATCH' || !body.safeParse({}).success;
  const content = Object.fromEntries(mediaTypesOf(endpoint).map((type) => [type, { schema: body }]));
  return {
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { query }),
    ...(endpoint.isConditional ? { headers: z.object({ 'If-Match': ifMatch }) } : {}),
    ...(hasBody(endpoint) ? { body: { content, required: isRequired } } : {}),
  };
};

/** `get_custom_reports_by_id_records`; the operations of the specification keep their own names. */
const operationIdOf = ({ method, path }: Endpoint): string => {
  const operation = /^\/operations\/(.+)$/.exec(path)?.[1];
  if (operation !== undefined) return operation;
  const words = path
    .replace(/^\/api\/v1\//, '')
    .replaceAll(/\{(\w+)\}/g, 'by_$1')
    .replaceAll(/\W+/g, '_');
  return `${method.toLowerCase()}_${words}`;
};

const csvNote =
  'The same rows, their fields as columns; RFC 4180. A text that a spreadsheet would run as a formula begins with an apostrophe.';

const methods = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const;

const routeOf = (endpoint: Endpoint): RouteConfig => ({
  method: methods[endpoint.method],
  path: endpoint.path,
  operationId: operationIdOf(endpoint),
  summary: endpoint.summary,
  tags: [endpoint.tag],
  description: `Needs the role ${endpoint.role}.`,
  security: [{ adminToken: [] }],
  request: requestOf(endpoint),
  responses: {
    200: {
      description: 'Done',
      headers: endpoint.hasEtag || endpoint.isConditional ? { ETag: text('The revision of the record') } : {},
      content: {
        'application/json': { schema: endpoint.answer },
        ...(endpoint.hasCsv ? { 'text/csv': { schema: z.string().meta({ description: csvNote }) } } : {}),
      },
    },
    ...problemsOf(endpoint),
  },
});

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const at = (value: unknown, ...path: string[]): Json => {
  let part = value;
  for (const name of path) part = isObject(part) ? part[name] : undefined;
  return isObject(part) ? part : {};
};

/** Adds an example beside the schema of every body, of requests and answers. */
const withExamples = (value: unknown, schemas: Json): unknown => {
  if (Array.isArray(value)) return value.map((part) => withExamples(part, schemas));
  if (!isObject(value)) return value;
  const parts = Object.entries(value).map(([name, part]) => [name, withExamples(part, schemas)]);
  if (!isObject(value['content'])) return Object.fromEntries(parts);
  const content = Object.entries(value['content']).map(([type, media]) => [
    type,
    { ...at(media), example: exampleOf(at(media, 'schema'), schemas) },
  ]);
  return { ...Object.fromEntries(parts), content: Object.fromEntries(content) };
};

/** The same document with each problem defined once: an error is the same in every answer. */
const withSharedProblems = (document: Json): Json => {
  const shared: Record<string, unknown> = {};
  const paths = Object.entries(at(document, 'paths')).map(([path, item]) => {
    const operations = Object.entries(at(item)).map(([method, operation]) => {
      const responses = Object.entries(at(operation, 'responses')).map(([status, response]) => {
        if (Number(status) < 400) return [status, response];
        shared[`Problem${status}`] ??= response;
        // Those of nodes differ.
        if (!isDeepStrictEqual(shared[`Problem${status}`], response)) return [status, response];
        return [status, { $ref: `#/components/responses/Problem${status}` }];
      });
      return [method, { ...at(operation), responses: Object.fromEntries(responses) }];
    });
    return [path, Object.fromEntries(operations)];
  });
  return {
    ...document,
    components: { ...at(document, 'components'), responses: shared },
    paths: Object.fromEntries(paths),
  };
};

/** The OpenAPI 3.1 document of these endpoints. */
export const openApiDocument = (endpoints: readonly Endpoint[]): object => {
  const registry = new OpenAPIRegistry();
  registry.registerComponent('securitySchemes', 'adminToken', {
    type: 'http',
    scheme: 'bearer',
    description:
      'A token of this API: the content of admin.token in the data folder of metadata, or an issued token',
  });
  registry.registerComponent('securitySchemes', nodeTokenScheme.name, nodeTokenScheme.scheme);
  for (const endpoint of endpoints) registry.registerPath(routeOf(endpoint));
  registry.registerPath(pollingRoute);
  const tags = [...new Set(endpoints.map(({ tag }) => tag)), ...pollingRoute.tags].map((name) => ({ name }));
  const info = { title, version, description };
  const generator = new OpenApiGeneratorV31(registry.definitions);
  const document: Json = { ...generator.generateDocument({ openapi: '3.1.0', info, tags }) };
  return at(withExamples(withSharedProblems(document), at(document, 'components', 'schemas')));
};
