import { z } from 'zod';
import { type ApplicationPipeline, applicationPipelines } from '../../model/signals.ts';
import { bySignal, type PolicyDefaults, valuesOfAll } from '../reports/policies.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';

const value = z
  .union([z.number(), z.boolean(), z.enum(['off', bySignal])])
  .meta({ description: 'off: no limit; by_signal: the signals of an application differ', examples: [1000] });

const deploymentDefault = z
  .strictObject({
    value,
    origin: z.string().meta({
      description:
        'Where metadata has it from: the variable, the place in the settings file, `tidemark up`, `default`, or the pipeline files',
      examples: ['default'],
    }),
  })
  .meta({ id: 'DeploymentDefault' });

const rateSetting = 'TIDEMARK_MAX_RATE_DEFAULT';

/** Fields that no pipeline file has. */
const builtIn: readonly string[] = ['deduplicate', 'fill_dimensions'];

/** A retention depends on when its owner was created; it has calls of its own. */
const retention = 'retention_days';

/** What metadata has of these values; `originOf` names the file of a field. */
const shown = (
  values: Readonly<Record<string, number | boolean | string | null>>,
  originOf: (field: string) => string,
) =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([field]) => field !== retention)
      .map(([field, each]) => [
        field,
        { value: each ?? 'off', origin: builtIn.includes(field) ? 'default' : originOf(field) },
      ]),
  );

/** The defaults of the signals of an application: of each, and of all together. */
const applicationDefaults = (application: PolicyDefaults['application']) => {
  const fileOf = (pipeline: ApplicationPipeline): string => `${pipeline}.yaml`;
  const filesWith = (field: string): string =>
    applicationPipelines
      .filter((pipeline) => field in application[pipeline])
      .map(fileOf)
      .join(', ');
  return {
    application: shown(valuesOfAll<number | boolean | null>(application), filesWith),
    signals: Object.fromEntries(
      applicationPipelines.map((pipeline) => [
        pipeline,
        shown(application[pipeline], () => fileOf(pipeline)),
      ]),
    ),
  };
};

/** What holds where a record has no value of its own, as this deployment has it. */
export const defaultEndpoints = ({ inspected, policyDefaults }: ApiDeps): Endpoint[] => {
  const sourceOf = (name: string): string =>
    inspected.settings.find(({ setting }) => setting === name)?.source ?? 'default';

  return [
    endpoint({
      method: 'GET',
      path: '/api/v1/defaults',
      tag: 'Policies',
      summary:
        'Shows what holds where a record has no value of its own: the rate behind max_rate -1, and the fields of policies but their retention',
      role: 'viewer',
      answer: z.strictObject({
        max_rate: deploymentDefault.meta({ description: 'Requests per second; 0 is unlimited' }),
        data_id: z.record(z.string(), deploymentDefault),
        application: z.record(z.string(), deploymentDefault),
        signals: z.record(z.string(), z.record(z.string(), deploymentDefault)).meta({
          description: 'The same for each signal of an application, by pipeline',
        }),
      }),
      run: async () => ({
        body: {
          max_rate: { value: inspected.maxRateDefault, origin: sourceOf(rateSetting) },
          data_id: shown(policyDefaults.source, () => 'metrics.yaml'),
          ...applicationDefaults(policyDefaults.application),
        },
      }),
    }),
  ];
};
