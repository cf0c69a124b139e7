import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  buildGo,
  buildGoTools,
  clientsFolder,
  missingTool,
  pinnedIn,
  preparation,
} from '../support/clients/builds.ts';
import { startClient } from '../support/clients/process.ts';
import { traceExportPath } from '../support/otlp/export-paths.ts';
import { type Certificate, makeAuthority, makeCertificate } from '../support/stack/certificates.ts';
import { type RoleProcess, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

const packages = {
  h2spec: 'github.com/summerwind/h2spec/cmd/h2spec',
  probe: 'github.com/grpc-ecosystem/grpc-health-probe',
} as const;
const h2specVersion = await pinnedIn('conformance/go.mod', /summerwind\/h2spec v([\d.]+)/);
const probeVersion = await pinnedIn('conformance/go.mod', /grpc-health-probe v(\S+)/);

const prepared = await preparation(
  () => buildGoTools(join(clientsFolder, 'conformance'), 'conformance', Object.values(packages)),
  await missingTool('go'),
);
const programs = 'path' in prepared ? prepared.path : '';
const leftOut = 'why' in prepared ? ` (left out, ${prepared.why})` : '';

let folder: string;
let authority: Certificate;
let client: Certificate;
let stack: Stack;
// The first ingress is plain; the second one has a certificate, and asks its clients for theirs; connections of the third one are
// short.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
  authority = makeAuthority(folder, 'authority');
  client = makeCertificate(folder, 'client', authority);
  const own = makeCertificate(folder, 'own', authority);
  const tls = {
    TIDEMARK_INGRESS_TLS_CERT_FILE: own.certFile,
    TIDEMARK_INGRESS_TLS_KEY_FILE: own.keyFile,
    TIDEMARK_INGRESS_TLS_CLIENT_CA_FILE: authority.certFile,
  };
  const envs: Readonly<Record<string, Record<string, string>>> = {
    'ingress-1': tls,
    'ingress-2': { TIDEMARK_INGRESS_GRPC_CONNECTION_AGE_MAX_MS: '400' },
  };
  stack = await startStack({
    ingress: 3,
    roleEnv: async (role) => envs[role] ?? {},
  });
});
afterAll(async () => {
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

const ingress = (index: 0 | 1 | 2): RoleProcess => {
  const process = stack.ingress[index];
  if (process === undefined) throw new Error('there is no such ingress');
  return process;
};

const addressOf = (index: 0 | 1 | 2): string => `localhost:${ingress(index).ports['grpc']}`;

/** Runs a program to its end: its exit code, and what it printed. */
const run = (program: string, args: readonly string[]): Promise<{ code: unknown; text: string }> =>
  new Promise((resolve) => {
    execFile(join(programs, program), args, { maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, text: `${stdout}${stderr}` }),
    );
  });

/** A closed stream: RFC 7540 asked for an error of the connection, RFC 9113 section 5.1 allows it. */
const closedStream = 'RFC 9113 section 5.1 leaves the error to the receiver; nghttp2 ignores the frame';
/** RFC 9113 section 5.3.2 has put priorities out of use. */
const priority = 'nghttp2 ignores PRIORITY frames, which RFC 9113 section 5.3.2 has put out of use';

/** The cases that fail, each with its reason. */
const failing: Readonly<Record<string, string>> = {
  'http2/5.1 closed: Sends a DATA frame': closedStream,
  'http2/5.1 closed: Sends a DATA frame after sending RST_STREAM frame': closedStream,
  'http2/5.1 closed: Sends a HEADERS frame': closedStream,
  'http2/5.1 closed: Sends a HEADERS frame after sending RST_STREAM frame': closedStream,
  'http2/5.1.1 Sends stream identifier that is numerically smaller than previous':
    'nghttp2 takes it for a frame of a stream that is closed, and ignores it',
  'http2/5.3.1 Sends PRIORITY frame that depend on itself': priority,
  'http2/6.3 Sends a PRIORITY frame with 0x0 stream identifier': priority,
  'http2/6.7 Sends a PING frame with ACK':
    'nobody sends an acknowledgement of a PING that there was not: Node closes the connection',
  'http2/6.9.1 Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream':
    'Node makes the error of the stream one of the connection, since its memory leaked otherwise (CVE-2026-21714)',
};

/**
 * Cases that depend on who is first. DATA that does not fit its content-length: Node makes that an error of the
 * connection (docs/receivers/grpc.md). h2spec sends no gRPC, so the receiver refuses the request for its head: where
 * that answer leaves before the DATA has come, nothing is left to be malformed. DATA after the end of a request: where
 * the answer has left, the stream is closed, as in the cases of section 5.1.
 */
const raced = /^http2\/(?:8\.1\.2\.6 .*content-length|6\.1 Sends a DATA frame on the stream that is not in)/;

/** The cases in a report, and whether each passed. Its texts are not escaped: it is no XML. */
const casesIn = (report: string): { readonly name: string; readonly hasPassed: boolean }[] =>
  [...report.matchAll(/<testcase package="([^"]*)" classname="(.*)" time="[\d.]+">\s*(.*)/g)].map(
    ([, section = '', title = '', rest = '']) => ({
      name: `${section} ${title}`,
      hasPassed: rest.startsWith('</testcase>'),
    }),
  );

