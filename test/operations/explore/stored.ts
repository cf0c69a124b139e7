import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { createCli } from '../../support/clients/cli.ts';
import type { TestEngines } from '../../support/stack/engines.ts';
import { type Application, type Report, type Stack, startStack } from '../../support/stack/stack.ts';

export let stack: Stack;
export let wide: Report;
export let narrow: Report;
export let application: Application;
export const tokens = { viewer: '', editor: '' };

export const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));

/** The start of an hour that is over: no bucket of it changes. */
export const hour = Math.floor(Date.now() / 3_600_000) * 3_600 - 3_600;
export const until = hour + 3_600;

export const hostileTexts = [
  `'; DROP TABLE "x"; --`,
  `" OR 1 = 1`,
  "it''s \\' \\",
  '<script>alert(1)</script>',
  '\u202eabc\u0007\u001b[31m',
  '=cmd|calc',
  '{id:String} $x $1 ?',
  '😀\n\r\t',
  '__proto__',
];

type Point = {
  metrics: Record<string, number>;
  target: string;
  dimension: Record<string, string>;
  timestamp: number;
};

/** 25 hosts, of which host n has n + 1 points, and points with hostile values of a dimension. */
export const points: Point[] = [
  ...Array.from({ length: 25 }, (_, host) =>
    Array.from({ length: host + 1 }, (_, index) => ({
      metrics: { cpu: host + index / 10, mem: host * 100 },
      target: host % 2 === 0 ? 'even' : 'odd',
      dimension: { host: `h${host}`, zone: host < 10 ? 'a' : 'b' },
      timestamp: (hour + index * 120 + host) * 1_000,
    })),
  ).flat(),
  ...hostileTexts.map((text, index) => ({
    metrics: { temperature: index },
    target: 'odd',
    dimension: { label: text },
    timestamp: (hour + index) * 1_000,
  })),
];

const push = async ({ data_source: { mon_data_id: dataId, token } }: Report): Promise<void> => {
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    body: JSON.stringify({ data_id: dataId, access_token: token, data: points }),
  });
  expect([response.status, await response.text()]).toMatchObject([200, expect.anything()]);
};

export const traceIds = Array.from({ length: 30 }, (_, index) => (index + 1).toString(16).padStart(32, '0'));
export const nanos = (offset: number): string => `${BigInt(hour) * 1_000_000_000n + BigInt(offset)}`;
const text = (value: string) => ({ stringValue: value });

/** Of each trace a root and two children, one of them slow and failed in every third; the names of trace 0 are hostile. */
const spansOf = (traceId: string, index: number) => {
  const at = index * 1_000_000_000;
  const span = (id: number, parent: number, more: object) => ({
    traceId,
    spanId: `${index}${id}`.padStart(16, 'a'),
    ...(parent === 0 ? {} : { parentSpanId: `${index}${parent}`.padStart(16, 'a') }),
    startTimeUnixNano: nanos(at + id * 1_000),
    endTimeUnixNano: nanos(at + id * 1_000 + 1_500_000),
    ...more,
  });
  return [
    span(1, 0, { name: index === 0 ? (hostileTexts[0] ?? '') : 'GET /cart', kind: 2 }),
    span(2, 1, {
      name: 'query',
      attributes: [
        { key: 'db.statement', value: text(hostileTexts[index % hostileTexts.length] ?? '') },
        { key: '__proto__', value: text('polluted') },
      ],
      events: [
        { timeUnixNano: nanos(at + 5_000), name: 'cache.miss', attributes: [{ key: 'k', value: text('v') }] },
      ],
      links: [{ traceId: traceIds[1], spanId: 'bbbbbbbbbbbbbbbb', attributes: [] }],
    }),
    span(3, 1, {
      name: 'slow',
      ...(index % 3 === 0
        ? { status: { code: 2, message: 'no' }, endTimeUnixNano: nanos(at + 700_000_000) }
        : {}),
    }),
  ];
};

const sendSpans = async (): Promise<void> => {
  const resource = {
    attributes: [
      { key: 'service.name', value: text('cart') },
      { key: 'host.name', value: text("it's") },
    ],
  };
  const body = {
    resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'lib' }, spans: traceIds.flatMap(spansOf) }] }],
  };
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': application.token },
    body: JSON.stringify(body),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.not.stringContaining('rejected')]);
};

export const issued = async (role: string): Promise<string> => {
  const { body } = await stack.api('POST', '/api/v1/admin-tokens', { name: role, role });
  return z.object({ token: z.string() }).parse(body).token;
};

beforeAll(async () => {
  stack = await startStack({
    traces: true,
    roleEnv: async (role, { reader }): Promise<Record<string, string>> =>
      role === 'metadata' ? readonlyUsers({ reader }) : {},
  });
  wide = await stack.createReport('wide');
  narrow = await stack.createReport('narrow', { is_split_measurement: true });
  application = await stack.createApplication('explored');
  tokens.viewer = await issued('viewer');
  tokens.editor = await issued('editor');
  await Promise.all([push(wide), push(narrow), sendSpans()]);
  await stack.waitForRows(wide.result_table.table_id, points.length);
  const values = points.reduce((sum, { metrics }) => sum + Object.keys(metrics).length, 0);
  await stack.waitForRows(narrow.result_table.table_id, values);
  await stack.waitForEmptyStream('TRACES');
});
afterAll(() => stack?.stop());

export const readonlyUsers = ({ reader }: Pick<TestEngines, 'reader'>): Record<string, string> => ({
  TIDEMARK_QUESTDB_READONLY_USER: reader.user,
  TIDEMARK_QUESTDB_READONLY_PASSWORD: reader.password,
  TIDEMARK_CLICKHOUSE_READONLY_USER: reader.user,
  TIDEMARK_CLICKHOUSE_READONLY_PASSWORD: reader.password,
});

const series = z.object({
  metric: z.string(),
  group: z.array(z.string().nullable()),
  rows: z.number().nullable(),
  values: z.array(z.number().nullable()),
});
export const pointsAnswer = z.object({
  step: z.number().nullable(),
  buckets: z.array(z.number()),
  series: z.array(series),
  series_total: z.number(),
  truncated: z.boolean(),
  raw: z.object({ columns: z.array(z.string()), rows: z.array(z.array(z.unknown())) }).nullable(),
  sql: z.array(z.string()),
});

export type Asked = Record<string, unknown>;

export const ask = (path: string, body: Asked, method = 'POST') => stack.api(method, path, body);

export const askPoints = (body: Asked, report = wide) =>
  ask('/api/v1/query/points', {
    data_id: report.data_source.mon_data_id,
    metrics: ['cpu'],
    since: hour,
    until,
    ...body,
  });

export const seriesOf = async (body: Asked, report = wide) => {
  const { status, body: answer } = await askPoints(body, report);
  expect([status, status === 200 ? '' : answer]).toEqual([200, '']);
  return pointsAnswer.parse(answer);
};

export const secondsOf = (timestamp: unknown): number => Date.parse(String(timestamp)) / 1_000;
