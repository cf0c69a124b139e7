import { resolve } from 'node:path';
import { withInstances } from '../../src/config/instance-streams.ts';
import { pipelineJsonSchemas } from '../../src/config/pipeline-files.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { natsUsersConf, natsUsersValues } from '../../src/directory/nats-user-files.ts';
import { recordSchemas } from '../../src/directory/records.ts';
import { consoleSchema } from './console-schema.ts';
import { examplesDocument } from './examples.ts';
import { metricsDocument } from './metrics.ts';
import { documentOfCode } from './openapi.ts';
import { prometheusRules } from './prometheus-rules.ts';
import { reasonDocument } from './reasons.ts';
import { recordDocs, recordJsonSchema } from './records.ts';
import { settingsDocument } from './settings.ts';
import { snippetsDocument } from './snippets.ts';

/** One file that follows from the code: its path in the repository, and its text, or the value of a JSON file. */
export type GeneratedFile = { readonly path: string } & (
  | { readonly text: string }
  | { readonly json: unknown }
);

/** With the second QuestDB instance of deploy/kubernetes/overlays/two-questdb. */
const shippedPipelines = () =>
  withInstances(loadPipelines(resolve(import.meta.dirname, '../../pipelines')), ['default', 'b']);

/** Every generated file; `make docs` writes all of them, and `make check` refuses a stale one. */
export const generatedFiles = async (): Promise<GeneratedFile[]> => [
  { path: 'deploy/kubernetes/base/rules.yaml', text: prometheusRules() },
  { path: 'deploy/kubernetes/values/nats-users.yaml', text: natsUsersValues(shippedPipelines()) },
  { path: 'deploy/nats/users.conf', text: natsUsersConf(shippedPipelines()) },
  { path: 'docs/metrics.md', text: await metricsDocument() },
  { path: 'docs/reasons.md', text: reasonDocument() },
  { path: 'docs/receivers/push.md', text: examplesDocument('push') },
  { path: 'docs/receivers/snippets.md', text: snippetsDocument() },
  { path: 'docs/receivers/traces.md', text: examplesDocument('traces') },
  { path: 'docs/receivers/logs.md', text: examplesDocument('logs') },
  { path: 'docs/receivers/metrics.md', text: examplesDocument('metrics') },
  { path: 'docs/records.md', text: recordDocs() },
  { path: 'docs/settings.md', text: settingsDocument() },
  { path: 'schemas/openapi/admin.json', json: await documentOfCode() },
  { path: 'console/src/api/schema.d.ts', text: await consoleSchema(await documentOfCode()) },
  ...Object.entries(recordSchemas).map(([name, schema]) => ({
    path: `schemas/records/${name}.schema.json`,
    json: recordJsonSchema(name, schema),
  })),
  ...Object.entries(pipelineJsonSchemas()).map(([name, json]) => ({ path: `schemas/${name}`, json })),
];

/** Members in their order count, blanks do not: `biome check` holds the format of JSON files. */
const isCurrent = (file: GeneratedFile, written: string): boolean => {
  if ('text' in file) return written === file.text;
  try {
    return JSON.stringify(JSON.parse(written)) === JSON.stringify(file.json);
  } catch {
    return false;
  }
};

/** The paths of those files that are missing or differ from the code. `read` returns the text at a path, if there is one. */
export const staleFiles = (
  files: readonly GeneratedFile[],
  read: (path: string) => string | undefined,
): string[] =>
  files.flatMap((file) => {
    const written = read(file.path);
    return written !== undefined && isCurrent(file, written) ? [] : [file.path];
  });
