import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { buildGo } from '../clients/builds.ts';

const run = promisify(execFile);

const labels = z.record(z.string(), z.string()).default({});
const probe = z.looseObject({ httpGet: z.looseObject({ path: z.string(), port: z.string() }) }).optional();
const container = z.looseObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()).default([]),
  envFrom: z.array(z.object({ configMapRef: z.object({ name: z.string() }) })).default([]),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  lifecycle: z.object({ preStop: z.object({ sleep: z.object({ seconds: z.number() }) }) }).optional(),
  resources: z.object({
    requests: z.object({ cpu: z.string(), memory: z.string() }),
    limits: z.object({ memory: z.string() }),
  }),
  securityContext: z.looseObject({ readOnlyRootFilesystem: z.boolean().optional() }),
  volumeMounts: z
    .array(z.looseObject({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().default(false) }))
    .default([]),
});
const podTemplate = z.object({
  metadata: z.looseObject({ labels }),
  spec: z.looseObject({
    terminationGracePeriodSeconds: z.number().optional(),
    securityContext: z.looseObject({ runAsNonRoot: z.literal(true), runAsUser: z.number() }),
    containers: z.tuple([container]),
    volumes: z
      .array(
        z.looseObject({
          name: z.string(),
          secret: z.object({ secretName: z.string() }).optional(),
          configMap: z.looseObject({ name: z.string() }).optional(),
          persistentVolumeClaim: z.object({ claimName: z.string() }).optional(),
        }),
      )
      .default([]),
  }),
});
const jobTemplate = z.looseObject({ spec: z.looseObject({ template: podTemplate }) });
const resource = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional(), labels }),
  spec: z.looseObject({}).default({}),
  data: z.record(z.string(), z.string()).optional(),
});
const reportSchema = z.object({
  folder: z.string(),
  resources: z.array(resource),
  problems: z.array(z.string()),
});

export type Resource = z.output<typeof resource>;
export type ManifestReport = z.output<typeof reportSchema>;
export type Pod = z.output<typeof podTemplate>;

/** The program that builds with kustomize and decodes into the types of Kubernetes and KEDA; built by the first call and kept. */
export const manifestsProgram = (): Promise<string> =>
  buildGo('kubernetes', join(import.meta.dirname, '../../deploy'), []);

/** What these folders are made into, and what is wrong with it. */
export const buildManifests = async (...folders: readonly string[]): Promise<ManifestReport[]> => {
  const { stdout } = await run(await manifestsProgram(), [...folders], { maxBuffer: 2 ** 26 });
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => reportSchema.parse(JSON.parse(line)));
};

export const ofKind = (resources: readonly Resource[], ...kinds: readonly string[]): Resource[] =>
  resources.filter(({ kind }) => kinds.includes(kind));

/** The pods that these resources make, by the name of their resource. */
export const podsOf = (resources: readonly Resource[]): Map<string, Pod> =>
  new Map([
    ...ofKind(resources, 'Deployment', 'StatefulSet', 'Job').map(({ metadata, spec }): [string, Pod] => [
      metadata.name,
      podTemplate.parse(spec['template']),
    ]),
    ...ofKind(resources, 'CronJob').map(({ metadata, spec }): [string, Pod] => [
      metadata.name,
      jobTemplate.parse(spec['jobTemplate']).spec.template,
    ]),
  ]);
