import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installGo, missingTool, preparation } from '../support/clients/builds.ts';
import { traces } from '../support/clients/signal.ts';
import { pauseBus, startClientStack } from '../support/clients/suite.ts';
import { overGrpc, overHttp, type Transport } from '../support/clients/transport.ts';
import type { TraceStack } from '../support/otlp/trace-stack.ts';

const run = promisify(execFile);

const version = '0.161.0';
const path = 'github.com/open-telemetry/opentelemetry-collector-contrib/cmd/telemetrygen';
const prepared = await preparation(
  () => installGo('telemetrygen', path, `v${version}`),
  await missingTool('go'),
);
const program = 'path' in prepared ? prepared.path : '';
const leftOut = 'why' in prepared ? ` (left out, ${prepared.why})` : '';

let on: TraceStack;
beforeAll(async () => {
  on = await startClientStack();
});
afterAll(() => on?.stop());

type Run = {
  readonly transport: Transport;
  readonly url: string;
  readonly token: string;
  readonly args: readonly string[];
};

/** Runs it to its end and answers what it logged, without the token. */
const generate = async ({ transport, url, token, args }: Run): Promise<string> => {
  const all = [
    'traces',
    ...(transport === overHttp ? ['--otlp-http'] : []),
    '--otlp-insecure',
    '--otlp-endpoint',
    new URL(url).host,
    '--otlp-header',
    `X-MON-TOKEN="${token}"`,
    '--rate',
    '0',
    ...args,
  ];
  // Its SDK would leave out what is too much for the receiver.
  const env = { ...process.env, OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '1000' };
  const { stdout, stderr } = await run(program, all, { env });
  return `${stdout}${stderr}`.replaceAll(token, '<token>');
};

/** The number of traces in the log of its workers. */
const tracesOf = (log: string): number =>
  [...log.matchAll(/"traces":\s*(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);

describe.skipIf('why' in prepared).each([
  ['HTTP', overHttp],
  ['gRPC, its default', overGrpc],
])(`telemetrygen ${version}${leftOut} over %s`, (_, transport) => {
  const { stored, unavailable } = transport;

  it('has every span of four workers stored, with its links, status and attributes', async () => {
    const application = await on.application();
    const args = ['--workers', '4', '--traces', '50', '--child-spans', '3', '--span-links', '2'];
    const shape = ['--status-code', 'Error', '--service', 'shop', '--telemetry-attributes', 'team="é\\"1"'];
    const to = { transport, url: transport.url(on, traces), token: application.token };
    const log = await generate({ ...to, args: [...args, ...shape] });
    expect(tracesOf(log)).toBe(200);
    const rows = await on.storedSpans(application);
    expect(rows).toHaveLength(200 * 4);
    expect(new Set(rows.map(({ SpanId: id }) => id)).size).toBe(200 * 4);
    expect(new Set(rows.map(({ TraceId: id }) => id)).size).toBe(200);
    expect(rows.filter(({ ParentSpanId: id }) => id === '')).toHaveLength(200);
    for (const row of rows)
      expect(row).toMatchObject({ ServiceName: 'shop', StatusCode: 'Error', BizId: '2' });
    const links = rows.map(({ 'Links.SpanId': ids }) => (Array.isArray(ids) ? ids.length : 0));
    expect(Math.max(...links)).toBe(2);
  });

  it(`has every span stored once although the receiver answers ${unavailable.name} for a while`, async () => {
    const application = await on.application();
    const tap = await transport.startTap(on, traces, 'with');
    await pauseBus(on);
    const args = ['--workers', '1', '--traces', '20', '--batch-size', '10'];
    const generating = generate({ transport, url: tap.url, token: application.token, args });
    await Promise.race([tap.answered(unavailable.status), generating]);
    on.stack.engines.nats.resume();
    const log = await generating;
    expect(tap.exchanges[0]?.status).toBe(unavailable.status);
    expect(tracesOf(log)).toBe(20);
    expect(await on.storedSpans(application)).toHaveLength(40);
  });

  it('does not retry the spans that a partial success rejects', async () => {
    const application = await on.application();
    const tap = await transport.startTap(on, traces, 'with');
    const attributes = Array.from({ length: 130 }, (_, index) => ['--telemetry-attributes', `a${index}="1"`]);
    const args = ['--traces', '5', ...attributes.flat()];
    const log = await generate({ transport, url: tap.url, token: application.token, args });
    expect(tracesOf(log)).toBe(5);
    expect(tap.exchanges.map(({ status }) => status)).toEqual([stored.status]);
    expect(await on.storedSpans(application)).toEqual([]);
    expect(log).toContain('too_many_attributes');
  });
});
