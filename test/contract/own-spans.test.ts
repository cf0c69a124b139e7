import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownSpansMark } from '../../src/telemetry/tracing.ts';
import { engineVariables } from '../support/stack/fetch-engine.ts';
import { type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { until } from '../support/until.ts';

// All roles send the spans of their own work to the trace receiver of this same stack, every request of it sampled.
let stack: Stack;
let report: Report;
let app: { app_id: number; token: string };

const configIn = (folder: string): string => join(folder, 'tracing.yaml');

beforeAll(async () => {
  stack = await startStack({
    traces: true,
    roleEnv: (_, { folder }) => {
      writeFileSync(configIn(folder), '{}\n');
      return Promise.resolve({ TIDEMARK_CONFIG: configIn(folder) });
    },
  });
  report = await stack.createReport('traced');
  app = await stack.createApplication('tidemark');
  const url = `http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}`;
  writeFileSync(
    configIn(stack.folder),
    `tracing:\n  url: ${url}\n  headers: X-MON-TOKEN=${app.token}\n  sample_ratio: 1\n`,
  );
  for (const role of [stack.metadata, ...stack.ingress, ...stack.transfer]) {
    expect(await role.stop()).toBe(0);
    role.start();
  }
  await stack.ready();
});
afterAll(() => stack?.stop());

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

const push = (headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      data_id: report.data_source.mon_data_id,
      access_token: report.data_source.token,
      data: [{ metrics: { cpu: 1 }, timestamp: 1_700_000_000_000 }],
    }),
  });

const otlpBody = (attributes: readonly string[], traceId: string): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributes.map((key) => ({ key, value: { boolValue: true } })) },
        scopeSpans: [
          {
            spans: [
              {
                traceId,
                spanId: hex(8),
                name: 'a span',
                startTimeUnixNano: `${Date.now()}000000`,
                endTimeUnixNano: `${Date.now()}000000`,
              },
            ],
          },
        ],
      },
    ],
  });

const exportSpans = (body: string, contentType = 'application/json'): Promise<Response> =>
  fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'Content-Type': contentType, 'X-MON-TOKEN': app.token },
    body,
  });

/** The trace that an answer names. */
const traceOf = (response: Response): string =>
  /^00-([0-9a-f]{32})-/.exec(response.headers.get('traceresponse') ?? '')?.[1] ?? '';

type Row = { readonly service: unknown; readonly name: unknown; readonly parent: unknown };

/** The steps of one trace, each with the name of the one it belongs to. */
const stepsOf = async (traceId: string): Promise<Row[]> => {
  const rows = await stack.spansQuery(
    `SELECT child.ServiceName AS service, child.SpanName AS name, parent.SpanName AS parent
       FROM (SELECT * FROM otel.otel_traces FINAL WHERE TraceId = '${traceId}') AS child
       LEFT JOIN (SELECT * FROM otel.otel_traces FINAL WHERE TraceId = '${traceId}') AS parent ON child.ParentSpanId = parent.SpanId
      ORDER BY service, name`,
  );
  return rows.map(({ service, name, parent }) => ({ service, name, parent }));
};

const stepsOnce = (traceId: string, count: number): Promise<Row[]> =>
  until(
    `${count} spans of trace ${traceId}`,
    async () => {
      const rows = await stepsOf(traceId);
      if (rows.length < count) throw new Error(JSON.stringify(rows));
      return rows;
    },
    120_000,
  );

const operations = readFileSync(resolve(import.meta.dirname, '../../docs/operations.md'), 'utf8');

