import { parseArgs } from 'node:util';
import { type Stack, startStack } from '../test/support/stack/stack.ts';
import { waitFor } from '../test/support/wait.ts';
import { pushBodies } from './bodies.ts';
import { allDifferent, inTurnOfNow, type Load, runLoad } from './load.ts';
import { peakMiB } from './processes.ts';
import { spanBodies } from './span-bodies.ts';

const itemsPerBody = { points: 1_000, spans: 100 };
const drainMsMax = 3_600_000;

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
      nextBody: inTurnOfNow((nowMs) =>
        pushBodies(100, itemsPerBody.points, source.mon_data_id, source.token, nowMs),
      ),
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

export type Backlog = {
  readonly backlog: 'points' | 'spans';
  readonly guard: string;
  readonly items: number;
  readonly messages: number;
  readonly rows: number;
  readonly uids: number;
  readonly exact: boolean;
  readonly drain_seconds: number;
  readonly items_per_second: number;
  readonly transfer_peak_mib: number;
};

export type BacklogOptions = { readonly items: number; readonly guard: string };

/** Fills the stream while no transfer runs, then drains it with one transfer. */
const measure = async (
  stack: Stack,
  backlog: Backlog['backlog'],
  { stream, load, stored }: Signal,
  { items, guard }: BacklogOptions,
): Promise<Backlog> => {
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
  return {
    backlog,
    guard,
    items: acknowledged,
    messages,
    ...counted,
    exact: counted.rows === acknowledged && counted.uids === acknowledged,
    drain_seconds: Number(seconds.toFixed(1)),
    items_per_second: Math.round(acknowledged / seconds),
    transfer_peak_mib: peakMiB(transfer.pid),
  };
};

/** Fills METRICS and TRACES, one after the other, while transfer is away, then lets one transfer drain each, and counts. */
export const measureBacklogs = async (
  backlogs: readonly Backlog['backlog'][],
  options: BacklogOptions,
  onResult: (backlog: Backlog) => void,
): Promise<void> => {
  const stack = await startStack({
    traces: true,
    ackWaitSeconds: 30,
    pipelines: (_, text) => text.replace(/^(\s*guard:) suspect/m, `$1 ${options.guard}`),
  });
  try {
    for (const backlog of backlogs) {
      const signal = backlog === 'points' ? await pointsOf(stack) : await spansOf(stack);
      onResult(await measure(stack, backlog, signal, options));
    }
  } finally {
    await stack.stop();
  }
};

// `make backlog ITEMS=20000000`
if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      items: { type: 'string', default: '2000000' },
      guard: { type: 'string', default: 'suspect' },
      only: { type: 'string', default: 'points,spans' },
    },
  });
  const wanted = (['points', 'spans'] as const).filter((backlog) => values.only.includes(backlog));
  await measureBacklogs(wanted, { items: Number(values.items), guard: values.guard }, (result) => {
    process.stdout.write(`${JSON.stringify(result)}\n`);
    if (!result.exact) process.exitCode = 1;
  });
}
