import { z } from 'zod';
import type { Application } from '../../directory/records.ts';
import { systemOwners } from '../../directory/system-owners.ts';
import { listRecords, recordQuerySchema } from '../records/listing.ts';
import { hidden, masked } from '../records/masking.ts';
import {
  actionRequestSchema,
  applicationChangeSchema,
  applicationRequestSchema,
} from '../records/requests.ts';
import { existing, type Records, type Versioned } from '../records/store.ts';
import { patchApplication } from '../reports/changes.ts';
import { deleteApplication, setApplicationEnabled } from '../reports/life-cycle.ts';
import { createApplication } from '../reports/operations.ts';
import { application, createdApplication, pageOf } from './contract.ts';
import type { ApiDeps } from './deps.ts';
import { type Answer, type AuditTarget, type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';

const tag = 'Applications';
const path = '/api/v1/applications';

const shown = ({ value, revision }: Versioned<Application>): Answer => ({
  body: { application: masked(value) },
  revision,
});

const changed = {
  tag,
  role: 'editor',
  params: idParams,
  answer: z.strictObject({ application }),
  revisionOf: async ({ id }: { id: number }, records: Records): Promise<number> =>
    (await existing(records.applications, id)).revision,
} as const;

const audit =
  (verb: 'change' | 'enable' | 'disable' | 'delete') =>
  ({ id }: { id: number }): AuditTarget => ({
    action: `application.${verb}`,
    kind: 'application',
    id: String(id),
  });

const switchTo = (isEnabled: boolean): Endpoint => {
  const verb = isEnabled ? 'enable' : 'disable';
  return endpoint({
    ...changed,
    method: 'POST',
    path: `${path}/{id}/${verb}`,
    summary: isEnabled
      ? 'Accepts traces, logs and metrics of an application again'
      : 'Refuses traces, logs and metrics of an application',
    body: actionRequestSchema,
    audit: audit(verb),
    run: async ({ params, author, revision, records }) =>
      shown(await setApplicationEnabled(records, params.id, isEnabled, { operator: author, revision })),
  });
};

/** /api/v1/applications: the owners of write tokens of traces. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of endpoints.
export const applicationEndpoints = (deps: ApiDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path,
    tag,
    summary: 'Lists applications by ascending id',
    role: 'viewer',
    query: recordQuerySchema({
      mon_biz_id: 'integer',
      app_id: 'integer',
      app_name: 'text',
      name: 'text',
      is_enable: 'flag',
      is_delete: 'flag',
    }),
    answer: pageOf(application),
    run: async ({ query, records }) => ({
      body: listRecords(records.applications, query, {
        derived: { name: ({ app_name }) => app_name },
        show: hidden,
        systemIds: systemOwners(records).appIds,
      }),
    }),
  }),
  endpoint({
    method: 'POST',
    path,
    tag,
    summary: 'Creates an application with its write token',
    role: 'editor',
    body: applicationRequestSchema,
    answer: z.strictObject({ application: createdApplication }),
    audit: () => ({ action: 'application.create', kind: 'application', id: undefined }),
    run: async ({ body, author, records }) => ({
      body: { application: await createApplication({ ...deps, records }, { ...body, operator: author }) },
    }),
  }),
  endpoint({
    method: 'GET',
    path: `${path}/{id}`,
    tag,
    summary: 'Shows an application',
    hasEtag: true,
    role: 'viewer',
    params: idParams,
    answer: application,
    run: async ({ params, records }) => {
      const { value, revision } = await existing(records.applications, params.id);
      return { body: masked(value), revision };
    },
  }),
  endpoint({
    ...changed,
    method: 'PATCH',
    path: `${path}/{id}`,
    summary: 'Changes fields of an application (JSON merge patch)',
    body: z.looseObject(applicationChangeSchema.shape),
    audit: audit('change'),
    run: async ({ params, body, revision, author, records }) =>
      shown(await patchApplication(records, params.id, body, { operator: author, revision })),
  }),
  switchTo(true),
  switchTo(false),
  endpoint({
    ...changed,
    method: 'DELETE',
    path: `${path}/{id}`,
    summary: 'Deletes an application and frees its name; cannot be undone',
    body: actionRequestSchema,
    audit: audit('delete'),
    run: async ({ params, author, revision, records }) =>
      shown(await deleteApplication(records, params.id, { operator: author, revision })),
  }),
];
