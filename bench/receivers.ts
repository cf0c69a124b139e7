import { gzipSync } from 'node:zlib';
import { startStack } from '../test/support/stack/stack.ts';
import { pushBodies } from './bodies.ts';
import { openConnection } from './connection.ts';
import { cpuSeconds } from './processes.ts';
import { spanBodies } from './span-bodies.ts';
import { median, rounded } from './statistics.ts';
import { contentTypes } from './subjects.ts';

/** The cost of an accepted and of a refused request in the ingress process; µs of CPU. */
export type ReceiverRow = {
  readonly request: string;
  readonly accepted_us: number;
  readonly other: string;
  readonly other_us: number;
  readonly ratio: number;
};

const connections = 8;
const turns = 3;
const bodiesCount = 32;

type Requests = {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly bodies: readonly Buffer[];
};

/** µs of CPU that the process spends on one of these requests. */
const spentOn = async (
  pid: number,
  { url, headers = {}, bodies }: Requests,
  seconds: number,
): Promise<number> => {
  const before = cpuSeconds(pid);
  const end = performance.now() + seconds * 1000;
  let sent = 0;
  const sender = async (): Promise<void> => {
    const connection = openConnection(url, headers);
    while (performance.now() < end) await connection.post(bodies[sent++ % bodies.length] ?? Buffer.alloc(0));
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, sender));
  return ((cpuSeconds(pid) - before) / sent) * 1e6;
};

type Pair = {
  readonly request: string;
  readonly accepted: Requests;
  readonly other: string;
  readonly by: Requests;
};

/** Runs both in turn, and compares their medians. */
const compare = async (
  pid: number,
  { request, accepted, other, by }: Pair,
  seconds: number,
): Promise<ReceiverRow> => {
  const spent: [number[], number[]] = [[], []];
  for (let turn = 0; turn < turns; turn++) {
    spent[0].push(await spentOn(pid, accepted, seconds));
    spent[1].push(await spentOn(pid, by, seconds));
  }
  const [acceptedUs, otherUs] = [median(spent[0]), median(spent[1])];
  return {
    request,
    accepted_us: rounded(acceptedUs),
    other,
    other_us: rounded(otherUs),
    ratio: rounded(otherUs / acceptedUs),
  };
};

/**
 * Compares requests over `max_rate` with accepted ones, and a push through the adapter of the routes with one on the short way
 * (`src/ingress/http/hot-route.ts`).
 */
export const measureReceivers = async (seconds: number): Promise<ReceiverRow[]> => {
  const stack = await startStack({ traces: true, env: { TIDEMARK_MAX_RATE_DEFAULT: '0' } });
  try {
    const [ingress] = stack.ingress;
    if (ingress === undefined) throw new Error('no ingress');
    const push = `http://127.0.0.1:${ingress.ports['push']}/v2/push/`;
    const otlp = `http://127.0.0.1:${ingress.ports['otlp']}/v1/traces`;
    const owner = async (name: string, extra: Record<string, unknown>, points: number): Promise<Buffer[]> => {
      const { data_source: source } = await stack.createReport(name, extra);
      return pushBodies(bodiesCount, points, source.mon_data_id, source.token, Date.now());
    };
    const limited = { max_rate: 1 };
    const [free, over] = [await owner('free', {}, 1000), await owner('over', limited, 1000)];
    const split = { is_split_measurement: true };
    const zipped = (bodies: readonly Buffer[]): Buffer[] => bodies.map((body) => gzipSync(body));
    const one = await owner('one', {}, 1);
    const pairs: Pair[] = [
      pairOf('1000 points', { url: push, bodies: free }, over),
      pairOf(
        'gzip',
        { url: push, headers: { 'content-encoding': 'gzip' }, bodies: zipped(free) },
        zipped(over),
      ),
      pairOf('keyed', { url: push, headers: { 'idempotency-key': 'a' }, bodies: free }, over),
      pairOf(
        'split',
        { url: push, bodies: await owner('split', split, 1000) },
        await owner('split_over', { ...split, ...limited }, 1000),
      ),
      pairOf('1 point', { url: push, bodies: one }, await owner('one_over', limited, 1)),
      {
        request: '1 point',
        accepted: { url: push, bodies: one },
        other: 'by the routes',
        by: { url: `${push}?by=routes`, bodies: one },
      },
    ];
    const [app, appOver] = [
      await stack.createApplication('free_app'),
      await stack.createApplication('over_app', limited),
    ];
    for (const encoding of ['protobuf', 'json'] as const) {
      const bodies = spanBodies(encoding, bodiesCount, 100, Date.now());
      const headersOf = (token: string) => ({ 'content-type': contentTypes[encoding], 'x-mon-token': token });
      pairs.push({
        request: `100 spans, ${encoding}`,
        accepted: { url: otlp, headers: headersOf(app.token), bodies },
        other: 'over max_rate',
        by: { url: otlp, headers: headersOf(appOver.token), bodies },
      });
    }
    const rows: ReceiverRow[] = [];
    for (const pair of pairs) rows.push(await compare(ingress.pid ?? 0, pair, seconds));
    return rows;
  } finally {
    await stack.stop();
  }
};

const pairOf = (request: string, accepted: Requests, over: readonly Buffer[]): Pair => ({
  request,
  accepted,
  other: 'over max_rate',
  by: { ...accepted, bodies: over },
});
