import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildGo, buildJava, installNpm, missingTool, pinnedIn } from '../support/clients/builds.ts';
import { describeBuilt, pythonPrograms, startJava } from '../support/clients/built-client.ts';
import { startClient } from '../support/clients/process.ts';
import { traces } from '../support/clients/signal.ts';
import { describeClient, expectStored, startClientStack } from '../support/clients/suite.ts';
import type { TraceStack } from '../support/otlp/trace-stack.ts';
import { installPython, pinnedVersion, whyNoPython } from '../support/python/python.ts';

let on: TraceStack;
beforeAll(async () => {
  on = await startClientStack();
});
afterAll(() => on?.stop());

const goVersion = await pinnedIn('go/go.mod', /otlptracehttp v(\S+)/);
await describeBuilt(() => on, {
  name: `Go SDK otlptracehttp ${goVersion}`,
  missing: await missingTool('go'),
  prepare: () => buildGo('go'),
  start: (path) => (target) => startClient(path, ['traces', 'http'], target),
  heedsRetryAfter: true,
  repeats429: true,
  repeatsLostConnection: false,
  logsPartialSuccess: true,
});

const collectorVersion = await pinnedIn('collector/go.mod', /exporter\/otlphttpexporter v(\S+)/);
for (const [encoding, compression] of [
  ['proto', 'gzip'],
  ['json', 'gzip'],
  ['proto', 'none'],
] as const) {
  await describeBuilt(() => on, {
    name: `Collector otlphttpexporter ${collectorVersion} (${encoding}, compression ${compression})`,
    missing: await missingTool('go'),
    prepare: () => buildGo('collector'),
    start: (path) => (target) => startClient(path, ['traces', encoding, compression], target),
    heedsRetryAfter: true,
    repeats429: true,
    repeatsLostConnection: true,
    logsPartialSuccess: true,
  });
}

const javaVersion = await pinnedIn('java/pom.xml', /opentelemetry-exporter-otlp<[\s\S]*?<version>([^<]+)/);
await describeBuilt(() => on, {
  name: `Java SDK opentelemetry-exporter-otlp ${javaVersion} (OkHttp)`,
  missing: await missingTool('java', 'javac', 'mvn'),
  prepare: () => buildJava('java'),
  start: (jars) => startJava(jars, traces, 'http'),
  heedsRetryAfter: true,
  repeats429: true,
  repeatsLostConnection: true,
  logsPartialSuccess: false,
});

const oldJsVersion = await pinnedIn('old-js/package.json', /exporter-trace-otlp-http": "([^"]+)/);
await describeBuilt(() => on, {
  name: `JavaScript SDK of 2023 exporter-trace-otlp-http ${oldJsVersion}`,
  missing: await missingTool('npm'),
  prepare: () => installNpm('old-js'),
  start: (folder) => (target) => startClient(process.execPath, [join(folder, 'client.js')], target),
  heedsRetryAfter: true,
  repeats429: true,
  repeatsLostConnection: false,
  logsPartialSuccess: false,
});

const oldPython = '../../clients/old-python/requirements.txt';
await describeBuilt(() => on, {
  name: `Python SDK of 2025 opentelemetry-exporter-otlp-proto-http ${pinnedVersion(oldPython, 'opentelemetry-exporter-otlp-proto-http')}`,
  missing: await whyNoPython(),
  prepare: () => installPython(oldPython),
  start: (python) => (target) => startClient(python, [pythonPrograms.traces, 'protobuf'], target),
  heedsRetryAfter: false,
  repeats429: false,
  repeatsLostConnection: false,
  logsPartialSuccess: false,
});

/**
 * How long an export may take in all: a receiver that restarts on a busy machine needs more than the ten seconds of the
 * SDKs.
 */
const patience = { OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '60' };

const missing = await whyNoPython();
const leftOut = missing === undefined ? '' : ` (left out: ${missing})`;

describe.skipIf(missing !== undefined).each([
  ['opentelemetry-exporter-otlp-proto-http', 'protobuf', 'python-requirements.txt'],
  ['opentelemetry-exporter-otlp-json-http', 'json', 'python-json-requirements.txt'],
])(`Python SDK${leftOut}`, (name, encoding, requirements) => {
  let python: string;
  beforeAll(async () => {
    python = await installPython(requirements);
  });

  describeClient(() => on, {
    name: `${name} ${pinnedVersion(requirements, name)} (${encoding})`,
    start: (target) => startClient(python, [pythonPrograms.traces, encoding], target, patience),
    heedsRetryAfter: true,
    repeats429: true,
    repeatsLostConnection: true,
    logsPartialSuccess: false,
  });

  it.each(['gzip', 'deflate'])(
    'exports spans with compression %s, and every row equals its span',
    async (compression) => {
      const application = await on.application();
      const env = { ...patience, OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: compression };
      const target = { url: on.url, token: application.token };
      const client = startClient(python, [pythonPrograms.traces, encoding], target, env);
      const { ok, rows } = await client.export({ first: 0, count: 300 });
      expect(ok, client.log()).toBe(true);
      await expectStored(on, application, rows);
    },
  );
});
