import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import {
  buildGo,
  clientsFolder,
  installMaven,
  installNpm,
  missingTool,
  pinnedIn,
  preparation,
} from '../support/clients/builds.ts';
import { startClient } from '../support/clients/process.ts';
import { type ClientKind, describeClient, startClientStack } from '../support/clients/suite.ts';
import type { TraceStack } from '../support/otlp/trace-stack.ts';
import { installPython, pinnedVersion, whyNoPython } from '../support/python/python.ts';

let on: TraceStack;
beforeAll(async () => {
  on = await startClientStack();
});
afterAll(() => on?.stop());

/**
 * The client once it is built; without its tools its guarantees are counted as skipped, and the name has the reason.
 */
const describeBuilt = async (
  prepare: () => Promise<string>,
  missing: string | undefined,
  kind: Omit<ClientKind, 'start'>,
  start: (program: string) => ClientKind['start'],
): Promise<void> => {
  const prepared = await preparation(prepare, missing);
  if ('path' in prepared) {
    describeClient(() => on, { ...kind, start: start(prepared.path) });
    return;
  }
  describe.skip(`left out, ${prepared.why}`, () => {
    const start = (): never => {
      throw new Error(prepared.why);
    };
    describeClient(() => on, { ...kind, start });
  });
};

const goVersion = await pinnedIn('go/go.mod', /otlptracehttp v(\S+)/);
await describeBuilt(
  () => buildGo('go'),
  await missingTool('go'),
  {
    name: `Go SDK otlptracehttp ${goVersion}`,
    heedsRetryAfter: true,
    repeats429: true,
    repeatsLostConnection: false,
    logsPartialSuccess: true,
  },
  (path) => (target) => startClient(path, [], target),
);

const collectorVersion = await pinnedIn('collector/go.mod', /exporter\/otlphttpexporter v(\S+)/);
for (const [encoding, compression] of [
  ['proto', 'gzip'],
  ['json', 'gzip'],
  ['proto', 'none'],
] as const) {
  await describeBuilt(
    () => buildGo('collector'),
    await missingTool('go'),
    {
      name: `Collector otlphttpexporter ${collectorVersion} (${encoding}, compression ${compression})`,
      heedsRetryAfter: true,
      repeats429: true,
      repeatsLostConnection: true,
      logsPartialSuccess: true,
    },
    (path) => (target) => startClient(path, [encoding, compression], target),
  );
}

const javaVersion = await pinnedIn('java/pom.xml', /opentelemetry-exporter-otlp<[\s\S]*?<version>([^<]+)/);
await describeBuilt(
  () => installMaven('java'),
  await missingTool('java', 'mvn'),
  {
    name: `Java SDK opentelemetry-exporter-otlp ${javaVersion} (OkHttp)`,
    heedsRetryAfter: true,
    repeats429: true,
    repeatsLostConnection: true,
    logsPartialSuccess: false,
  },
  (jars) => (target) => {
    const args = [
      '-Xmx512m',
      '-Dfile.encoding=UTF-8',
      '-cp',
      join(jars, '*'),
      join(clientsFolder, 'java/Client.java'),
    ];
    return startClient('java', args, target);
  },
);

const oldJsVersion = await pinnedIn('old-js/package.json', /exporter-trace-otlp-http": "([^"]+)/);
await describeBuilt(
  () => installNpm('old-js'),
  await missingTool('npm'),
  {
    name: `JavaScript SDK of 2023 exporter-trace-otlp-http ${oldJsVersion}`,
    heedsRetryAfter: true,
    repeats429: true,
    repeatsLostConnection: false,
    logsPartialSuccess: false,
  },
  (folder) => (target) => startClient(process.execPath, [join(folder, 'client.js')], target),
);

const oldPython = '../../clients/old-python/requirements.txt';
await describeBuilt(
  () => installPython(oldPython),
  await whyNoPython(),
  {
    name: `Python SDK of 2025 opentelemetry-exporter-otlp-proto-http ${pinnedVersion(oldPython, 'opentelemetry-exporter-otlp-proto-http')}`,
    heedsRetryAfter: false,
    repeats429: false,
    repeatsLostConnection: false,
    logsPartialSuccess: false,
  },
  (python) => (target) =>
    startClient(python, [join(import.meta.dirname, '../support/python/export_spans.py'), 'protobuf'], target),
);
