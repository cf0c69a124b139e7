import { z } from 'zod';
import { fillSnippet, readSnippet, snippets } from '../../config/snippets.ts';
import { isOfApplications, pipelines } from '../../model/signals.ts';
import { actionRequestSchema } from '../records/requests.ts';
import { existing, type Records } from '../records/store.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';
import { ownerOf, ownerQuery, refuseUnknownOwner } from './queries.ts';

const snippet = z
  .strictObject({
    pipeline: z.enum(pipelines),
    name: z.string().meta({ examples: ['curl'] }),
    title: z.string(),
    language: z.string().meta({ description: 'As Markdown names it', examples: ['sh'] }),
    needs: z.string().meta({ description: 'Markdown; empty where it needs nothing' }),
    text: z.string(),
  })
  .meta({ id: 'Snippet' });

const answer = z
  .strictObject({
    push_url: z.string().meta({ description: 'The push receiver, without a path' }),
    otlp_url: z.string().meta({ description: 'The OTLP receiver, without a path' }),
    grpc_url: z
      .string()
      .nullable()
      .meta({ description: 'The OTLP receiver over gRPC; null where there is none' }),
    items: z.array(snippet),
  })
  .meta({ id: 'Snippets' });

type Owner = { readonly dataId?: number | undefined; readonly appId?: number | undefined };

/** The snippets of an owner, or all of them without one. */
const filled = (
  { inspected: { receivers, schemasFolder } }: ApiDeps,
  host: string | undefined,
  { dataId, appId }: Owner,
  token?: string,
) => {
  const urls = receivers(host);
  const items = snippets
    .filter(({ pipeline }) => (isOfApplications(pipeline) ? dataId === undefined : appId === undefined))
    .filter(({ isGrpc }) => isGrpc !== true || urls.grpc !== undefined)
    .map(({ file, isGrpc: _, ...shown }) => ({
      ...shown,
      text: fillSnippet(readSnippet(schemasFolder, { ...shown, file }), { ...urls, dataId, token }),
    }));
  return { push_url: urls.push, otlp_url: urls.otlp, grpc_url: urls.grpc ?? null, items };
};

const shownEndpoint = (deps: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/snippets',
    tag: 'Snippets',
    summary:
      'Shows what a producer runs to send its first item, with addresses and id, and <token> for the token',
    role: 'viewer',
    namesRecord: true,
    query: z.strictObject(ownerQuery),
    answer,
    run: async ({ query, records, host }) => {
      const owner = ownerOf(query);
      await refuseUnknownOwner(records, query);
      return { body: filled(deps, host, owner) };
    },
  });

type Revealing = {
  readonly path: string;
  readonly tag: string;
  readonly kind: 'data_source' | 'application';
  readonly ownerOf: (id: number) => Owner;
  readonly tokenOf: (records: Records, id: number) => Promise<string>;
};

const revealedEndpoint = (deps: ApiDeps, { path, tag, kind, ...owner }: Revealing): Endpoint =>
  endpoint({
    method: 'POST',
    path: `${path}/{id}/reveal-snippets`,
    tag,
    summary: 'Shows the same snippets with the token; the audit log records it like reveal-token',
    role: 'editor',
    needsProof: true,
    params: idParams,
    body: actionRequestSchema,
    answer,
    audit: ({ id }) => ({ action: `${kind}.reveal_token`, kind, id: String(id) }),
    run: async ({ params, records, host }) => {
      const token = await owner.tokenOf(records, params.id);
      return { body: filled(deps, host, owner.ownerOf(params.id), token) };
    },
  });

/** Snippets for producers: without a token for everybody, and with it for those who may see it. */
export const snippetEndpoints = (deps: ApiDeps): Endpoint[] => [
  shownEndpoint(deps),
  revealedEndpoint(deps, {
    path: '/api/v1/data-sources',
    tag: 'Data sources',
    kind: 'data_source',
    ownerOf: (dataId) => ({ dataId }),
    tokenOf: async (records, id) => (await existing(records.dataSources, id)).value.token,
  }),
  revealedEndpoint(deps, {
    path: '/api/v1/applications',
    tag: 'Applications',
    kind: 'application',
    ownerOf: (appId) => ({ appId }),
    tokenOf: async (records, id) => (await existing(records.applications, id)).value.token,
  }),
];
