import { randomUUID } from 'node:crypto';
import { splitAccount } from '../stack/fetch-engine.ts';
import { waitFor } from '../wait.ts';

/** What was acknowledged: points of a data id, and spans of an application. */
export type Books = { points: number; spans: number; requests: number; retries: number };

export type Producer = {
  readonly books: Readonly<Books>;
  /** Resolves once this many further requests of each kind were acknowledged. */
  more(requests: number): Promise<void>;
  /** Ends after the requests under way, each of them acknowledged. */
  stop(): Promise<void>;
};

export type Target = {
  readonly pushUrl: string;
  readonly otlpUrl: string;
  readonly dataId: number;
  readonly pushToken: string;
  readonly writeToken: string;
};

const pointsEach = 20;
const spansEach = 10;
const giveUpMs = 240_000;

/**
 * Sends points and spans without a pause and sends each request again, with its key and byte for byte, until it is
 * acknowledged: what a producer does that loses nothing.
 */
export const startProducer = (target: Target): Producer => {
  const books: Books = { points: 0, spans: 0, requests: 0, retries: 0 };
  const acknowledged = { push: 0, export: 0 };
  let isStopping = false;
  let made = 0;
  const firstMs = Date.now() - 600_000;

  const untilTaken = async (url: string, body: string, headers: Record<string, string>): Promise<void> => {
    const sentAt = performance.now();
    for (;;) {
      const answer = await fetch(url, {
        method: 'POST',
        body,
        headers,
        signal: AbortSignal.timeout(15_000),
      }).then(
        async (response) => ({ status: response.status, text: await response.text() }),
        (error: unknown) => ({ status: 0, text: String(error) }),
      );
      if (answer.status === 200) {
        // Nothing may be dropped on the way: each of these items is valid.
        // A repeat is answered with 0 rejected spans.
        if (/dropped|"rejectedSpans":"[1-9]/.test(answer.text)) throw new Error(answer.text);
        return;
      }
      if (performance.now() - sentAt > giveUpMs) throw new Error(`${url}: ${answer.status} ${answer.text}`);
      books.retries += 1;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  const push = async (): Promise<void> => {
    const data = Array.from({ length: pointsEach }, () => {
      made += 1;
      return { metrics: { number: made }, target: 'container', timestamp: firstMs + made };
    });
    const body = JSON.stringify({ data_id: target.dataId, access_token: target.pushToken, data });
    await untilTaken(`${target.pushUrl}/v2/push/`, body, { 'Idempotency-Key': randomUUID() });
    books.points += pointsEach;
    acknowledged.push += 1;
  };

  const exportSpans = async (): Promise<void> => {
    const traceId = randomUUID().replaceAll('-', '');
    const time = `${Date.now()}000000`;
    const spans = Array.from({ length: spansEach }, (_, index) => ({
      ...{ traceId, spanId: String(index + 1).padStart(16, '0'), name: 'work', kind: 1 },
      ...{ startTimeUnixNano: time, endTimeUnixNano: time },
    }));
    const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
    const headers = { 'Content-Type': 'application/json', 'X-MON-TOKEN': target.writeToken };
    await untilTaken(`${target.otlpUrl}/v1/traces`, body, headers);
    books.spans += spansEach;
    acknowledged.export += 1;
  };

  let failure: unknown;
  const loop = async (send: () => Promise<void>): Promise<void> => {
    while (!isStopping) {
      await send();
      books.requests += 1;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  };
  const loops = [loop(push), loop(exportSpans)].map((ends) =>
    ends.catch((error: unknown) => {
      failure ??= error;
      isStopping = true;
    }),
  );
  const check = (): void => {
    if (failure !== undefined) throw failure;
  };
  return {
    books,
    more: async (requests) => {
      const { push: pushed, export: exported } = acknowledged;
      await waitFor(`${requests} further requests are acknowledged`, giveUpMs, async () => {
        if (failure !== undefined) return true;
        return acknowledged.push >= pushed + requests && acknowledged.export >= exported + requests;
      });
      check();
    },
    stop: async () => {
      isStopping = true;
      await Promise.all(loops);
      check();
    },
  };
};

const ask = async (address: string, init: RequestInit = {}): Promise<string> => {
  const { url, headers } = splitAccount(address);
  const response = await fetch(url, { ...init, headers });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
};

/** The first value of a query, from QuestDB's HTTP interface. */
export const questdbNumber = async (url: string, sql: string): Promise<number> => {
  const answer: { dataset: number[][] } = JSON.parse(
    await ask(`${url}/exec?query=${encodeURIComponent(sql)}`),
  );
  return Number(answer.dataset[0]?.[0]);
};

/** The first value of a query, from ClickHouse's HTTP interface. */
export const clickhouseNumber = async (url: string, sql: string): Promise<number> =>
  Number(await ask(url, { method: 'POST', body: sql }));
