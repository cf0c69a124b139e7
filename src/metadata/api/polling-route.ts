import type { RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { bizForm, cursorForm, nodeSubscriptionsSchema, pollingPath } from '../refresh/polling-endpoint.ts';
import { problemAnswer, text } from './openapi-answers.ts';

/** How nodes prove who they are. */
export const nodeTokenScheme = {
  name: 'nodeToken',
  scheme: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A token with the role node, of one business or of all: tidemark admin-token create --role node. It can do nothing else.',
  },
} as const;

const etag = text('The state of all files of the business; the same on every page');

/** The contract with nodes that write the files of collectors (docs/collectors.md). */
export const pollingRoute = {
  method: 'get',
  path: pollingPath,
  operationId: 'get_node_subscriptions',
  summary: 'Lists the files of the collectors of a business, with their access tokens',
  tags: ['Nodes'],
  description:
    'Needs a node token of the business, or of all businesses. With a token of all, business 0 has the files of all. Remove files that are no longer listed.',
  security: [{ [nodeTokenScheme.name]: [] }],
  request: {
    params: z.object({
      biz: z
        .string()
        .regex(bizForm)
        .meta({ description: 'The business', examples: ['2'] }),
    }),
    query: z.object({
      limit: z.int().min(1).max(1000).default(1000),
      cursor: z
        .string()
        .regex(cursorForm)
        .optional()
        .meta({
          description: 'next_cursor of the previous page',
          examples: ['1000.0123456789abcdef0123456789abcdef'],
        }),
    }),
    headers: z.object({
      'If-None-Match': z
        .string()
        .optional()
        .meta({
          description: 'The ETag of the last reading',
          examples: ['"0123456789abcdef0123456789abcdef"'],
        }),
    }),
  },
  responses: {
    200: {
      description: 'A page of the files',
      headers: { ETag: etag },
      content: { 'application/json': { schema: nodeSubscriptionsSchema.meta({ id: 'NodeSubscriptions' }) } },
    },
    304: { description: 'No file has changed since that ETag', headers: { ETag: etag } },
    401: problemAnswer('No valid node token', { 'WWW-Authenticate': text('Bearer') }),
    403: problemAnswer('The node token belongs to another business'),
    404: problemAnswer('The business is not an integer'),
    409: problemAnswer('The files changed between two pages: start again with the first'),
    422: problemAnswer('A value is invalid; the answer names the field'),
    503: problemAnswer('A dependency is not available; the same call may be repeated', {
      'Retry-After': text('Seconds to wait'),
    }),
  },
} satisfies RouteConfig;
