import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { encodeOtlpProtobuf } from '../test/support/otlp/protobuf.ts';
import type { Stack } from '../test/support/stack/stack.ts';
import { type Connection, openConnection } from './connection.ts';
import { type Load, postOnce } from './load.ts';
import { percentile, rounded } from './statistics.ts';
import { contentTypes, type PointSource } from './subjects.ts';

/** Time from sending to the answer 200, and from sending to being visible to a query, ms. */
export type Latency = {
  readonly latency: string;
  readonly items_per_second: number;
  readonly answered_p50_ms: number;
  readonly answered_p99_ms: number;
  readonly visible_p50_ms: number;
  readonly visible_p99_ms: number;
  readonly requests: number;
  readonly failed_requests: number;
  readonly probes: number;
  readonly probes_unseen: number;
};

/** Sends recognisable items, and reports which of them a query sees. */
export type Probe = {
  /** Sends the item with this number. Resolves with its answer 200. */
  send(number: number): Promise<void>;
  /** Numbers from `from` on that are visible now. */
  seen(from: number): Promise<readonly number[]>;
};

const tickMs = 2;
const probeEveryMs = 100;
/** More frequent looks would take CPU from the measured processes. */
const pollMs = 20;
const unseenMsMax = 10_000;

export type Answers = { readonly latencies: number[]; failed: number };

/**
 * Sends this many requests per second, regardless of the results of earlier ones, and measures each from its due time: a receiver
 * that stalls is charged for the requests that it delayed.
 */
export const sendPaced = async (load: Load, requestsPerSecond: number, seconds: number): Promise<Answers> => {
  const answers: Answers = { latencies: [], failed: 0 };
  const [url = ''] = load.urls;
  const idle = Array.from({ length: load.connections }, () => openConnection(url, load.headers));
  const waiting: number[] = [];
  const open = new Set<Promise<void>>();
  // A request that is due while all connections are busy goes to the next free one; its time counts from when it was due.
  const sendOne = async (connection: Connection, dueAt: number): Promise<void> => {
    for (let at: number | undefined = dueAt; at !== undefined; at = waiting.shift()) {
      if (await postOnce(connection, load)) answers.latencies.push(performance.now() - at);
      else answers.failed++;
    }
    idle.push(connection);
  };
  const start = performance.now();
  const end = start + seconds * 1000;
  let sent = 0;
  for (let now = start; now < end; now = performance.now()) {
    const due = ((now - start) / 1000) * requestsPerSecond;
    for (; sent < due; sent++) {
      const dueAt = start + (sent / requestsPerSecond) * 1000;
      const connection = idle.pop();
      if (connection === undefined) {
        waiting.push(dueAt);
        continue;
      }
      const sending = sendOne(connection, dueAt);
      open.add(sending);
      void sending.then(() => open.delete(sending));
    }
    await delay(tickMs);
  }
  await Promise.all(open);
  for (const connection of idle) connection.close();
  return answers;
};

type Seen = { readonly latencies: number[]; sent: number };

/** Sends a probe at a fixed interval, and looks for all pending ones until each was seen. */
const probeUntil = async (probe: Probe, end: number): Promise<Seen> => {
  // Probes of an earlier measurement are in the store already.
  let next = Date.now();
  const seen: Seen = { latencies: [], sent: 0 };
  const sentAt = new Map<number, number>();
  let nextAt = performance.now();
  const sending: Promise<void>[] = [];
  while (performance.now() < end || sentAt.size > 0) {
    const now = performance.now();
    if (now > end + unseenMsMax) break;
    if (now >= nextAt && now < end) {
      const number = next++;
      seen.sent++;
      sentAt.set(number, now);
      sending.push(probe.send(number));
      nextAt += probeEveryMs;
    }
    const [oldest] = sentAt.keys();
    for (const number of oldest === undefined ? [] : await probe.seen(oldest)) {
      const at = sentAt.get(number);
      if (at === undefined) continue;
      seen.latencies.push(performance.now() - at);
      sentAt.delete(number);
    }
    await delay(pollMs);
  }
  await Promise.all(sending);
  return seen;
};

