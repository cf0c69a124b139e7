import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { preparation } from '../support/clients/builds.ts';
import { startClientStack } from '../support/clients/suite.ts';
import { expectAllSignals } from '../support/clients/three-signals.ts';
import { overGrpc, overHttp } from '../support/clients/transport.ts';
import type { TraceStack } from '../support/otlp/trace-stack.ts';
import { installPython, pinnedVersion, whyNoPython } from '../support/python/python.ts';

// A program that knows nothing of OpenTelemetry, with the variables of the set-up page alone.

const requirements = 'auto-instrumentation-requirements.txt';
const version = pinnedVersion(requirements, 'opentelemetry-distro');
const prepared = await preparation(() => installPython(requirements), await whyNoPython());
const python = 'path' in prepared ? prepared.path : '';
const leftOut = 'why' in prepared ? ` (left out, ${prepared.why})` : '';
const program = join(import.meta.dirname, '../support/python/auto_instrumented.py');

let on: TraceStack;
beforeAll(async () => {
  on = await startClientStack();
});
afterAll(() => on?.stop());

describe.skipIf('why' in prepared)(`Python opentelemetry-distro ${version}${leftOut}`, () => {
  it.each([
    ['http/protobuf', overHttp, { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' }],
    ['gRPC, its default', overGrpc, {}],
  ] as const)(
    'has every span, log record and data point of a web server stored over %s',
    async (_, transport, protocol) => {
      const application = await on.application();
      const { stdout, stderr } = await promisify(execFile)(
        // Not the script itself: its first line has the path at which pip made it.
        python,
        [join(dirname(python), 'opentelemetry-instrument'), python, program],
        {
          env: {
            PATH: process.env['PATH'] ?? '',
            PYTHONDONTWRITEBYTECODE: '1',
            OTEL_SERVICE_NAME: 'shop',
            OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${transport.port(on)}`,
            OTEL_EXPORTER_OTLP_HEADERS: `X-MON-TOKEN=${application.token}`,
            ...protocol,
          },
          maxBuffer: 2 ** 26,
        },
      );
      await expectAllSignals(on, application, JSON.parse(stdout), stderr);
    },
  );
});
