import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { buildGo, buildJava, installNpm, missingTool, pinnedIn } from '../support/clients/builds.ts';
import { describeBuilt, pythonPrograms, startJava } from '../support/clients/built-client.ts';
import { startClient } from '../support/clients/process.ts';
import { metrics } from '../support/clients/signal.ts';
import { startClientStack } from '../support/clients/suite.ts';
import type { TraceStack } from '../support/otlp/trace-stack.ts';
import { installPython, pinnedVersion, whyNoPython } from '../support/python/python.ts';

// The same guarantees as for spans, for the exporters of data points over HTTP.

let on: TraceStack;
beforeAll(async () => {
  on = await startClientStack();
});
afterAll(() => on?.stop());

/** How long an export may take in all: a receiver that restarts on a busy machine needs more than the ten seconds of the SDKs. */
const patienceMs = 60_000;

const goVersion = await pinnedIn('go/go.mod', /otlpmetrichttp v(\S+)/);
await describeBuilt(() => on, {
  signal: metrics,
  name: `Go SDK otlpmetrichttp ${goVersion}`,
  missing: await missingTool('go'),
  prepare: () => buildGo('go'),
  start: (path) => (target) => startClient(path, ['metrics', 'http'], target),
  heedsRetryAfter: true,
  repeats429: true,
  repeatsLostConnection: false,
  logsPartialSuccess: true,
});

const collectorVersion = await pinnedIn('collector/go.mod', /exporter\/otlphttpexporter v(\S+)/);
for (const [encoding, isBrief] of [
  ['proto', false],
  ['json', true],
] as const) {
  await describeBuilt(() => on, {
    signal: metrics,
    isBrief,
    name: `Collector otlphttpexporter ${collectorVersion} (${encoding}, compression gzip)`,
    missing: await missingTool('go'),
    prepare: () => buildGo('collector'),
    start: (path) => (target) => startClient(path, ['metrics', encoding, 'gzip'], target),
    heedsRetryAfter: true,
    repeats429: true,
    repeatsLostConnection: true,
    logsPartialSuccess: true,
  });
}

const javaVersion = await pinnedIn('java/pom.xml', /opentelemetry-exporter-otlp<[\s\S]*?<version>([^<]+)/);
await describeBuilt(() => on, {
  signal: metrics,
  name: `Java SDK opentelemetry-exporter-otlp ${javaVersion} (OtlpHttpMetricExporter, OkHttp)`,
  missing: await missingTool('java', 'javac', 'mvn'),
  prepare: () => buildJava('java'),
  start: (folder) => startJava(folder, metrics, 'http'),
  heedsRetryAfter: true,
  repeats429: true,
  repeatsLostConnection: true,
  logsPartialSuccess: false,
});

for (const [name, encoding, isBrief] of [
  ['exporter-metrics-otlp-http', 'json', false],
  ['exporter-metrics-otlp-proto', 'protobuf', true],
] as const) {
  await describeBuilt(() => on, {
    signal: metrics,
    isBrief,
    name: `JavaScript SDK ${name} ${await pinnedIn('js-metrics/package.json', new RegExp(`${name}": "([^"]+)`))}`,
    missing: await missingTool('npm'),
    prepare: () => installNpm('js-metrics'),
    start: (folder) => (target) =>
      startClient(process.execPath, [join(folder, 'client.js'), encoding], target, {
        OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: String(patienceMs),
      }),
    heedsRetryAfter: true,
    repeats429: true,
    repeatsLostConnection: true,
    logsPartialSuccess: true,
  });
}

for (const [name, encoding, requirements, isBrief] of [
  ['opentelemetry-exporter-otlp-proto-http', 'protobuf', 'python-requirements.txt', false],
  ['opentelemetry-exporter-otlp-json-http', 'json', 'python-json-requirements.txt', true],
] as const) {
  await describeBuilt(() => on, {
    signal: metrics,
    isBrief,
    name: `Python SDK ${name} ${pinnedVersion(requirements, name)}`,
    missing: await whyNoPython(),
    prepare: () => installPython(requirements),
    start: (python) => (target) =>
      startClient(python, [pythonPrograms.metrics, encoding], target, {
        OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: String(patienceMs / 1000),
      }),
    heedsRetryAfter: true,
    repeats429: true,
    repeatsLostConnection: true,
    logsPartialSuccess: false,
  });
}
