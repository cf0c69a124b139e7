import { Agent, request } from 'undici';

export type LoadResult = {
  acknowledged: number;
  requests: number;
  failed: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
};

const percentile = (sorted: readonly number[], share: number): number =>
  Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2));

/** Posts the bodies in turn over so many connections until the time is up. Counts points of requests answered 200. */
export const runLoad = async (
  url: string,
  bodies: readonly Buffer[],
  pointsPerBody: number,
  connections: number,
  seconds: number,
): Promise<LoadResult> => {
  const agent = new Agent({ connections, pipelining: 1 });
  const latencies: number[] = [];
  let next = 0;
  let failed = 0;
  const start = performance.now();
  const end = start + seconds * 1000;
  const worker = async (): Promise<void> => {
    while (performance.now() < end) {
      const body = bodies[next++ % bodies.length];
      if (body === undefined) return;
      const sent = performance.now();
      const response = await request(url, { method: 'POST', body, dispatcher: agent });
      await response.body.dump();
      if (response.statusCode === 200) latencies.push(performance.now() - sent);
      else failed++;
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  const elapsed = (performance.now() - start) / 1000;
  await agent.close();
  latencies.sort((a, b) => a - b);
  return {
    acknowledged: latencies.length * pointsPerBody,
    requests: latencies.length,
    failed,
    seconds: elapsed,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
};
