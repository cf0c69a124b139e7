import { Agent, request } from 'undici';
import { createRandom } from '../../../bench/bodies.ts';
import type { Stack } from '../stack/stack.ts';

/** What a producer needs of a custom report. */
export type Target = { data_source: { mon_data_id: number; token: string } };

/** A producer's own record of its points, by the number in their metric `id`. */
export type Books = {
  /** In a request answered 200: owed exactly once. */
  readonly acknowledged: Set<number>;
  /** In a request without an answer, or answered `unconfirmed`: present once or not at all. */
  readonly uncertain: Set<number>;
  /** In a request answered anything else: nothing of it may be there. */
  readonly refused: Set<number>;
  readonly statuses: Map<number, number>;
};

export type ProducerOptions = {
  readonly seed: number;
  readonly connections: number;
  /** Requests of 1 to this many points. */
  readonly pointsMax: number;
  /** Ends after this many points were claimed, or when `until` fires. */
  readonly points?: number;
  readonly until?: AbortSignal;
  /** Receivers to post to, in turn. */
  readonly urls: readonly string[];
};

/** A finite double of any magnitude, from random bits; now and then a special one. */
const anyDouble = (random: () => number): number => {
  const special = [
    0,
    -0,
    5e-324,
    1.7976931348623157e308,
    2.2250738585072014e-308,
    0.1,
    1e21,
    -1e-7,
    2 ** 53,
    1 / 3,
  ];
  if (random() < 0.05) return special[Math.floor(random() * special.length)] ?? 0;
  const view = new DataView(new ArrayBuffer(8));
  for (;;) {
    view.setUint32(0, Math.floor(random() * 2 ** 32));
    view.setUint32(4, Math.floor(random() * 2 ** 32));
    const value = view.getFloat64(0);
    if (Number.isFinite(value)) return value;
  }
};

/** The point of a number: everything in it follows from the number, so that a judge recognises a changed value. */
export const pointOf = (id: number, seed: number, timestamp: number) => {
  const random = createRandom(seed * 1_000_003 + id);
  return {
    metrics: { id, value_a: anyDouble(random), value_b: Math.round(random() * 1e6) / 1e3 },
    target: `target ${id % 97}, "x"`,
    dimension: { module: `m=${id % 7}`, host: `host-${Math.floor(random() * 5000)}` },
    timestamp,
  };
};

/** JSON.stringify writes -0 as 0; a sender in another language does not. */
export const toJson = (point: ReturnType<typeof pointOf>): string => {
  const text = JSON.stringify(point);
  return Object.is(point.metrics.value_a, -0) ? text.replace('"value_a":0', '"value_a":-0') : text;
};

const send = async (
  agent: Agent,
  url: string,
  body: string,
): Promise<{ status: number; reason: string | undefined } | undefined> => {
  try {
    const response = await request(url, { method: 'POST', body, dispatcher: agent, headersTimeout: 30_000 });
    const text = await response.body.text();
    return { status: response.statusCode, reason: /"reason":"(\w+)"/.exec(text)?.[1] };
  } catch {
    return undefined;
  }
};

/** Posts points with consecutive ids, each once: an unkeyed push is never sent again. Waits a little after a refusal. */
export const produce = async (report: Target, baseMs: number, options: ProducerOptions): Promise<Books> => {
  const books: Books = {
    acknowledged: new Set(),
    uncertain: new Set(),
    refused: new Set(),
    statuses: new Map(),
  };
  const agent = new Agent({ connections: options.connections, pipelining: 1 });
  const random = createRandom(options.seed);
  let nextId = 0;
  let turn = 0;
  const total = options.points ?? Number.MAX_SAFE_INTEGER;
  const worker = async (): Promise<void> => {
    while (nextId < total && options.until?.aborted !== true) {
      const count = Math.min(1 + Math.floor(random() ** 3 * options.pointsMax), total - nextId);
      const first = nextId;
      nextId += count;
      const ids = Array.from({ length: count }, (_, index) => first + index);
      const points = ids.map((id) => toJson(pointOf(id, options.seed, baseMs + (id % 10_000))));
      const { mon_data_id: dataId, token } = report.data_source;
      const body = `{"data_id":${dataId},"access_token":"${token}","data":[${points.join(',')}]}`;
      const answer = await send(agent, options.urls[turn++ % options.urls.length] ?? '', body);
      const status = answer?.status ?? 0;
      books.statuses.set(status, (books.statuses.get(status) ?? 0) + 1);
      const book =
        status === 200
          ? books.acknowledged
          : answer === undefined || answer.reason === 'unconfirmed'
            ? books.uncertain
            : books.refused;
      for (const id of ids) book.add(id);
      if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await Promise.all(Array.from({ length: options.connections }, worker));
  await agent.close();
  return books;
};

/** The errors in the table; all zero when the promise holds. */
export type Verdict = { missing: number; twice: number; unexpected: number; changed: number };

/** Holds rows (id, value_a, value_b, target, module, host) against the books: ids and every value. */
export const judgeRows = (rows: readonly unknown[][], books: Books, seed: number): Verdict => {
  const seen = new Map<number, number>();
  const verdict: Verdict = { missing: 0, twice: 0, unexpected: 0, changed: 0 };
  for (const [id, valueA, valueB, target, module, host] of rows) {
    const number = Number(id);
    seen.set(number, (seen.get(number) ?? 0) + 1);
    const expected = pointOf(number, seed, 0);
    const same =
      Object.is(valueA, expected.metrics.value_a) &&
      Object.is(valueB, expected.metrics.value_b) &&
      target === expected.target &&
      module === expected.dimension.module &&
      host === expected.dimension.host;
    if (!same) verdict.changed++;
  }
  for (const id of books.acknowledged) if (!seen.has(id)) verdict.missing++;
  for (const [id, times] of seen) {
    if (times > 1) verdict.twice++;
    if (!books.acknowledged.has(id) && !books.uncertain.has(id)) verdict.unexpected++;
  }
  return verdict;
};

/** Holds the table against the books, once the streams are empty. */
export const judge = async (stack: Stack, table: string, books: Books, seed: number): Promise<Verdict> => {
  const { dataset } = await stack.query(`SELECT id, value_a, value_b, target, module, host FROM "${table}"`);
  return judgeRows(dataset, books, seed);
};

export const cleanVerdict: Verdict = { missing: 0, twice: 0, unexpected: 0, changed: 0 };
