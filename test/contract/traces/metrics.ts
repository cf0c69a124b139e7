import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { healthPaths } from '../../../src/ingress/grpc/health.ts';
import { codes } from '../../../src/ingress/grpc/status.ts';
import { largeBytes } from '../../../src/ingress/large-bodies/large-bodies.ts';
import { connectGrpc, type GrpcClient } from '../../support/grpc/client.ts';
import { contentTypes, partialOf } from '../../support/otlp/client.ts';
import { metricExportPath } from '../../support/otlp/export-paths.ts';
import { encodeMetricsProtobuf, type OtlpNumberPoint } from '../../support/otlp/metrics.ts';
import { sharedTraceStack, type TraceStack } from '../../support/otlp/trace-stack.ts';
import { type LiveRecords, openLiveRecords } from '../../support/stack/live-records.ts';
import type { Application } from '../../support/stack/stack.ts';
import { waitFor } from '../../support/wait.ts';

// schemas/examples/metrics has the cases of one request over HTTP; this file has gRPC, large bodies, both transports and the bound of series.

let on: TraceStack;
let client: GrpcClient;
beforeAll(async () => {
  on = await sharedTraceStack();
});

/** A request with a data point of each of these series. */
const bodyOf = (series: readonly string[], change: OtlpNumberPoint = {}): Buffer =>
  encodeMetricsProtobuf({
    resourceMetrics: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'over grpc' } }] },
        scopeMetrics: [
          {
            metrics: [
              {
                name: 'load',
                gauge: {
                  dataPoints: series.map((stringValue) => ({
                    timeUnixNano: `${BigInt(Date.now()) * 1_000_000n}`,
                    asDouble: 1,
                    attributes: [{ key: 'series', value: { stringValue } }],
                    ...change,
                  })),
                },
              },
            ],
          },
        ],
      },
    ],
  });

const send = (token: string, body: Uint8Array, options: Parameters<GrpcClient['call']>[2] = {}) =>
  client.call(metricExportPath, body, {
    ...options,
    metadata: { 'x-mon-token': token, ...options.metadata },
  });

const post = (token: string, body: Buffer, path = '/v1/metrics') =>
  on.client.send({ path, headers: { 'content-type': contentTypes.protobuf, 'x-mon-token': token }, body });

/** The series of the gauge that an application has stored, in the order received, once everything sent before is settled. */
const storedSeries = async ({ app_id: appId }: Application): Promise<unknown[]> => {
  await on.stack.waitForEmptyStream('OTEL_METRICS');
  const rows = await on.stack.spansQuery(
    `SELECT Attributes['series'] AS series FROM otel.otel_metrics_gauge WHERE AppId = ${appId} ORDER BY ArrivedAt, uid`,
  );
  return rows.map(({ series }) => series);
};

const many = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `${from + index} ${'x'.repeat(700)}`);