/** What the command of docs/operations.md prints of a trace, line by line. */
const followed = async (traceId: string): Promise<string[]> => {
  const block = /```sh\n(curl -s -u "\$CLICKHOUSE_USER[^`]+?)```/.exec(operations)?.[1] ?? 'false';
  const command = block.replace('<trace id>', traceId);
  const env = { ...process.env, ...engineVariables(stack.engines) };
  const { stdout } = await promisify(execFile)('sh', ['-ec', command], { env });
  return stdout.split('\n');
};

const line = (pipeline: string, route: string, store: string) => [
  { service: 'tidemark-ingress', name: `POST ${route}`, parent: '' },
  { service: 'tidemark-ingress', name: `publish ${pipeline}`, parent: `POST ${route}` },
  { service: 'tidemark-transfer', name: `insert ${store}`, parent: `write ${store}` },
  { service: 'tidemark-transfer', name: `process ${pipeline}`, parent: `publish ${pipeline}` },
  { service: 'tidemark-transfer', name: `settle ${pipeline}`, parent: `process ${pipeline}` },
  { service: 'tidemark-transfer', name: `write ${store}`, parent: `process ${pipeline}` },
];

describe('spans of the program itself', () => {
  // To find why a request hangs, an operator needs every station of it under the trace that its sender knows.
  it('lead one push through ingress, bus and transfer into QuestDB, in the trace of its sender', async () => {
    const traceId = hex(16);
    const answer = await push({ traceparent: `00-${traceId}-${hex(8)}-01` });
    expect([answer.status, traceOf(answer)]).toEqual([200, traceId]);
    expect(await stepsOnce(traceId, 6)).toEqual(line('metrics', '/v2/push/', 'QuestDB'));
    const [request] = await stack.spansQuery(
      `SELECT SpanAttributes['http.response.status_code'] AS status, SpanAttributes['tidemark.items'] AS items
         FROM otel.otel_traces FINAL WHERE TraceId = '${traceId}' AND SpanKind = 'Server'`,
    );
    expect(request).toEqual({ status: '200', items: '1' });
  });

  it('lead an export of spans into ClickHouse, in a trace that its answer names', async () => {
    const answer = await exportSpans(otlpBody([], hex(16)));
    expect(answer.status).toBe(200);
    expect(await stepsOnce(traceOf(answer), 6)).toEqual(line('traces', '/v1/traces', 'ClickHouse'));
  });

  // A browser hides every field of an answer that is not exposed: its SDK could not name the trace.
  it('are named to the pages that export spans: the answer exposes traceresponse, stored or refused', async () => {
    for (const [body, status] of [
      [otlpBody([], hex(16)), 200],
      ['{"resourceSpans":5}', 400],
    ] as const) {
      const answer = await exportSpans(body);
      const exposed = answer.headers.get('access-control-expose-headers')?.split(/, */) ?? [];
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, '*']);
      expect(exposed).toContain('traceresponse');
      expect(traceOf(answer)).toMatch(/^[0-9a-f]{32}$/);
    }
  });

  it('show a call of the admin API, in the trace of its caller', async () => {
    const traceId = hex(16);
    const answer = await fetch(`http://127.0.0.1:${stack.metadata.ports['api']}/api/v1/custom-reports`, {
      headers: { Authorization: `Bearer ${stack.adminToken()}`, traceparent: `00-${traceId}-${hex(8)}-01` },
    });
    expect([answer.status, traceOf(answer)]).toEqual([200, traceId]);
    expect(await stepsOnce(traceId, 1)).toEqual([
      { service: 'tidemark-metadata', name: 'GET /api/v1/custom-reports', parent: '' },
    ]);
    const [span] = await stack.spansQuery(
      `SELECT SpanAttributes['tidemark.request_id'] AS id, SpanAttributes['http.response.status_code'] AS status
         FROM otel.otel_traces FINAL WHERE TraceId = '${traceId}'`,
    );
    expect(span).toEqual({ id: answer.headers.get('X-Request-Id'), status: '200' });
  });

  it('are omitted where the sender does not sample', async () => {
    const answer = await push({ traceparent: `00-${hex(16)}-${hex(8)}-00` });
    expect([answer.status, answer.headers.get('traceresponse')]).toEqual([200, null]);
  });

  // Each export of spans would make spans of its own, which are exported: a stack that is never at rest again.
  it('are not made of requests with such spans, on any way, nor of a request whose body was not read', async () => {
    const relayed = await exportSpans(otlpBody(['service.name', ownSpansMark], hex(16)));
    expect([relayed.status, relayed.headers.get('traceresponse')]).toEqual([200, null]);
    const unseen = await exportSpans('x', 'text/plain');
    expect([unseen.status, unseen.headers.get('traceresponse')]).toEqual([415, null]);
    // Spans of all requests before it are stored: by then their exports would have left spans, too.
    const last = await push();
    await stepsOnce(traceOf(last), 6);
    const exports = await stack.spansQuery(
      `SELECT count() AS traced, uniqExact(TraceId) AS traces FROM otel.otel_traces FINAL
        WHERE SpanName = 'POST /v1/traces' AND ServiceName = 'tidemark-ingress'`,
    );
    // The three exports of the tests above.
    expect(exports).toEqual([{ traced: '3', traces: '3' }]);
  });

  // Under load a request's own trace ends at a message that it shares.
  it('lead from each request to the write by the documented command, where requests share messages and writes', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => push()));
    const traces = answers.map(traceOf);
    expect(new Set(traces).size).toBe(20);
    for (const traceId of traces) {
      await until(
        `the write of ${traceId}`,
        async () => {
          const lines = await followed(traceId);
          return lines.some((line) => line.includes('insert QuestDB'));
        },
        120_000,
      );
    }
  });

  it('do not change the identity of a message: a repeat without them is a repeat', async () => {
    const before = Number(
      (await stack.query(`SELECT count() FROM "${report.result_table.table_id}"`)).dataset[0]?.[0],
    );
    const key = hex(8);
    for (const flag of ['01', '00', '01']) {
      const traceparent = `00-${hex(16)}-${hex(8)}-${flag}`;
      expect((await push({ 'Idempotency-Key': key, traceparent })).status).toBe(200);
    }
    await stack.waitForEmptyStream('METRICS');
    await stack.waitForRows(report.result_table.table_id, before + 1);
    const metrics = (await stack.ingress[0]?.metrics()) ?? '';
    expect(metrics).toMatch(/tidemark_ingress_duplicate_requests_total\{[^}]*pipeline="metrics"[^}]*\} 2\n/);
  });

  it('hold no token, and their makers write none into the log', async () => {
    const rows = await stack.spansQuery(
      `SELECT toString(tuple(*)) AS text FROM otel.otel_traces FINAL WHERE ServiceName LIKE 'tidemark-%'`,
    );
    const text = [
      ...rows.map((row) => String(row['text'])),
      ...stack.ingress.flatMap(({ lines }) => lines),
      ...stack.transfer.flatMap(({ lines }) => lines),
    ].join('\n');
    expect(rows.length).toBeGreaterThan(0);
    expect(text).not.toContain(app.token);
    expect(text).not.toContain(report.data_source.token);
  });
});
