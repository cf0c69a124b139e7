import { z } from 'zod';
import { reasons } from '../../model/reasons.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';

const tag = 'System';

const reason = z
  .strictObject({
    code: z.string(),
    of: z.enum(['request', 'item', 'value']).meta({ description: 'What the reason applies to' }),
    stage: z.enum(['receiver', 'transfer']),
    fixable_by: z.enum(['sender', 'operator', 'tidemark']),
    meaning: z.string(),
    remedy: z.string(),
  })
  .meta({ id: 'Reason' });

const reasonsEndpoint = (): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/reasons',
    tag: 'Outcomes',
    summary:
      'Lists every reason with its stage, meaning, remedy and who can fix it; a code may have several rows',
    role: 'viewer',
    answer: z.strictObject({ items: z.array(reason) }),
    run: async () => ({
      body: { items: reasons.map(({ fixableBy, ...row }) => ({ ...row, fixable_by: fixableBy })) },
    }),
  });

const finding = z
  .strictObject({
    name: z.string(),
    ok: z.boolean(),
    detail: z.string(),
    remedy: z.string().meta({ description: 'Empty where the check succeeded' }),
    ms: z.int(),
  })
  .meta({ id: 'Finding' });

const doctorEndpoint = ({ inspected }: ApiDeps): Endpoint =>
  endpoint({
    method: 'POST',
    path: '/api/v1/doctor',
    tag,
    summary:
      'Checks the dependencies that metadata reaches: NATS with its streams, QuestDB, ClickHouse, clocks, the books. It changes nothing and sends no items; `tidemark doctor` does. Calls at the same time share one run',
    role: 'viewer',
    answer: z.strictObject({
      at: z.int().meta({ description: 'Unix seconds: when the checks began' }),
      well: z.boolean(),
      findings: z.array(finding),
    }),
    run: async () => ({ body: await inspected.examine() }),
  });

const setting = z
  .strictObject({
    setting: z.string().meta({ description: 'The variable', examples: ['TIDEMARK_LOG_LEVEL'] }),
    value: z.string().nullable().meta({ description: 'Secrets are hidden; null: not set' }),
    source: z
      .string()
      .meta({ description: 'The variable, the place in the settings file, `default` or `not set`' }),
    meaning: z.string(),
  })
  .meta({ id: 'Setting' });

const settingsEndpoint = ({ inspected }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/settings',
    tag,
    summary: 'Lists the settings of this metadata process with the source of each; secrets are hidden',
    role: 'admin',
    answer: z.strictObject({ items: z.array(setting) }),
    run: async () => ({ body: { items: inspected.settings } }),
  });

/** What explains the state of the deployment: reasons, checks and settings. */
export const diagnosisEndpoints = (deps: ApiDeps): Endpoint[] => [
  reasonsEndpoint(),
  doctorEndpoint(deps),
  settingsEndpoint(deps),
];