/** Runs a load of this many items per second for a while, with probes beside it; returns both latencies. */
export const measureLatency = async (
  latency: string,
  load: Load,
  probe: Probe,
  itemsPerSecond: number,
  seconds: number,
): Promise<Latency> => {
  const end = performance.now() + seconds * 1000;
  const [answers, seen] = await Promise.all([
    sendPaced(load, itemsPerSecond / load.itemsPerBody, seconds),
    probeUntil(probe, end),
  ]);
  const of = (values: readonly number[], share: number): number => rounded(percentile(values, share));
  return {
    latency,
    items_per_second: Math.round((answers.latencies.length * load.itemsPerBody) / seconds),
    answered_p50_ms: of(answers.latencies, 0.5),
    answered_p99_ms: of(answers.latencies, 0.99),
    visible_p50_ms: of(seen.latencies, 0.5),
    visible_p99_ms: of(seen.latencies, 0.99),
    requests: answers.latencies.length,
    failed_requests: answers.failed,
    probes: seen.sent,
    probes_unseen: seen.sent - seen.latencies.length,
  };
};

const post = async (url: string, headers: Record<string, string>, body: string | Buffer): Promise<void> => {
  const response = await request(url, { method: 'POST', headers, body });
  await response.body.dump();
  if (response.statusCode !== 200) throw new Error(`a probe was answered ${response.statusCode}`);
};

/** A probe of points into the table of the load; it reads only the rows of the last seconds. */
export const pointsProbe = (stack: Stack, source: PointSource): Probe => {
  const url = `http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`;
  const sentAt = new Map<number, number>();
  return {
    send: (number) => {
      const timestamp = Date.now();
      sentAt.set(number, timestamp);
      const point = {
        metrics: { cpu_load: number },
        target: 'probe',
        dimension: { module: 'probe' },
        timestamp,
      };
      const push = { data_id: source.dataId, access_token: source.token, data: [point] };
      return post(url, {}, JSON.stringify(push));
    },
    seen: async (from) => {
      const since = new Date(sentAt.get(from) ?? 0).toISOString();
      const { dataset } = await stack.query(
        `SELECT cpu_load FROM "${source.table}" WHERE timestamp >= '${since}' AND target = 'probe'`,
      );
      return dataset.map(([number]) => Number(number));
    },
  };
};

const probeService = 'probe';

/** A probe of spans, of a service of its own. */
export const spansProbe = (stack: Stack, token: string): Probe => {
  const url = `http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`;
  const headers = { 'content-type': contentTypes.protobuf, 'x-mon-token': token };
  const sentAt = new Map<number, number>();
  return {
    send: (number) => {
      const id = number.toString(16).padStart(16, '0');
      const now = Date.now();
      sentAt.set(number, now);
      const startNs = `${now}000000`;
      const span = {
        traceId: `${id}${id}`,
        spanId: id,
        name: 'probe',
        startTimeUnixNano: startNs,
        endTimeUnixNano: startNs,
      };
      const resource = {
        attributes: [{ key: 'service.name', value: { stringValue: probeService } }],
      };
      const body = encodeOtlpProtobuf({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] });
      return post(url, headers, body);
    },
    seen: async (from) => {
      // Reads only parts with spans of this age or younger, with one thread: that is expensive enough beside the load.
      const rows = await stack.spansQuery(
        `SELECT SpanId FROM otel.otel_traces
          WHERE Timestamp >= fromUnixTimestamp64Milli(${sentAt.get(from) ?? 0})
            AND ServiceName = '${probeService}' AND SpanName = 'probe'
          SETTINGS max_threads = 1, use_skip_indexes = 0`,
      );
      return rows.map((row) => Number.parseInt(String(row['SpanId']), 16));
    },
  };
};
