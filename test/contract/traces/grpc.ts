import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codes } from '../../../src/ingress/grpc/status.ts';
import { largeBytes } from '../../../src/ingress/large-bodies/large-bodies.ts';
import { connectGrpc, type GrpcClient } from '../../support/grpc/client.ts';
import { encode } from '../../support/otlp/client.ts';
import { traceExportPath } from '../../support/otlp/export-paths.ts';
import { sharedTraceStack, type TraceStack } from '../../support/otlp/trace-stack.ts';
import { untilPaused } from '../../support/stack/until-paused.ts';
import { waitFor } from '../../support/wait.ts';

let on: TraceStack;
let client: GrpcClient;
beforeAll(async () => {
  on = await sharedTraceStack();
});

const nanos = (): string => `${BigInt(Date.now()) * 1_000_000n}`;

/** A request of spans with these names; an empty id is a bad one. */
const bodyOf = (names: readonly string[], spanId = '00f067aa0ba902b7'): Buffer =>
  Buffer.from(
    encode('protobuf', {
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'over grpc' } }] },
          scopeSpans: [
            {
              spans: names.map((name) => ({
                ...{ name, traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId, kind: 2 },
                ...{ startTimeUnixNano: nanos(), endTimeUnixNano: nanos() },
              })),
            },
          ],
        },
      ],
    }),
  );

const send = (token: string | undefined, body: Uint8Array, options: Parameters<GrpcClient['call']>[2] = {}) =>
  client.call(traceExportPath, body, {
    ...options,
    metadata: { ...(token === undefined ? {} : { 'x-mon-token': token }), ...options.metadata },
  });

