import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { healthPaths } from '../../../src/ingress/grpc/health.ts';
import { codes } from '../../../src/ingress/grpc/status.ts';
import { largeBytes } from '../../../src/ingress/large-bodies/large-bodies.ts';
import { connectGrpc, type GrpcClient } from '../../support/grpc/client.ts';
import { contentTypes, partialOf } from '../../support/otlp/client.ts';
import { logExportPath } from '../../support/otlp/export-paths.ts';
import { encodeLogsProtobuf, type OtlpLogRecord } from '../../support/otlp/logs.ts';
import { sharedTraceStack, type TraceStack } from '../../support/otlp/trace-stack.ts';
import type { Application } from '../../support/stack/stack.ts';

// schemas/examples/logs has the cases of one request over HTTP; this file has gRPC, large bodies, and both transports.

let on: TraceStack;
let client: GrpcClient;
beforeAll(async () => {
  on = await sharedTraceStack();
});

/** A request of records with these bodies. */
const bodyOf = (texts: readonly string[], change: OtlpLogRecord = {}): Buffer =>
  encodeLogsProtobuf({
    resourceLogs: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'over grpc' } }] },
        scopeLogs: [
          {
            logRecords: texts.map((stringValue) => ({
              timeUnixNano: `${BigInt(Date.now()) * 1_000_000n}`,
              body: { stringValue },
              ...change,
            })),
          },
        ],
      },
    ],
  });

const send = (token: string, body: Uint8Array, options: Parameters<GrpcClient['call']>[2] = {}) =>
  client.call(logExportPath, body, {
    ...options,
    metadata: { 'x-mon-token': token, ...options.metadata },
  });

const post = (token: string, body: Buffer, path = '/v1/logs') =>
  on.client.send({ path, headers: { 'content-type': contentTypes.protobuf, 'x-mon-token': token }, body });

/** The bodies that an application has stored, in the order received, once everything sent before is settled. */
const storedBodies = async ({ app_id: appId }: Application): Promise<unknown[]> => {
  await on.stack.waitForEmptyStream('LOGS');
  const rows = await on.stack.spansQuery(
    `SELECT Body FROM otel.otel_logs WHERE AppId = ${appId} ORDER BY ArrivedAt, uid`,
  );
  return rows.map(({ Body: body }) => body);
};

describe('an export of logs over gRPC', () => {
  // Here: a connection that waits for the rooms before may be closed as idle.
  beforeAll(async () => {
    client = await connectGrpc(`http://127.0.0.1:${on.stack.ingress[0]?.ports['grpc'] ?? 0}`);
  });
  afterAll(() => client?.close());

  it('is answered OK with an empty message after every record is stored, also in gzip', async () => {
    const application = await on.application();
    const end = await send(application.token, bodyOf(['a', 'b']));
    expect(end).toMatchObject({ code: codes.ok, reset: 0, messages: [Buffer.alloc(0)] });
    const metadata = { 'grpc-encoding': 'gzip' };
    const packed = await send(application.token, gzipSync(bodyOf(['c'])), { flags: 1, metadata });
    expect(packed.code).toBe(codes.ok);
    expect(await storedBodies(application)).toEqual(['a', 'b', 'c']);
  });

  it.each(['HTTP', 'gRPC'])('is the same request over both transports, the first over %s', async (first) => {
    const application = await on.application();
    const { token } = application;
    const body = bodyOf(['a']);
    const overGrpc = async () => (await send(token, body)).headers['x-request-id'];
    const overHttp = async () => (await post(token, body)).headers['x-request-id'];
    const ids =
      first === 'HTTP' ? [await overHttp(), await overGrpc()] : [await overGrpc(), await overHttp()];
    expect(ids[0]).toMatch(/^\d+$/);
    expect(ids[1]).toBe(ids[0]);
    const repeated = await post(token, body);
    expect(partialOf('protobuf', repeated)).toMatchObject({
      rejectedSpans: '0',
      errorMessage: expect.stringContaining('duplicate_request'),
    });
    expect(await storedBodies(application)).toEqual(['a']);
  });

  // An empty request has the same bytes in every signal; so have these, which hold a resource alone.
  it('is another request than the same bytes as traces', async () => {
    const { token } = await on.application();
    const body = Buffer.from([0x0a, 0x00]);
    const [logs, traces] = [await post(token, body), await post(token, body, '/v1/traces')];
    expect([logs.status, traces.status]).toEqual([200, 200]);
    expect(logs.headers['x-request-id']).not.toBe(traces.headers['x-request-id']);
  });

  it('with bad records is OK with a partial success that counts them and says why', async () => {
    const application = await on.application();
    const end = await send(application.token, bodyOf(['a', 'b'], { severityNumber: 256 }));
    expect(end.code).toBe(codes.ok);
    // partial_success (1) { rejected_log_records (1): 2, … }
    expect([...(end.messages[0]?.subarray(3, 5) ?? [])]).toContain(2);
    expect(end.messages[0]?.toString()).toMatch(/2 of 2 log records rejected \(record_field_invalid 2\)/);
    expect(await storedBodies(application)).toEqual([]);
  });

  it('with a wrong token is UNAUTHENTICATED', async () => {
    expect((await send('wrong', bodyOf(['a']))).code).toBe(codes.unauthenticated);
  });

  // From half a MiB on a thread of its own decodes it.
  it.each(['HTTP', 'gRPC'])('of more than half a MiB is stored whole, over %s', async (transport) => {
    const application = await on.application();
    const texts = Array.from({ length: 1000 }, (_, index) => `${index} ${'x'.repeat(700)}`);
    const body = bodyOf(texts);
    expect(body.length).toBeGreaterThan(largeBytes);
    if (transport === 'gRPC') expect((await send(application.token, body)).code).toBe(codes.ok);
    else expect((await post(application.token, body)).status).toBe(200);
    expect(await storedBodies(application)).toEqual(texts);
  });

  it('is a service whose health is known, and other services are not there', async () => {
    const name = Buffer.from(logExportPath.split('/')[1] ?? '');
    const asked = Buffer.concat([Buffer.from([0x0a, name.length]), name]);
    const health = await client.call(healthPaths.check, asked);
    expect([health.code, health.messages]).toEqual([codes.ok, [Buffer.from([0x08, 1])]]);
    const profiles = logExportPath.replace('.logs.', '.profiles.').replace('LogsService', 'ProfilesService');
    const end = await client.call(profiles, bodyOf(['a']));
    expect(end.code).toBe(codes.unimplemented);
    expect(end.message).toContain(logExportPath);
  });
});
