import { request } from 'undici';
import type { Stack } from '../stack/stack.ts';
import { untilApplied } from '../until-applied.ts';
import { waitFor } from '../wait.ts';

/** What is stored of a batch: rows as a plain count sees them, and different uids among them. */
export type Stored = {
  readonly rows: number;
  readonly uids: number;
  /** Spans: traces that the lookup table lacks. */
  readonly lostTraces: number;
};

/** The same, and the contents of the outcome records. */
export type Settled = Stored & {
  /** Items that requests answered 2xx brought, as recorded. */
  readonly received: number;
  /** Those of them that are stored, as recorded. */
  readonly recorded: number;
};

export const storedOnce = (rows: number): Stored => ({ rows, uids: rows, lostTraces: 0 });

/** Every item is stored once and recorded once, and so is nothing else. */
export const settledOnce = (items: number): Settled => ({
  ...storedOnce(items),
  received: items,
  recorded: items,
});

/** One request of a producer or exporter, which sends the same bytes each time. */
export type Batch = {
  readonly items: number;
  readonly stream: 'METRICS' | 'TRACES' | 'OTEL_METRICS';
  readonly body: string;
  /** Status and body of the answer, `unanswered` when the connection ended without one. */
  send(receiver?: number, body?: string): Promise<{ status: number | 'unanswered'; text: string }>;
  /** As a client does that had no answer: the same bytes until the answer is 200, whose text is answered. */
  sendUntilTaken(receiver?: number): Promise<string>;
  /** What is stored and recorded once nothing is on its way any more. */
  settled(): Promise<Settled>;
  /** What is stored now. */
  stored(): Promise<Stored>;
};

type Wire = { url(receiver: number): string; headers: Record<string, string>; body: string };

const sender = ({ url, headers, body: own }: Wire): Pick<Batch, 'send' | 'sendUntilTaken'> => {
  const send: Batch['send'] = async (receiver = 0, body = own) => {
    try {
      const answer = await request(url(receiver), {
        method: 'POST',
        headers,
        body,
        headersTimeout: 60_000,
        reset: true,
      });
      return { status: answer.statusCode, text: await answer.body.text() };
    } catch {
      return { status: 'unanswered', text: '' };
    }
  };
  return {
    send,
    sendUntilTaken: (receiver = 0) =>
      waitFor('the request is taken', 60_000, async () => {
        const { status, text } = await send(receiver);
        return status === 200 && text;
      }),
  };
};

const recorded = async (stack: Stack, whose: string) => {
  await stack.waitForEmptyStream('LEDGER');
  const [row] = await stack.spansQuery(
    `SELECT sum(received) AS received, sum(outcomes['stored']) AS recorded
     FROM otel.ingest_outcomes FINAL WHERE ${whose}`,
  );
  return { received: Number(row?.['received']), recorded: Number(row?.['recorded']) };
};

export type PointsOptions = {
  readonly items?: number;
  /** Without it each request is a new one. */
  readonly key?: string;
  /** Characters of each point's target: 3000 points of 400 take two messages. */
  readonly targetLength?: number;
  readonly metric?: string;
  /** From one point to the next, ms; the first is a minute old. */
  readonly stepMs?: number;
};

export type PointsBatch = Batch & {
  readonly table: string;
  readonly dataId: number;
  readonly accessToken: string;
  /** Pushes other points to the same report, without a key. */
  push(data: readonly object[], receiver?: number): Promise<Response>;
};

/** A push of points to a report of its own. */
export const pointsBatch = async (
  stack: Stack,
  name: string,
  { items = 20, key, targetLength = 10, metric = 'value', stepMs = 1 }: PointsOptions = {},
): Promise<PointsBatch> => {
  const report = await stack.createReport(name);
  const { mon_data_id: dataId, token } = report.data_source;
  const { table_id: table } = report.result_table;
  const baseMs = Date.now() - 60_000;
  const data = Array.from({ length: items }, (_, index) => ({
    metrics: { [metric]: index },
    target: 't'.repeat(targetLength),
    timestamp: baseMs + index * stepMs,
  }));
  const url = (receiver: number): string =>
    `http://127.0.0.1:${stack.ingress[receiver]?.ports['push']}/v2/push/`;
  const body = JSON.stringify({ data_id: dataId, access_token: token, data });
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  const { send, sendUntilTaken } = sender({ url, headers, body });
  const stored: Batch['stored'] = async () => {
    const { dataset } = await stack.query(`SELECT count(), count_distinct(uid) FROM "${table}"`);
    return { rows: Number(dataset[0]?.[0]), uids: Number(dataset[0]?.[1]), lostTraces: 0 };
  };
  const pushTo = (receiver: number, data: readonly object[]): Promise<Response> =>
    fetch(url(receiver), {
      method: 'POST',
      body: JSON.stringify({ data_id: dataId, access_token: token, data }),
    });
  await waitFor('the receivers know the report', 60_000, async () => {
    const answers = await Promise.all(stack.ingress.map((_, receiver) => pushTo(receiver, [])));
    // Nothing of it can be kept, but whose it is was known.
    return answers.every(({ status }) => status === 400);
  });
  return {
    items,
    stream: 'METRICS',
    table,
    dataId,
    accessToken: token,
    body,
    push: (data, receiver = 0) => pushTo(receiver, data),
    send,
    sendUntilTaken,
    stored,
    settled: async () => {
      await stack.waitForEmptyStream('METRICS');
      await untilApplied(stack);
      return { ...(await stored()), ...(await recorded(stack, `data_id = ${dataId}`)) };
    },
  };
};