describe('an export over gRPC', () => {
  // Here: a connection that waits for the rooms before may be closed as idle.
  beforeAll(async () => {
    client = await connectGrpc(`http://127.0.0.1:${on.stack.ingress[0]?.ports['grpc'] ?? 0}`);
  });
  afterAll(() => client?.close());

  it('is answered OK with an empty message after every span is stored, and names its request', async () => {
    const application = await on.application();
    const end = await send(application.token, bodyOf(['a', 'b']));
    expect(end).toMatchObject({ code: codes.ok, reset: 0, messages: [Buffer.alloc(0)] });
    expect(end.headers['x-request-id']).toMatch(/^\d+$/);
    expect(await on.storedSpans(application)).toMatchObject([
      { SpanName: 'a', ServiceName: 'over grpc' },
      { SpanName: 'b', ServiceName: 'over grpc' },
    ]);
  });

  it('takes the token of the metadata authorization, and a message in gzip', async () => {
    const application = await on.application();
    const metadata = { authorization: `Bearer ${application.token}`, 'grpc-encoding': 'gzip' };
    const end = await send(undefined, gzipSync(bodyOf(['a'])), { flags: 1, metadata });
    expect(end.code).toBe(codes.ok);
    expect(await on.storedSpans(application)).toHaveLength(1);
  });

  // From half a MiB on a thread of its own decodes it.
  it.each([
    ['plain', 0, {}],
    ['in gzip', 1, { 'grpc-encoding': 'gzip' }],
  ] as const)('of more than half a MiB is stored whole, %s', async (_, flags, metadata) => {
    const application = await on.application();
    const names = Array.from({ length: 1000 }, (_, index) => `${index} ${'x'.repeat(700)}`);
    const body = bodyOf(names);
    expect(body.length).toBeGreaterThan(largeBytes);
    const end = await send(application.token, flags === 1 ? gzipSync(body) : body, { flags, metadata });
    expect(end).toMatchObject({ code: codes.ok, messages: [Buffer.alloc(0)] });
    expect((await on.storedSpans(application)).map(({ SpanName: name }) => name)).toEqual(names);
    const bad = await send(application.token, body.subarray(0, -1));
    expect(bad.code).toBe(codes.invalidArgument);
  });

  it.each([
    ['gRPC after HTTP', 'HTTP first'],
    ['HTTP after gRPC', 'gRPC first'],
  ])('is the same request when its bytes come over both transports: %s', async (_, order) => {
    const application = await on.application();
    const { token } = application;
    const body = bodyOf(['a', 'b']);
    const overGrpc = async () => (await send(token, body)).headers['x-request-id'];
    const overHttp = async () =>
      (await on.post(undefined, 'protobuf', body, { authorization: `Bearer ${token}` })).headers[
        'x-request-id'
      ];
    const ids =
      order === 'HTTP first' ? [await overHttp(), await overGrpc()] : [await overGrpc(), await overHttp()];
    expect(ids[0]).toBe(ids[1]);
    expect(await on.storedSpans(application)).toHaveLength(2);
    const repeated = await send(token, body);
    expect(repeated.code).toBe(codes.ok);
    expect(repeated.messages[0]?.toString()).toContain('duplicate_request');
    expect(await on.storedSpans(application)).toHaveLength(2);
  });

  it('with bad spans is OK with a partial success that counts them and says why', async () => {
    const application = await on.application();
    const end = await send(application.token, bodyOf(['a', 'b'], '0000000000000000'));
    expect(end.code).toBe(codes.ok);
    // partial_success (1) { rejected_spans (1): 2, … }
    expect([...(end.messages[0]?.subarray(3, 5) ?? [])]).toContain(2);
    expect(end.messages[0]?.toString()).toMatch(/2 of 2 spans rejected/);
    expect(await on.storedSpans(application)).toEqual([]);
  });

  it('with a wrong token or none is UNAUTHENTICATED', async () => {
    for (const token of ['wrong', undefined]) {
      const end = await send(token, bodyOf(['a']));
      expect(end).toMatchObject({ code: codes.unauthenticated, retrySeconds: undefined });
      expect(end.message).toContain('x-mon-token');
    }
  });

  it('of bytes that are no protobuf is INVALID_ARGUMENT and names the place', async () => {
    const { token } = await on.application();
    const end = await send(token, Buffer.from('{"resourceSpans":[]}'));
    expect(end).toMatchObject({ code: codes.invalidArgument, retrySeconds: undefined });
    expect(end.details).toContain('google.rpc.BadRequest');
  });

  it('beyond max_rate is RESOURCE_EXHAUSTED with RetryInfo', async () => {
    const { token } = await on.application({ max_rate: 1 });
    const end = await waitFor('a refusal', 60_000, async () => {
      const each = await send(token, bodyOf(['a']));
      return each.code === codes.resourceExhausted && each;
    });
    expect(end.retrySeconds).toBeGreaterThan(0);
    expect(end.headers['ratelimit']).toMatch(/r=0/);
  });

  it('is UNAVAILABLE with RetryInfo while NATS hangs, before the time of the call is over, and stored once after', async () => {
    const application = await on.application();
    const body = bodyOf(['a']);
    on.stack.engines.nats.pause();
    await untilPaused(on.stack.engines.nats.pid ?? 0);
    const began = performance.now();
    const end = await send(application.token, body, { metadata: { 'grpc-timeout': '2S' } }).finally(() =>
      on.stack.engines.nats.resume(),
    );
    expect(performance.now() - began).toBeLessThan(2000);
    expect(end.code).toBe(codes.unavailable);
    expect(end.retrySeconds).toBeGreaterThan(0);
    await waitFor(
      'the retry to be taken',
      60_000,
      async () => (await send(application.token, body)).code === codes.ok,
    );
    expect(await on.storedSpans(application)).toHaveLength(1);
  });

  it('counts among the requests of its own receiver', async () => {
    const labels = { receiver: 'grpc', status: '200' };
    const before = await on.counter('ingress', 'tidemark_ingress_requests_total', labels);
    const { token } = await on.application();
    await send(token, bodyOf(['a']));
    const after = await on.counter('ingress', 'tidemark_ingress_requests_total', labels);
    expect(after).toBe(before + 1);
  });
});
