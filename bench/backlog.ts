import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Stack, startStack } from '../test/support/stack.ts';
import { waitFor } from '../test/support/wait.ts';
import { pushBodies } from './bodies.ts';
import { allDifferent, inTurn, type Load, runLoad } from './load.ts';
import { spanBodies } from './span-bodies.ts';

// `make backlog ITEMS=20000000`: fills METRICS and TRACES while transfer is away, then lets one transfer drain each, and counts.
const { values } = parseArgs({
  options: {
    items: { type: 'string', default: '2000000' },
    guard: { type: 'string', default: 'suspect' },
    only: { type: 'string', default: 'points,spans' },
  },
});
const items = Number(values.items);
const itemsPerBody = { points: 1_000, spans: 100 };
const drainMsMax = 3_600_000;

/** Most memory the process has held so far, MiB, by the kernel's account. */
const peakMiB = (pid: number): number =>
  Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024);

type Signal = {
  readonly stream: 'METRICS' | 'TRACES';
  readonly load: Load;
  /** Rows, and different uids among them. */
  stored(): Promise<{ rows: number; uids: number }>;
};

const pointsOf = async (stack: Stack): Promise<Signal> => {
  const { data_source: source, result_table: table } = await stack.createReport('backlog');
  return {
    stream: 'METRICS',
    load: {
      urls: [`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`],
      headers: {},
      nextBody: inTurn(pushBodies(100, itemsPerBody.points, source.mon_data_id, source.token, Date.now())),
      itemsPerBody: itemsPerBody.points,
      connections: 8,
    },
    stored: async () => {
      const { dataset } = await stack.query(`SELECT count(), count_distinct(uid) FROM "${table.table_id}"`);
      return { rows: Number(dataset[0]?.[0]), uids: Number(dataset[0]?.[1]) };
    },
  };
};

const spansOf = async (stack: Stack): Promise<Signal> => {
  const { app_id: appId, token } = await stack.createApplication('backlog');
  return {
    stream: 'TRACES',
    load: {
      urls: [`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`],
      headers: { 'content-type': 'application/x-protobuf', 'x-mon-token': token },
      nextBody: allDifferent(spanBodies('protobuf', 64, itemsPerBody.spans, Date.now()), 'protobuf'),
      itemsPerBody: itemsPerBody.spans,
      connections: 8,
    },
    stored: async () => {
      const [row] = await stack.spansQuery(
        `SELECT count() AS rows, uniqExact(uid) AS uids FROM otel.otel_traces WHERE AppId = ${appId}`,
      );
      return { rows: Number(row?.['rows']), uids: Number(row?.['uids']) };
    },
  };
};

/** Fills the stream with nobody to drain it, then drains it with one transfer. */
const measure = async (stack: Stack, name: string, { stream, load, stored }: Signal): Promise<void> => {
  const [transfer] = stack.transfer;
  if (transfer === undefined) throw new Error('there is no transfer');
  await transfer.stop();
  let acknowledged = 0;
  while (acknowledged < items) {
    const { acknowledged: more, failed } = await runLoad(load, 2);
    if (failed > 0) throw new Error(`${failed} requests were not answered 200: is the stream full?`);
    acknowledged += more;
  }
  const { messages } = await stack.streamState(stream);
  const startedAt = performance.now();
  transfer.start();
  let counted = { rows: 0, uids: 0 };
  await stack.waitForEmptyStream(stream, drainMsMax);
  const seconds = (performance.now() - startedAt) / 1000;
  await waitFor('every item is visible', drainMsMax, async () => {
    counted = await stored();
    return counted.rows >= acknowledged;
  });
  const line = {
    backlog: name,
    guard: values.guard,
    items: acknowledged,
    messages,
    ...counted,
    exact: counted.rows === acknowledged && counted.uids === acknowledged,
    drain_seconds: Number(seconds.toFixed(1)),
    items_per_second: Math.round(acknowledged / seconds),
    transfer_peak_mib: peakMiB(transfer.pid),
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  if (!line.exact) process.exitCode = 1;
};

const stack = await startStack({
  traces: true,
  ackWaitSeconds: 30,
  pipelines: (_, text) => text.replace(/^(\s*guard:) suspect/m, `$1 ${values.guard}`),
});
try {
  if (values.only.includes('points')) await measure(stack, 'points', await pointsOf(stack));
  if (values.only.includes('spans')) await measure(stack, 'spans', await spansOf(stack));
} finally {
  await stack.stop();
}
