import { Agent, request } from 'undici';
import { createRandom } from '../../../bench/bodies.ts';
import type { Application, Stack } from '../stack/stack.ts';

/** A producer's own record of its spans, by the number in their attribute `id`. */
export type SpanBooks = {
  /** In a request answered 200: owed exactly once. */
  readonly acknowledged: Set<number>;
  /** In a request that was never answered 200, though sent until the end: present once or not at all. */
  readonly uncertain: Set<number>;
  readonly statuses: Map<number, number>;
};

export type SpanProducerOptions = {
  readonly seed: number;
  readonly connections: number;
  /** Requests of 1 to this many spans. */
  readonly spansMax: number;
  readonly spans?: number;
  readonly until?: AbortSignal;
  readonly urls: readonly string[];
  readonly token: string;
};

const hex = (random: () => number, bytes: number): string =>
  Array.from({ length: bytes }, () =>
    Math.floor(random() * 256)
      .toString(16)
      .padStart(2, '0'),
  ).join('');

/** The span of a number: everything in it follows from the number. */
export const spanOf = (id: number, seed: number, baseSeconds: number) => {
  const random = createRandom(seed * 1_000_003 + id);
  const traceId = hex(createRandom(seed * 7919 + Math.floor(id / 5)), 16);
  const start = BigInt(baseSeconds + (id % 60)) * 1_000_000_000n + BigInt(Math.floor(random() * 1e9));
  const duration = BigInt(Math.floor(random() * 1e9));
  return {
    traceId,
    spanId: hex(random, 8),
    name: `operation ${id % 13}`,
    kind: 1 + (id % 5),
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + duration),
    attributes: [
      { key: 'id', value: { intValue: String(id) } },
      { key: 'http.route', value: { stringValue: `/things/${Math.floor(random() * 100)}` } },
      { key: 'ratio', value: { doubleValue: random() } },
    ],
    status: { code: id % 3 },
  };
};

const bodyOf = (ids: readonly number[], seed: number, baseSeconds: number): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: {
          attributes: [{ key: 'service.name', value: { stringValue: `service-${(ids[0] ?? 0) % 4}` } }],
        },
        scopeSpans: [
          { scope: { name: 'test', version: '1' }, spans: ids.map((id) => spanOf(id, seed, baseSeconds)) },
        ],
      },
    ],
  });

const send = async (agent: Agent, url: string, token: string, body: string): Promise<number> => {
  try {
    const response = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-mon-token': token },
      body,
      dispatcher: agent,
      headersTimeout: 30_000,
    });
    await response.body.dump();
    return response.statusCode;
  } catch {
    return 0;
  }
};

/** Exports spans with consecutive ids; like an SDK, a request is sent again with the same bytes until it is answered 200. */
export const exportSpans = async (baseSeconds: number, options: SpanProducerOptions): Promise<SpanBooks> => {
  const books: SpanBooks = { acknowledged: new Set(), uncertain: new Set(), statuses: new Map() };
  const agent = new Agent({ connections: options.connections, pipelining: 1 });
  const random = createRandom(options.seed);
  const total = options.spans ?? Number.MAX_SAFE_INTEGER;
  let nextId = 0;
  let turn = 0;
  const worker = async (): Promise<void> => {
    while (nextId < total && options.until?.aborted !== true) {
      const count = Math.min(1 + Math.floor(random() ** 3 * options.spansMax), total - nextId);
      const first = nextId;
      nextId += count;
      const ids = Array.from({ length: count }, (_, index) => first + index);
      const body = bodyOf(ids, options.seed, baseSeconds);
      const giveUpAt = Date.now() + 60_000;
      let status = 0;
      while (status !== 200 && Date.now() < giveUpAt) {
        status = await send(agent, options.urls[turn++ % options.urls.length] ?? '', options.token, body);
        books.statuses.set(status, (books.statuses.get(status) ?? 0) + 1);
        if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 100));
      }
      for (const id of ids) (status === 200 ? books.acknowledged : books.uncertain).add(id);
    }
  };
  await Promise.all(Array.from({ length: options.connections }, worker));
  await agent.close();
  return books;
};

export type SpanVerdict = { missing: number; twice: number; unexpected: number; changed: number };

export const cleanSpanVerdict: SpanVerdict = { missing: 0, twice: 0, unexpected: 0, changed: 0 };

/** The query whose rows `judgeSpans` takes: plain, so that a row stored twice is seen twice. */
export const spansSql = (appId: number): string =>
  `SELECT TraceId, SpanId, SpanName, toString(toUnixTimestamp64Nano(Timestamp)) AS start, toString(Duration) AS duration, SpanAttributes FROM otel.otel_traces WHERE AppId = ${appId}`;

/** Holds rows against the books: ids and every value. */
export const judgeSpans = (
  rows: readonly Record<string, unknown>[],
  books: SpanBooks,
  seed: number,
  baseSeconds: number,
): SpanVerdict => {
  const verdict: SpanVerdict = { missing: 0, twice: 0, unexpected: 0, changed: 0 };
  const seen = new Set<number>();
  for (const row of rows) {
    const attributes: Record<string, string> = JSON.parse(JSON.stringify(row['SpanAttributes']));
    const id = Number(attributes['id']);
    if (seen.has(id)) verdict.twice++;
    seen.add(id);
    const expected = spanOf(id, seed, baseSeconds);
    const isSame =
      row['TraceId'] === expected.traceId &&
      row['SpanId'] === expected.spanId &&
      row['SpanName'] === expected.name &&
      row['start'] === expected.startTimeUnixNano &&
      row['duration'] === String(BigInt(expected.endTimeUnixNano) - BigInt(expected.startTimeUnixNano)) &&
      attributes['http.route'] === expected.attributes[1]?.value.stringValue;
    if (!isSame) verdict.changed++;
    if (!books.acknowledged.has(id) && !books.uncertain.has(id)) verdict.unexpected++;
  }
  for (const id of books.acknowledged) if (!seen.has(id)) verdict.missing++;
  return verdict;
};

/** Where a receiver of the stack takes traces. */
export const tracesUrl = (stack: Stack, index = 0): string =>
  `http://127.0.0.1:${stack.ingress[index]?.ports['otlp']}/v1/traces`;

/** Rows of an application, as a plain query counts them. */
export const countOf = async (stack: Stack, appId: number): Promise<number> => {
  const [row] = await stack.spansQuery(
    `SELECT count() AS spans FROM otel.otel_traces WHERE AppId = ${appId}`,
  );
  return Number(row?.['spans']);
};

/** Checks the stored spans of an application's exporter, once none of them is in the stream any more. */
export const settleAndJudge = async (
  stack: Stack,
  application: Application,
  books: SpanBooks,
  seed: number,
  baseSeconds: number,
): Promise<SpanVerdict> => {
  await stack.waitForEmptyStream('TRACES', 150_000);
  return judgeSpans(await stack.spansQuery(spansSql(application.app_id)), books, seed, baseSeconds);
};
