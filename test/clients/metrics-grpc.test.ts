import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { buildGo, buildJava, installNpm, missingTool, pinnedIn } from '../support/clients/builds.ts';
import { describeBuilt, pythonPrograms, startJava } from '../support/clients/built-client.ts';
import { startClient } from '../support/clients/process.ts';
import { metrics } from '../support/clients/signal.ts';
import { startClientStack } from '../support/clients/suite.ts';
import { overGrpc } from '../support/clients/transport.ts';
import type { TraceStack } from '../support/otlp/trace-stack.ts';
import { installPython, pinnedVersion, whyNoPython } from '../support/python/python.ts';

// The same guarantees as over HTTP, for the exporters of data points over gRPC.

let on: TraceStack;
beforeAll(async () => {
  on = await startClientStack();
});
afterAll(() => on?.stop());

/** Counters and histograms since the last export; the exporters over HTTP have the default, since the start of the program. */
const delta = { OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta' };

/** Seconds that an export may take in all: a receiver that restarts on a busy machine needs more than the ten of the SDKs. */
const patience = { ...delta, OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '60' };

const python = 'python-grpc-requirements.txt';
await describeBuilt(() => on, {
  signal: metrics,
  transport: overGrpc,
  name: `Python SDK opentelemetry-exporter-otlp-proto-grpc ${pinnedVersion(python, 'opentelemetry-exporter-otlp-proto-grpc')}`,
  missing: await whyNoPython(),
  prepare: () => installPython(python),
  start: (program) => (target) => startClient(program, [pythonPrograms.metrics, 'grpc'], target, patience),
  heedsRetryAfter: true,
  repeats429: true,
  repeatsLostConnection: true,
  logsPartialSuccess: false,
});

const jsVersion = await pinnedIn('js-metrics/package.json', /exporter-metrics-otlp-grpc": "([^"]+)/);
await describeBuilt(() => on, {
  signal: metrics,
  transport: overGrpc,
  name: `JavaScript SDK exporter-metrics-otlp-grpc ${jsVersion}`,
  missing: await missingTool('npm'),
  prepare: () => installNpm('js-metrics'),
  start: (folder) => (target) =>
    startClient(process.execPath, [join(folder, 'client.js'), 'grpc'], target, delta),
  repeats503: false,
  heedsRetryAfter: false,
  repeats429: false,
  repeatsLostConnection: false,
  reconnectsLate: true,
  logsPartialSuccess: true,
});

const goVersion = await pinnedIn('go/go.mod', /otlpmetricgrpc v(\S+)/);
await describeBuilt(() => on, {
  signal: metrics,
  transport: overGrpc,
  name: `Go SDK otlpmetricgrpc ${goVersion}`,
  missing: await missingTool('go'),
  prepare: () => buildGo('go'),
  start: (path) => (target) => startClient(path, ['metrics', 'grpc'], target, delta),
  heedsRetryAfter: true,
  repeats429: true,
  repeats429WithoutHint: false,
  // A reset while it sends the batch is no reason for a retry to it; one before or after is.
  repeatsLostConnection: 'sometimes',
  logsPartialSuccess: true,
});

const collectorVersion = await pinnedIn('collector/go.mod', /exporter\/otlpexporter v(\S+)/);
await describeBuilt(() => on, {
  signal: metrics,
  transport: overGrpc,
  isBrief: true,
  name: `Collector otlpexporter ${collectorVersion} (compression gzip)`,
  missing: await missingTool('go'),
  prepare: () => buildGo('collector'),
  start: (path) => (target) => startClient(path, ['metrics', 'grpc', 'gzip'], target),
  heedsRetryAfter: true,
  repeats429: true,
  repeats429WithoutHint: false,
  repeatsLostConnection: 'sometimes',
  logsPartialSuccess: true,
});

const javaVersion = await pinnedIn('java/pom.xml', /opentelemetry-exporter-otlp<[\s\S]*?<version>([^<]+)/);
await describeBuilt(() => on, {
  signal: metrics,
  transport: overGrpc,
  name: `Java SDK opentelemetry-exporter-otlp ${javaVersion} (OtlpGrpcMetricExporter, OkHttp)`,
  missing: await missingTool('java', 'javac', 'mvn'),
  prepare: () => buildJava('java'),
  start: (folder) => startJava(folder, metrics, 'grpc', delta),
  heedsRetryAfter: false,
  repeats429: true,
  // A reset while it sends the batch is no reason for a retry to it; one before or after is.
  repeatsLostConnection: 'sometimes',
  logsPartialSuccess: false,
});
