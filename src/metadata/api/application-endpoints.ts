import { z } from 'zod';
import type { Application } from '../../directory/records.ts';
import { systemOwners } from '../../directory/system-owners.ts';
import { askedId } from '../records/listing.ts';
import { masked } from '../records/masking.ts';
import {
  actionRequestSchema,
  applicationChangeSchema,
  applicationRequestSchema,
} from '../records/requests.ts';
import { patchApplication } from '../reports/changes.ts';
import { deleteApplication, setApplicationEnabled } from '../reports/life-cycle.ts';
import { createApplication } from '../reports/operations.ts';
import { application, createdApplication } from './contract.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';
import { changing, type Kind, listing, showing, switching } from './record-kind.ts';

const applications: Kind<Application, typeof idParams> = {
  path: '/api/v1/applications',
  tag: 'Applications',
  kind: 'application',
  actions: 'application',
  answer: application,
  filters: {
    mon_biz_id: 'integer',
    app_id: 'integer',
    app_name: 'text',
    name: 'text',
    is_enable: 'flag',
    is_delete: 'flag',
  },
  derivedOf: () => ({ name: ({ app_name }) => app_name }),
  searched:
    () =>
    ({ app_name: name, app_id: id, mon_biz_id: biz }) => ({ name, id, biz }),
  systemIds: (records) => systemOwners(records).appIds,
  namedId: (_, query) => askedId(query, 'app_id'),
  params: idParams,
  setOf: (records) => records.applications,
  idOf: async (_, { id }) => id,
  changed: z.strictObject({ application }),
  showChanged: ({ value, revision }) => ({ body: { application: masked(value) }, revision }),
};

/** /api/v1/applications: the owners of write tokens of traces. */
export const applicationEndpoints = (deps: ApiDeps): Endpoint[] => [
  listing(applications, 'Lists applications by ascending id'),
  endpoint({
    method: 'POST',
    path: applications.path,
    tag: applications.tag,
    summary: 'Creates an application with its write token',
    role: 'editor',
    body: applicationRequestSchema,
    answer: z.strictObject({ application: createdApplication }),
    audit: () => ({ action: 'application.create', kind: 'application', id: undefined }),
    run: async ({ body, author, records }) => ({
      body: { application: await createApplication({ ...deps, records }, { ...body, operator: author }) },
    }),
  }),
  showing(applications, 'Shows an application'),
  changing(applications, {
    method: 'PATCH',
    action: 'application.change',
    summary: 'Changes fields of an application (JSON merge patch)',
    body: z.looseObject(applicationChangeSchema.shape),
    change: patchApplication,
  }),
  ...switching(
    applications,
    (isEnabled) =>
      isEnabled
        ? 'Accepts traces, logs and metrics of an application again'
        : 'Refuses traces, logs and metrics of an application',
    setApplicationEnabled,
  ),
  changing(applications, {
    method: 'DELETE',
    action: 'application.delete',
    summary: 'Deletes an application and frees its name; cannot be undone',
    body: actionRequestSchema,
    change: (records, appId, _, by) => deleteApplication(records, appId, by),
  }),
];