describe.skipIf('why' in prepared)(`h2spec ${h2specVersion}${leftOut}`, () => {
  it('finds that the port keeps HTTP/2, its generic cases and HPACK, but for the cases in the table', async () => {
    const report = join(folder, 'h2spec.xml');
    const to = ['-h', '127.0.0.1', '-p', String(ingress(0).ports['grpc']), '-P', traceExportPath];
    const { text } = await run('h2spec', [...to, '--strict', '--timeout', '3', '--junit-report', report]);
    const cases = casesIn(await readFile(report, 'latin1'));
    expect(text).toContain(`${cases.length} tests, `);
    expect(cases.length).toBeGreaterThanOrEqual(146);
    const failed = cases
      .filter(({ name, hasPassed }) => !hasPassed && !raced.test(name))
      .map(({ name }) => name);
    expect(cases.filter(({ name }) => raced.test(name))).toHaveLength(3);
    expect(failed.toSorted(), text).toEqual(Object.keys(failing).toSorted());
  });
});

describe.skipIf('why' in prepared)(`grpc_health_probe ${probeVersion}${leftOut}`, () => {
  const exit = { serving: 0, unconnected: 2, failed: 3, unhealthy: 4 } as const;
  const service = traceExportPath.split('/')[1] ?? '';
  const probe = (index: 0 | 1, ...args: string[]) =>
    run('grpc-health-probe', [
      `-addr=${addressOf(index)}`,
      '-rpc-timeout=10s',
      '-connect-timeout=10s',
      ...args,
    ]);
  const authorityArgs = (): string[] => ['-tls', `-tls-ca-cert=${authority.certFile}`];
  const tlsArgs = (): string[] => [
    ...authorityArgs(),
    `-tls-client-cert=${client.certFile}`,
    `-tls-client-key=${client.keyFile}`,
  ];

  it.each<[string, 0 | 1]>([
    ['plain', 0],
    ['with certificates of both sides', 1],
  ])('finds the whole and the trace service serving, and no other service, %s', async (_, index) => {
    const args = index === 0 ? [] : tlsArgs();
    for (const name of ['', service]) {
      const { code, text } = await probe(index, ...args, `-service=${name}`);
      expect({ code, text }).toEqual({
        code: exit.serving,
        text: expect.stringContaining('status: SERVING'),
      });
    }
    expect(await probe(index, ...args, '-service=other')).toEqual({
      code: exit.failed,
      text: expect.stringContaining('NotFound'),
    });
  });

  it('does not reach a receiver that asks for certificates without one', async () => {
    expect((await probe(1, ...authorityArgs(), '-connect-timeout=2s')).code).not.toBe(exit.serving);
    expect((await probe(1, '-connect-timeout=2s')).code).not.toBe(exit.serving);
  });

  it('finds NOT_SERVING while NATS is away, nobody while the role stops or starts, and SERVING after', async () => {
    const { nats } = stack.engines;
    await nats.kill();
    const { text } = await waitFor('the service to be unhealthy', 60_000, async () => {
      const found = await probe(0, `-service=${service}`);
      return found.code === exit.unhealthy && found;
    });
    expect(text).toContain('NOT_SERVING');
    await ingress(0).stop();
    expect((await probe(0, '-connect-timeout=2s')).code).toBe(exit.unconnected);
    ingress(0).start();
    await waitFor('the role to wait for NATS', 60_000, () =>
      ingress(0)
        .lines.slice(-20)
        .some((line) => line.includes('waiting for NATS')),
    );
    expect((await probe(0, '-connect-timeout=2s')).code).toBe(exit.unconnected);
    await nats.start();
    await waitFor('the service to be healthy', 60_000, async () => (await probe(0)).code === exit.serving);
  });
});

const goVersion = await pinnedIn('go/go.mod', /otlptracegrpc v(\S+)/);
const collectorVersion = await pinnedIn('collector/go.mod', /exporter\/otlpexporter v(\S+)/);
const exporters = await Promise.all(
  [
    { name: `Go SDK otlptracegrpc ${goVersion}`, folder: 'go', args: ['traces', 'grpc'] },
    {
      name: `Collector otlpexporter ${collectorVersion}`,
      folder: 'collector',
      args: ['traces', 'grpc', 'none'],
    },
  ].map(async (each) => ({
    ...each,
    built: await preparation(() => buildGo(each.folder), await missingTool('go')),
  })),
);

describe.each(exporters)('$name', ({ built, args }) => {
  const isLeftOut = 'why' in built;
  it.skipIf(isLeftOut)('loses no export to connections that end by their age, and repeats none', async () => {
    const { token } = await stack.createApplication(`age ${args.length}`);
    const program = isLeftOut ? '' : built.path;
    const exporter = startClient(program, args, { url: `http://${addressOf(2)}`, token });
    const endedByAge = async (): Promise<number> =>
      Number(
        /connections_ended_total\{receiver="grpc",reason="age"[^}]*\} (\d+)/.exec(
          await ingress(2).metrics(),
        )?.[1] ?? 0,
      );
    // Until the receiver knows the token.
    await waitFor('an export', 60_000, async () => (await exporter.export({ first: 0, count: 1 })).ok);
    const before = await endedByAge();
    const stored = (await stack.streamState('TRACES')).messages;
    let exports = 0;
    while ((await endedByAge()) < before + 10) {
      const { ok } = await exporter.export({ first: ++exports, count: 1 });
      expect(ok, exporter.log()).toBe(true);
    }
    // Without ClickHouse nothing leaves the stream; a request is one message.
    expect((await stack.streamState('TRACES')).messages - stored).toBe(exports);
  });
});