describe('an export of metrics over gRPC', () => {
  // Here: a connection that waits for the rooms before may be closed as idle.
  beforeAll(async () => {
    client = await connectGrpc(`http://127.0.0.1:${on.stack.ingress[0]?.ports['grpc'] ?? 0}`);
  });
  afterAll(() => client?.close());

  it('is answered OK with an empty message after every data point is stored, also in gzip', async () => {
    const application = await on.application();
    const end = await send(application.token, bodyOf(['a', 'b']));
    expect(end).toMatchObject({ code: codes.ok, reset: 0, messages: [Buffer.alloc(0)] });
    const metadata = { 'grpc-encoding': 'gzip' };
    const packed = await send(application.token, gzipSync(bodyOf(['c'])), { flags: 1, metadata });
    expect(packed.code).toBe(codes.ok);
    expect(await storedSeries(application)).toEqual(['a', 'b', 'c']);
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
    expect(await storedSeries(application)).toEqual(['a']);
  });

  // An empty request has the same bytes in every signal; so have these, which hold a resource alone.
  it('is another request than the same bytes as traces or logs', async () => {
    const { token } = await on.application();
    const body = Buffer.from([0x0a, 0x00]);
    const ids = new Set<unknown>();
    for (const path of ['/v1/metrics', '/v1/traces', '/v1/logs']) {
      const answer = await post(token, body, path);
      expect(answer.status).toBe(200);
      ids.add(answer.headers['x-request-id']);
    }
    expect(ids.size).toBe(3);
  });

  it('with bad data points is OK with a partial success that counts them and says why', async () => {
    const application = await on.application();
    const exemplars = Array.from({ length: 129 }, () => ({ asDouble: 1 }));
    const end = await send(application.token, bodyOf(['a', 'b'], { exemplars }));
    expect(end.code).toBe(codes.ok);
    // partial_success (1) { rejected_data_points (1): 2, … }
    expect([...(end.messages[0]?.subarray(3, 5) ?? [])]).toContain(2);
    expect(end.messages[0]?.toString()).toMatch(/2 of 2 data points rejected \(too_many_exemplars 2\)/);
    expect(await storedSeries(application)).toEqual([]);
  });

  it('with a wrong token is UNAUTHENTICATED', async () => {
    expect((await send('wrong', bodyOf(['a']))).code).toBe(codes.unauthenticated);
  });

  // From half a MiB on a thread of its own decodes it.
  it.each(['HTTP', 'gRPC'])('of more than half a MiB is stored whole, over %s', async (transport) => {
    const application = await on.application();
    const series = many(0, 1000);
    const body = bodyOf(series);
    expect(body.length).toBeGreaterThan(largeBytes);
    if (transport === 'gRPC') expect((await send(application.token, body)).code).toBe(codes.ok);
    else expect((await post(application.token, body)).status).toBe(200);
    expect(await storedSeries(application)).toEqual(series);
  });

  it('is a service whose health is known', async () => {
    const name = Buffer.from(metricExportPath.split('/')[1] ?? '');
    const asked = Buffer.concat([Buffer.from([0x0a, name.length]), name]);
    const health = await client.call(healthPaths.check, asked);
    expect([health.code, health.messages]).toEqual([codes.ok, [Buffer.from([0x08, 1])]]);
  });
});

describe('the bound of the series of an application', () => {
  let live: LiveRecords;
  beforeAll(async () => {
    live = await openLiveRecords(on.stack);
  });
  afterAll(() => live?.close());

  it('holds for large bodies and small ones together, and the log of the receiver names the application', async () => {
    const application = await on.application();
    const { app_id: appId, token } = application;
    // The second policy is in force where the first one, which was before it, no longer is.
    const known = async (status: number): Promise<boolean> =>
      (await post(token, bodyOf(['known', 'known']))).status === status;
    await live.applicationPolicy(appId, { data_points_max: 1 });
    await waitFor('a policy', 5_000, () => known(413));
    await live.applicationPolicy(appId, { series_max: 1_000 });
    await waitFor('the bound of series', 5_000, () => known(200));
    const large = bodyOf(many(0, 1_400));
    expect(large.length).toBeGreaterThan(largeBytes);
    const answer = await post(token, large);
    expect(partialOf('protobuf', answer)).toMatchObject({
      rejectedSpans: '401',
      errorMessage: expect.stringContaining('401 of 1400 data points rejected (too_many_series 401)'),
    });
    expect((await post(token, bodyOf(['known', ...many(0, 999)]))).bytes.length).toBe(0);
    expect(partialOf('protobuf', await post(token, bodyOf(['another', 'known'])))).toMatchObject({
      rejectedSpans: '1',
      errorMessage: expect.stringContaining('too_many_series 1'),
    });
    const told = on.stack.ingress[0]?.lines.filter(
      (line) => line.includes('has reached series_max') && line.includes(`"app_id":${appId}`),
    );
    expect(told).toHaveLength(1);
    expect(new Set(await storedSeries(application)).size).toBe(1_000);
  });
});
