import type { z } from 'zod';
import type { Records } from '../records/store.ts';
import {
  applicationPolicyChangeSchema,
  type EffectivePolicy,
  setApplicationPolicy,
  setSourcePolicy,
  showApplicationPolicy,
  showSourcePolicy,
  sourcePolicyChangeSchema,
} from '../reports/policies.ts';
import { policy } from './contract.ts';
import type { ApiDeps } from './deps.ts';
import { type Answer, type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';

type Policies<B extends z.ZodType> = {
  readonly path: string;
  readonly kind: 'source_policy' | 'application_policy';
  readonly body: B;
  readonly show: (records: Records, id: number) => Promise<EffectivePolicy>;
  readonly set: (
    records: Records,
    id: number,
    change: z.output<B>,
    revision: number | undefined,
  ) => Promise<EffectivePolicy>;
};

const tag = 'Policies';

const shown = ({ policy: values, signals, own, revision }: EffectivePolicy): Answer => ({
  body: { policy: values, ...(signals === undefined ? {} : { signals }), own },
  revision,
});

const policyEndpoints = <B extends z.ZodType>({ path, kind, body, show, set }: Policies<B>): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: `${path}/{id}/policy`,
    tag,
    summary: 'Shows the effective policy: windows, limits, retention',
    hasEtag: true,
    role: 'viewer',
    params: idParams,
    answer: policy,
    run: async ({ params, records }) => shown(await show(records, params.id)),
  }),
  endpoint({
    method: 'PATCH',
    path: `${path}/{id}/policy`,
    tag,
    summary: 'Changes a policy (JSON merge patch): "off" = no limit, null = the value of the pipeline file',
    role: 'editor',
    params: idParams,
    body,
    answer: policy,
    revisionOf: ({ id }, records) => show(records, id),
    audit: ({ id }) => ({ action: `${kind}.change`, kind, id: String(id) }),
    run: async (input) => shown(await set(input.records, input.params.id, input.body, input.revision)),
  }),
];

/** …/policy of data sources and applications; receivers follow within a second. */
export const allPolicyEndpoints = (deps: ApiDeps): Endpoint[] => [
  ...policyEndpoints({
    path: '/api/v1/data-sources',
    kind: 'source_policy',
    body: sourcePolicyChangeSchema,
    show: (records, id) => showSourcePolicy(records, deps.policyDefaults, id),
    set: (records, id, change, revision) =>
      setSourcePolicy({ ...deps, records }, deps.policyDefaults, id, change, revision),
  }),
  ...policyEndpoints({
    path: '/api/v1/applications',
    kind: 'application_policy',
    body: applicationPolicyChangeSchema,
    show: (records, id) => showApplicationPolicy(records, deps.policyDefaults, id),
    set: (records, id, change, revision) =>
      setApplicationPolicy(records, deps.policyDefaults, id, change, revision),
  }),
];
