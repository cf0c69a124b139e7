import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildGo, buildJava, installNpm, missingTool, preparation } from '../support/clients/builds.ts';
import { pythonPrograms, startJava, startJavascriptGrpc } from '../support/clients/built-client.ts';
import { startJavascript } from '../support/clients/javascript.ts';
import { type RunningClient, startClient, type Target } from '../support/clients/process.ts';
import { traces } from '../support/clients/signal.ts';
import { pauseBus } from '../support/clients/suite.ts';
import { overGrpc, overHttp, type Transport } from '../support/clients/transport.ts';
import { startTraceStack, type TraceStack } from '../support/otlp/trace-stack.ts';
import { installPython, whyNoPython } from '../support/python/python.ts';

// NATS hangs while clients export, each with the timeouts that its exporter has by itself, and the receiver with its own.

type Kind = {
  readonly name: string;
  /** HTTP without one. */
  readonly transport?: Transport;
  readonly missing: string | undefined;
  prepare(): Promise<string>;
  start(program: string, target: Target): RunningClient | Promise<RunningClient>;
};

const noPython = await whyNoPython();
const noGo = await missingTool('go');
const python = (name: string, requirements: string, encoding: string): Kind => ({
  name,
  missing: noPython,
  prepare: () => installPython(requirements),
  start: (program, target) => startClient(program, [pythonPrograms.traces, encoding], target),
});
const javascript = (name: string, Exporter: typeof JsonExporter | typeof ProtobufExporter): Kind => ({
  name,
  missing: undefined,
  prepare: async () => '',
  start: (_, target) =>
    startJavascript(({ url, token }) => new Exporter({ url, headers: { 'X-MON-TOKEN': token } }), target),
});

const kinds: readonly Kind[] = [
  javascript('JavaScript, JSON', JsonExporter),
  javascript('JavaScript, protobuf', ProtobufExporter),
  {
    name: 'JavaScript of 2023',
    missing: await missingTool('npm'),
    prepare: () => installNpm('old-js'),
    start: (folder, target) => startClient(process.execPath, [join(folder, 'client.js')], target),
  },
  python('Python, protobuf', 'python-requirements.txt', 'protobuf'),
  python('Python, JSON', 'python-json-requirements.txt', 'json'),
  python('Python of 2025', '../../clients/old-python/requirements.txt', 'protobuf'),
  {
    name: 'Go',
    missing: noGo,
    prepare: () => buildGo('go'),
    start: (program, target) => startClient(program, ['traces', 'http'], target),
  },
  {
    name: 'Collector',
    missing: noGo,
    prepare: () => buildGo('collector'),
    start: (program, target) => startClient(program, ['traces', 'proto', 'gzip'], target),
  },
  {
    name: 'Java',
    missing: await missingTool('java', 'javac', 'mvn'),
    prepare: () => buildJava('java'),
    start: (jars, target) => startJava(jars, traces, 'http')(target),
  },
  {
    name: 'JavaScript, gRPC',
    transport: overGrpc,
    missing: await missingTool('npm'),
    prepare: () => installNpm('grpc-js'),
    start: (folder, target) => startJavascriptGrpc(folder)(target),
  },
  { ...python('Python, gRPC', 'python-grpc-requirements.txt', 'grpc'), transport: overGrpc },
  {
    name: 'Go, gRPC',
    transport: overGrpc,
    missing: noGo,
    prepare: () => buildGo('go'),
    start: (program, target) => startClient(program, ['traces', 'grpc'], target),
  },
  {
    name: 'Collector, gRPC',
    transport: overGrpc,
    missing: noGo,
    prepare: () => buildGo('collector'),
    start: (program, target) => startClient(program, ['traces', 'grpc', 'gzip'], target),
  },
  {
    name: 'Java, gRPC',
    transport: overGrpc,
    missing: await missingTool('java', 'javac', 'mvn'),
    prepare: () => buildJava('java'),
    start: (jars, target) => startJava(jars, traces, 'grpc')(target),
  },
];

const prepared = await Promise.all(
  kinds.map(async (kind) => ({ kind, built: await preparation(kind.prepare, kind.missing) })),
);

let on: TraceStack;
beforeAll(async () => {
  on = await startTraceStack();
});
afterAll(() => on?.stop());

describe.each(prepared)('$kind.name', ({ kind, built }) => {
  // A span must be stored, or its loss must be in a log.
  it.skipIf('why' in built).each([12, 28])(
    'has every span stored, or logs that it gave up, when NATS hangs for %i s',
    async (seconds) => {
      const application = await on.application();
      const client = await kind.start('path' in built ? built.path : '', {
        url: (kind.transport ?? overHttp).url(on, traces),
        token: application.token,
      });
      // For a client that starts slowly, the bus must not hang so long that the receiver notices it.
      const before = await client.export({ first: 0, count: 5 });
      expect(before.ok, client.log()).toBe(true);
      await pauseBus(on);
      const exporting = client.export({ first: 5, count: 50 });
      await delay(seconds * 1_000);
      on.stack.engines.nats.resume();
      const during = await exporting;
      await on.stack.ready();
      const rows = await on.storedSpans(application);
      const ids = new Set(rows.map((row) => row['SpanId']));
      const missed = during.rows.filter((row) => !ids.has(row['SpanId'])).length;
      process.stdout.write(
        `${kind.name}, ${seconds} s: told ${during.ok ? 'success' : 'failure'}, ${missed} of ${during.rows.length} not stored\n`,
      );
      expect(rows.length).toBe(ids.size);
      if (during.ok) expect(missed).toBe(0);
      else expect(client.log()).toMatch(/fail|error|exceeded|timed? ?out|dropp|unavailable/i);
    },
  );
});
