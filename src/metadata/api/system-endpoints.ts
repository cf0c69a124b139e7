import { z } from 'zod';
import { secondsMax } from '../../outcomes/times.ts';
import { auditFilters } from '../audit/actions.ts';
import { auditEntrySchema } from '../audit/entry.ts';
import { notFound } from '../problem.ts';
import { listQuerySchema, pageOf as page, pageQuery } from '../records/listing.ts';
import { actionRequestSchema, int32, operator } from '../records/requests.ts';
import { tokenName } from '../records/texts.ts';
import { adminTokenSchema } from '../tokens/admin-token-state.ts';
import { adminRoles } from '../tokens/roles.ts';
import { pageOf } from './contract.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';

const adminToken = adminTokenSchema.meta({ id: 'AdminToken' });

const adminTokenRequestSchema = z.strictObject({
  name: tokenName().meta({
    description:
      'No control, bidirectional or invisible characters, and not the word `via`; white space at its ends is removed',
    examples: ['deployment'],
  }),
  role: z.enum(adminRoles, `must be one of ${adminRoles.join(', ')}`),
  mon_biz_id: z.int('must be an integer').min(int32.first).max(int32.last).nullable().optional(),
  expires_at: z
    .int('must be an integer: Unix seconds')
    .positive()
    .max(secondsMax, `must be at most ${secondsMax}, in Unix seconds; null = never`)
    .nullable()
    .optional(),
  operator,
});

const issuedToken = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .meta({ description: 'The token itself', examples: ['0123456789abcdef'.repeat(4)] });

const auditEntry = auditEntrySchema.meta({ id: 'AuditEntry' });

const auditIdParams = z.strictObject({
  id: z.string().min(1).max(64).meta({ description: 'The audit_id' }),
});

const auditEndpoints = ({ audit }: ApiDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/v1/audit',
    tag: 'Audit',
    summary: 'Lists changes with their actors, newest first; a short page may have a cursor, too',
    role: 'viewer',
    query: z.strictObject({
      ...pageQuery,
      ...auditFilters,
      target_id: z.string().max(256).optional(),
      actor: z.string().max(64).optional(),
    }),
    answer: pageOf(auditEntry),
    run: async ({ query }) => ({ body: await audit.list(query) }),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/audit/{id}',
    tag: 'Audit',
    summary: 'Shows one entry of the audit log',
    role: 'viewer',
    params: auditIdParams,
    answer: auditEntry,
    run: async ({ params }) => {
      const entry = await audit.get(params.id);
      if (entry !== undefined) return { body: entry };
      throw notFound(`audit entry ${params.id}`);
    },
  }),
];

const readAdminTokens = ({ adminTokens }: ApiDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/v1/admin-tokens',
    tag: 'Admin tokens',
    summary: 'Lists the tokens of this API, without their values',
    role: 'admin',
    query: listQuerySchema({}),
    answer: pageOf(adminToken),
    run: async ({ query }) => {
      const tokens = await adminTokens.list();
      return {
        body: page(
          tokens.map((value) => ({ id: value.token_id, value })),
          query,
        ),
      };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/admin-tokens/{id}',
    tag: 'Admin tokens',
    summary: 'Shows a token of this API, without its value',
    role: 'admin',
    params: idParams,
    answer: adminToken,
    run: async ({ params }) => ({ body: await adminTokens.get(params.id) }),
  }),
];

const changeAdminTokens = ({ adminTokens }: ApiDeps): Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/api/v1/admin-tokens',
    tag: 'Admin tokens',
    summary: 'Issues a token of this API, shown only once; a node token only polls subscriptions',
    role: 'admin',
    needsProof: true,
    body: adminTokenRequestSchema,
    answer: z.strictObject({ admin_token: adminToken, token: issuedToken }),
    audit: () => ({ action: 'admin_token.create', kind: 'admin_token', id: undefined }),
    run: async ({ body: { operator: _, ...request }, author, note }) => {
      const { record, token } = await adminTokens.create({ ...request, creator: author });
      note({ kind: 'admin_token', id: String(record.token_id), before: undefined, after: record });
      return { body: { admin_token: record, token } };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/admin-tokens/{id}/revoke',
    tag: 'Admin tokens',
    summary: 'Revokes a token of this API for ever',
    role: 'admin',
    needsProof: true,
    params: idParams,
    body: actionRequestSchema,
    answer: adminToken,
    audit: ({ id }) => ({ action: 'admin_token.revoke', kind: 'admin_token', id: String(id) }),
    run: async ({ params, note }) => {
      const before = await adminTokens.get(params.id);
      const after = await adminTokens.revoke(params.id);
      note({ kind: 'admin_token', id: String(params.id), before, after });
      return { body: after };
    },
  }),
];

/** The endpoints of the API itself: its audit log and its tokens. */
export const systemEndpoints = (deps: ApiDeps): Endpoint[] => [
  ...auditEndpoints(deps),
  ...readAdminTokens(deps),
  ...changeAdminTokens(deps),
];
