import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildGo, buildJava, installNpm, missingTool, pinnedIn } from '../support/clients/builds.ts';
import {
  describeBuilt,
  pythonPrograms,
  startJava,
  startJavascriptGrpc,
} from '../support/clients/built-client.ts';
import { createCli } from '../support/clients/cli.ts';
import { startClient } from '../support/clients/process.ts';
import { traces } from '../support/clients/signal.ts';
import { startClientStack } from '../support/clients/suite.ts';
import { overGrpc } from '../support/clients/transport.ts';
import type { TraceStack } from '../support/otlp/trace-stack.ts';
import { installPython, pinnedVersion, whyNoPython } from '../support/python/python.ts';

// The same guarantees as over HTTP, for the exporters of OTLP over gRPC.

let on: TraceStack;
beforeAll(async () => {
  on = await startClientStack();
});
afterAll(() => on?.stop());

/** Seconds that an export may take in all: a receiver that restarts on a busy machine needs more than the ten of the SDKs. */
const patience = { OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '60' };

const python = 'python-grpc-requirements.txt';
await describeBuilt(() => on, {
  transport: overGrpc,
  name: `Python SDK opentelemetry-exporter-otlp-proto-grpc ${pinnedVersion(python, 'opentelemetry-exporter-otlp-proto-grpc')}`,
  missing: await whyNoPython(),
  prepare: () => installPython(python),
  start: (program) => (target) => startClient(program, [pythonPrograms.traces, 'grpc'], target, patience),
  heedsRetryAfter: true,
  repeats429: true,
  repeatsLostConnection: true,
  logsPartialSuccess: false,
});

const jsVersion = await pinnedIn('grpc-js/package.json', /exporter-trace-otlp-grpc": "([^"]+)/);
await describeBuilt(() => on, {
  transport: overGrpc,
  name: `JavaScript SDK exporter-trace-otlp-grpc ${jsVersion}`,
  missing: await missingTool('npm'),
  prepare: () => installNpm('grpc-js'),
  start: startJavascriptGrpc,
  repeats503: false,
  heedsRetryAfter: false,
  repeats429: false,
  repeatsLostConnection: false,
  reconnectsLate: true,
  logsPartialSuccess: true,
});

const goVersion = await pinnedIn('go/go.mod', /otlptracegrpc v(\S+)/);
await describeBuilt(() => on, {
  transport: overGrpc,
  name: `Go SDK otlptracegrpc ${goVersion}`,
  missing: await missingTool('go'),
  prepare: () => buildGo('go'),
  start: (path) => (target) => startClient(path, ['traces', 'grpc'], target),
  heedsRetryAfter: true,
  repeats429: true,
  repeats429WithoutHint: false,
  // A reset while it sends the batch is no reason for a retry to it; one before or after is.
  repeatsLostConnection: 'sometimes',
  logsPartialSuccess: true,
});

const collectorVersion = await pinnedIn('collector/go.mod', /exporter\/otlpexporter v(\S+)/);
for (const compression of ['gzip', 'none'])
  await describeBuilt(() => on, {
    transport: overGrpc,
    name: `Collector otlpexporter ${collectorVersion} (compression ${compression})`,
    missing: await missingTool('go'),
    prepare: () => buildGo('collector'),
    start: (path) => (target) => startClient(path, ['traces', 'grpc', compression], target),
    heedsRetryAfter: true,
    repeats429: true,
    repeats429WithoutHint: false,
    // A reset while it sends the batch is no reason for a retry to it; one before or after is.
    repeatsLostConnection: 'sometimes',
    logsPartialSuccess: true,
  });

const javaVersion = await pinnedIn('java/pom.xml', /opentelemetry-exporter-otlp<[\s\S]*?<version>([^<]+)/);
await describeBuilt(() => on, {
  transport: overGrpc,
  name: `Java SDK opentelemetry-exporter-otlp ${javaVersion} (OtlpGrpcSpanExporter, OkHttp)`,
  missing: await missingTool('java', 'javac', 'mvn'),
  prepare: () => buildJava('java'),
  start: (jars) => startJava(jars, traces, 'grpc'),
  heedsRetryAfter: false,
  repeats429: true,
  // A reset while it sends the batch is no reason for a retry to it; one before or after is.
  repeatsLostConnection: 'sometimes',
  logsPartialSuccess: false,
});

const noPython = await whyNoPython();

it.skipIf(noPython !== undefined)(
  'the set-up snippet of variables over gRPC stores a span of a program that knows neither address nor token',
  async () => {
    const application = await on.application();
    const cli = createCli(() => ({ PATH: process.env['PATH'], ...on.stack.env }));
    const variables = join(on.stack.folder, 'variables.sh');
    await writeFile(variables, await cli.text(`snippet ${application.app_id} --for variables-grpc --token`));
    const interpreter = await installPython(python);
    const program = join(import.meta.dirname, '../support/clients/by_variables_grpc.py');
    await promisify(execFile)('sh', ['-c', `. '${variables}' && exec '${interpreter}' '${program}'`]);
    expect(await on.storedSpans(application)).toMatchObject([{ SpanName: 'order', ServiceName: 'shop' }]);
  },
);
