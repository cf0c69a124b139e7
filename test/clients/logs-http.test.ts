import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { buildGo, buildJava, installNpm, missingTool, pinnedIn } from '../support/clients/builds.ts';
import { describeBuilt, pythonPrograms, startJava } from '../support/clients/built-client.ts';
import { startClient } from '../support/clients/process.ts';
import { logs } from '../support/clients/signal.ts';
import { startClientStack } from '../support/clients/suite.ts';
import type { TraceStack } from '../support/otlp/trace-stack.ts';
import { installPython, pinnedVersion, whyNoPython } from '../support/python/python.ts';

// The same guarantees as for spans, for the exporters of log records over HTTP.

let on: TraceStack;
beforeAll(async () => {
  on = await startClientStack();
});
afterAll(() => on?.stop());

/** How long an export may take in all: a receiver that restarts on a busy machine needs more than the ten seconds of the SDKs. */
const patienceMs = 60_000;

const goVersion = await pinnedIn('go/go.mod', /otlploghttp v(\S+)/);
await describeBuilt(() => on, {
  signal: logs,
  name: `Go SDK otlploghttp ${goVersion}`,
  missing: await missingTool('go'),
  prepare: () => buildGo('go'),
  start: (path) => (target) => startClient(path, ['logs', 'http'], target),
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
    signal: logs,
    isBrief,
    name: `Collector otlphttpexporter ${collectorVersion} (${encoding}, compression gzip)`,
    missing: await missingTool('go'),
    prepare: () => buildGo('collector'),
    start: (path) => (target) => startClient(path, ['logs', encoding, 'gzip'], target),
    heedsRetryAfter: true,
    repeats429: true,
    repeatsLostConnection: true,
    logsPartialSuccess: true,
  });
}

const javaVersion = await pinnedIn('java/pom.xml', /opentelemetry-exporter-otlp<[\s\S]*?<version>([^<]+)/);
await describeBuilt(() => on, {
  signal: logs,
  name: `Java SDK opentelemetry-exporter-otlp ${javaVersion} (OtlpHttpLogRecordExporter, OkHttp)`,
  missing: await missingTool('java', 'javac', 'mvn'),
  prepare: () => buildJava('java'),
  start: (folder) => startJava(folder, logs, 'http'),
  heedsRetryAfter: true,
  repeats429: true,
  repeatsLostConnection: true,
  logsPartialSuccess: false,
});

for (const [name, encoding, isBrief] of [
  ['exporter-logs-otlp-http', 'json', false],
  ['exporter-logs-otlp-proto', 'protobuf', true],
] as const) {
  await describeBuilt(() => on, {
    signal: logs,
    isBrief,
    name: `JavaScript SDK ${name} ${await pinnedIn('js-logs/package.json', new RegExp(`${name}": "([^"]+)`))}`,
    missing: await missingTool('npm'),
    prepare: () => installNpm('js-logs'),
    start: (folder) => (target) =>
      startClient(process.execPath, [join(folder, 'client.js'), encoding], target, {
        OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: String(patienceMs),
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
    signal: logs,
    isBrief,
    name: `Python SDK ${name} ${pinnedVersion(requirements, name)}`,
    missing: await whyNoPython(),
    prepare: () => installPython(requirements),
    start: (python) => (target) =>
      startClient(python, [pythonPrograms.logs, encoding], target, {
        OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: String(patienceMs / 1000),
      }),
    heedsRetryAfter: true,
    repeats429: true,
    repeatsLostConnection: true,
    logsPartialSuccess: false,
  });
}
