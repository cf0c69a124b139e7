import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { buildJava, missingTool, pinnedIn, preparation } from '../support/clients/builds.ts';
import { startClientStack } from '../support/clients/suite.ts';
import { expectAllSignals } from '../support/clients/three-signals.ts';
import { overGrpc, overHttp } from '../support/clients/transport.ts';
import type { TraceStack } from '../support/otlp/trace-stack.ts';

// A program that knows nothing of OpenTelemetry, with the variables of the set-up page alone and an extension that tells.

const run = promisify(execFile);

const version = await pinnedIn('java/pom.xml', /opentelemetry-javaagent<[\s\S]*?<version>([^<]+)/);
const prepared = await preparation(() => buildJava('java'), await missingTool('java', 'javac', 'jar', 'mvn'));
const folder = 'path' in prepared ? prepared.path : '';
const leftOut = 'why' in prepared ? ` (left out, ${prepared.why})` : '';
const classes = join(folder, 'classes');

let on: TraceStack;
let extension = '';

/** The extension as the agent wants it: a jar that names its service. */
const packExtension = async (): Promise<void> => {
  const services = join(on.stack.folder, 'extension/META-INF/services');
  const service = 'io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizerProvider';
  await mkdir(services, { recursive: true });
  await writeFile(join(services, service), 'Twin\n');
  extension = join(on.stack.folder, 'twin.jar');
  const all = ['-C', classes, '.', '-C', join(on.stack.folder, 'extension'), '.'];
  await run('jar', ['--create', '--file', extension, ...all]);
};

beforeAll(async () => {
  on = await startClientStack();
  if ('path' in prepared) await packExtension();
});
afterAll(() => on?.stop());

/** The lines of all exporters as one object. */
const toldIn = (lines: string): object =>
  Object.fromEntries(
    lines
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => {
        const { signal, ...told } = JSON.parse(line);
        return [signal, told];
      }),
  );

describe.skipIf('why' in prepared)(`Java opentelemetry-javaagent ${version}${leftOut}`, () => {
  it.each([
    ['http/protobuf, its default', overHttp, {}],
    ['gRPC', overGrpc, { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
  ] as const)(
    'has every span, log record and data point of a web server stored over %s',
    async (_, transport, protocol) => {
      const application = await on.application();
      const agent = `-javaagent:${join(folder, `opentelemetry-javaagent-${version}.jar`)}`;
      const { stdout, stderr } = await run('java', [agent, '-Dfile.encoding=UTF-8', '-cp', classes, 'Shop'], {
        env: {
          PATH: process.env['PATH'] ?? '',
          OTEL_JAVAAGENT_EXTENSIONS: extension,
          OTEL_SERVICE_NAME: 'shop',
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${transport.port(on)}`,
          OTEL_EXPORTER_OTLP_HEADERS: `X-MON-TOKEN=${application.token}`,
          ...protocol,
        },
        maxBuffer: 2 ** 26,
      });
      await expectAllSignals(on, application, toldIn(stdout), stderr);
    },
  );
});