/** Waits until every receiver takes exports under this token. */
const untilKnown = async (stack: Stack, path: string, token: string): Promise<void> => {
  const headers = { 'content-type': 'application/json', 'x-mon-token': token };
  await waitFor('the receivers know the application', 60_000, async () => {
    for (const { ports } of stack.ingress) {
      const url = `http://127.0.0.1:${ports['otlp']}${path}`;
      if ((await fetch(url, { method: 'POST', headers, body: '{}' })).status !== 200) return false;
    }
    return true;
  });
};

export type SpansOptions = {
  readonly items?: number;
  /** Characters of an attribute of each span: 3000 spans of 400 take two messages. */
  readonly attributeLength?: number;
  /** The spans start on this many days. */
  readonly days?: number;
};

let traces = 0;

/** An export of spans, ten of a trace, of an application of its own. */
export const spansBatch = async (
  stack: Stack,
  name: string,
  { items = 20, attributeLength = 10, days = 1 }: SpansOptions = {},
): Promise<Batch & { readonly appId: number; readonly token: string }> => {
  const { app_id: appId, token } = await stack.createApplication(name);
  const baseMs = Date.now() - 60_000;
  const run = ++traces;
  const spans = Array.from({ length: items }, (_, index) => {
    const start = BigInt(baseMs - (index % days) * 86_400_000) * 1_000_000n + BigInt(index);
    return {
      traceId: `${appId.toString(16).padStart(8, '0')}${run.toString(16).padStart(8, '0')}${Math.floor(
        index / 10,
      )
        .toString(16)
        .padStart(16, '1')}`,
      spanId: (index + 1).toString(16).padStart(16, '0'),
      name: 'operation',
      kind: 1,
      startTimeUnixNano: String(start),
      endTimeUnixNano: String(start + 1_000n),
      attributes: [{ key: 'text', value: { stringValue: 'a'.repeat(attributeLength) } }],
    };
  });
  const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  const { send, sendUntilTaken } = sender({
    url: (receiver) => `http://127.0.0.1:${stack.ingress[receiver]?.ports['otlp']}/v1/traces`,
    headers: { 'content-type': 'application/json', 'x-mon-token': token },
    body,
  });
  const stored: Batch['stored'] = async () => {
    const [row] = await stack.spansQuery(
      `SELECT count() AS rows, uniqExact(uid) AS uids,
        uniqExactIf(TraceId, TraceId NOT IN (SELECT TraceId FROM otel.otel_traces_trace_id_ts)) AS lost
       FROM otel.otel_traces WHERE AppId = ${appId}`,
    );
    return { rows: Number(row?.['rows']), uids: Number(row?.['uids']), lostTraces: Number(row?.['lost']) };
  };
  await untilKnown(stack, '/v1/traces', token);
  return {
    items,
    stream: 'TRACES',
    appId,
    token,
    body,
    send,
    sendUntilTaken,
    stored,
    settled: async () => {
      await stack.waitForEmptyStream('TRACES');
      return { ...(await stored()), ...(await recorded(stack, `app_id = ${appId}`)) };
    },
  };
};

/** An export of data points of an application of its own: gauges and sums, half of the items each. */
export const dataPointsBatch = async (stack: Stack, name: string, items = 20): Promise<Batch> => {
  const { app_id: appId, token } = await stack.createApplication(name);
  const baseMs = Date.now() - 60_000;
  const metrics = Array.from({ length: items }, (_, index) => {
    const dataPoints = [{ timeUnixNano: `${baseMs + index}000000`, asDouble: index }];
    const sum = { dataPoints, aggregationTemporality: 2, isMonotonic: true };
    return { name: `metric ${index}`, ...(index % 2 === 0 ? { gauge: { dataPoints } } : { sum }) };
  });
  const body = JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
  const { send, sendUntilTaken } = sender({
    url: (receiver) => `http://127.0.0.1:${stack.ingress[receiver]?.ports['otlp']}/v1/metrics`,
    headers: { 'content-type': 'application/json', 'x-mon-token': token },
    body,
  });
  const stored: Batch['stored'] = async () => {
    const [row] = await stack.spansQuery(
      `SELECT count() AS rows, uniqExact(uid) AS uids FROM
         (SELECT uid FROM otel.otel_metrics_gauge WHERE AppId = ${appId}
          UNION ALL SELECT uid FROM otel.otel_metrics_sum WHERE AppId = ${appId})`,
    );
    return { rows: Number(row?.['rows']), uids: Number(row?.['uids']), lostTraces: 0 };
  };
  await untilKnown(stack, '/v1/metrics', token);
  return {
    items,
    stream: 'OTEL_METRICS',
    body,
    send,
    sendUntilTaken,
    stored,
    settled: async () => {
      await stack.waitForEmptyStream('OTEL_METRICS');
      return { ...(await stored()), ...(await recorded(stack, `app_id = ${appId}`)) };
    },
  };
};
