import { Agent, request } from 'undici';

export type LoadResult = {
  acknowledged: number;
  requests: number;
  failed: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
};

export type Load = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the next request. */
  readonly nextBody: () => Uint8Array;
  readonly itemsPerBody: number;
  readonly connections: number;
};

const percentile = (sorted: readonly number[], share: number): number =>
  Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2));

/** Posts over so many connections until the time is up. Counts items of requests answered 200. */
export const runLoad = async (load: Load, seconds: number): Promise<LoadResult> => {
  const agent = new Agent({ connections: load.connections, pipelining: 1 });
  const latencies: number[] = [];
  let failed = 0;
  const start = performance.now();
  const end = start + seconds * 1000;
  const worker = async (): Promise<void> => {
    while (performance.now() < end) {
      const sent = performance.now();
      const { url, headers } = load;
      const response = await request(url, {
        method: 'POST',
        headers,
        body: load.nextBody(),
        dispatcher: agent,
      });
      await response.body.dump();
      if (response.statusCode === 200) latencies.push(performance.now() - sent);
      else failed++;
    }
  };
  await Promise.all(Array.from({ length: load.connections }, worker));
  const elapsed = (performance.now() - start) / 1000;
  await agent.close();
  latencies.sort((a, b) => a - b);
  return {
    acknowledged: latencies.length * load.itemsPerBody,
    requests: latencies.length,
    failed,
    seconds: elapsed,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
};

/** The bodies in turn, for ever. */
export const inTurn = (bodies: readonly Buffer[]): (() => Uint8Array) => {
  let next = 0;
  return () => bodies[next++ % bodies.length] ?? Buffer.alloc(0);
};

/** Where the first span's id stands in a body, and how many bytes it takes. */
const spanIdPlace = (body: Buffer, encoding: 'json' | 'protobuf'): { at: number; length: number } => {
  if (encoding === 'json') {
    const mark = '"spanId":"';
    return { at: body.indexOf(mark) + mark.length, length: 16 };
  }
  // trace_id: field 1 of 16 bytes; span_id: field 2 of 8 bytes.
  for (let at = body.indexOf(0x0a); at !== -1; at = body.indexOf(0x0a, at + 1)) {
    if (body[at + 1] === 16 && body[at + 18] === 0x12 && body[at + 19] === 8)
      return { at: at + 20, length: 8 };
  }
  throw new Error('the body holds no span');
};

/** The bodies in turn, each time with another id in the first span: a byte-identical request would be a repeat. */
export const allDifferent = (
  bodies: readonly Buffer[],
  encoding: 'json' | 'protobuf',
): (() => Uint8Array) => {
  const places = bodies.map((body) => spanIdPlace(body, encoding));
  let count = 0;
  return () => {
    const index = count % bodies.length;
    const body = Buffer.from(bodies[index] ?? []);
    const { at, length } = places[index] ?? { at: 0, length: 0 };
    const id = (++count).toString(16).padStart(16, '0');
    body.set(length === 16 ? Buffer.from(id) : Buffer.from(id, 'hex'), at);
    return body;
  };
};
