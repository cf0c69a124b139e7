import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { createRandom } from '../../bench/bodies.ts';
import { encodeLogsProtobuf, type OtlpLogsRequest } from '../support/otlp/logs.ts';
import { encodeMetricsProtobuf, type OtlpMetricsRequest } from '../support/otlp/metrics.ts';
import { encodeOtlpJson, encodeOtlpProtobuf, type OtlpRequest } from '../support/otlp/protobuf.ts';
import { createGrpcSender, type GrpcSender } from './grpc-sender.ts';
import {
  fateOf,
  isOfApplication,
  type Layout,
  metricToSend,
  pointText,
  recordToSend,
  spanToSend,
  type World,
} from './items.ts';
import type { Claim, Oracle, Target, Try } from './oracle.ts';

/** Where one ingress process is reached: ports of its receivers, on loopback; traces over HTTP and over gRPC. */
export type Receiver = { readonly push: number; readonly otlp: number; readonly grpc: number };

export type LoadOptions = {
  readonly oracle: Oracle;
  readonly world: World;
  readonly receivers: readonly Receiver[];
  readonly targets: readonly Target[];
  /** How many senders each target has: half of those of points name their requests, all others do. */
  readonly sendersEach: number;
  /** Greatest pause between two requests of a sender, ms. */
  readonly pauseMsMax: number;
};

/** Senders at work. */
export type Load = {
  /** Sends large requests to this target from `connections` senders until a receiver answers that there is no room. */
  flood(target: Target, boundMs: number): Promise<boolean>;
  /** Claims no more; resolves once every request that may be sent again was answered 2xx. */
  finish(): Promise<void>;
};

type Wire = {
  readonly body: Buffer;
  readonly headers: Record<string, string>;
  readonly path: string;
  /** Whether it can go over gRPC as well: the same request, for it has the same identity. */
  readonly isProtobuf: boolean;
};
/** A request as it goes over the wire with a token; everything else of it is the same at every try. */
type WireOf = (token: string) => Wire;

/** A receiver answers within 8 s of the end of a body. */
const answerTimeoutMs = 10_000;
/** Items of a request that is to fill a stream: of one message, or of several, of which the last may have no room any more. */
const floodCountOf = (sender: number): number => (sender === 0 ? 1_800 : severalMessages);
const retryMs = { least: 100, most: 600 };

/**
 * This many of the requests with an identity that were answered 200 are sent again, once or twice, this long afterwards
 * at most.
 */
const repeated = { share: 0.15, pauseMsMax: 2_000 };

const olderTokenShare = 0.2;

/** More than a message holds: 2 MiB by the cutting rule, which counts an item here at 420 bytes or more. */
export const severalMessages = 6_000;
/** More than 2 MiB of text, in a wide table. */
const muchText = 13_000;

/** Mostly few items, sometimes hundreds, and now and then more than one message holds. */
const countOf = (random: () => number, isNamed: boolean): number => {
  const share = random();
  if (share < 0.45) return 1;
  if (share < 0.85) return 2 + Math.floor(random() * 48);
  if (share < (isNamed ? 0.98 : 0.94)) return 50 + Math.floor(random() * 350);
  return isNamed || share < 0.99 ? severalMessages : muchText;
};

/** What a try is sent with: mostly the newest token, some of the time still the one before it, which is taken too. */
const credentialOf = ({ tokens }: Target, random: () => number): string =>
  (random() < olderTokenShare ? tokens.at(-2) : undefined) ?? tokens.at(-1) ?? '';

const pushWire = (claim: Claim, world: World, isPacked: boolean): WireOf => {
  const { target, first, count, isNamed } = claim;
  if (isOfApplication(target.layout)) throw new Error(`${target.layout} are not pushed`);
  const points: string[] = [];
  for (let id = first; id < first + count; id++) {
    const fate = fateOf(id, target.layout, id === first, target.hasSwing, world.seed);
    points.push(pointText(id, target.layout, fate, world));
  }
  return (token) => {
    const text = `{"data_id":${target.id},"access_token":"${token}","data":[${points.join(',')}]}`;
    return {
      path: '/v2/push/',
      isProtobuf: false,
      body: isPacked ? gzipSync(text, { level: 1 }) : Buffer.from(text),
      headers: {
        ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
        ...(isNamed ? { 'idempotency-key': `request-${first}` } : {}),
      },
    };
  };
};

const resourceOf = (first: number) => ({
  attributes: [{ key: 'service.name', value: { stringValue: `service-${first % 4}` } }],
});
const scope = { name: 'faults', version: '1' };

const spansOf = ({ target, first, count }: Claim, world: World): OtlpRequest => {
  const spans = Array.from({ length: count }, (_, index) => {
    const id = first + index;
    return spanToSend(id, fateOf(id, 'spans', index === 0, target.hasSwing, world.seed), world);
  });
  return { resourceSpans: [{ resource: resourceOf(first), scopeSpans: [{ scope, spans }] }] };
};

const recordsOf = ({ target, first, count }: Claim, world: World): OtlpLogsRequest => {
  const logRecords = Array.from({ length: count }, (_, index) => {
    const id = first + index;
    return recordToSend(id, fateOf(id, 'logs', index === 0, target.hasSwing, world.seed), world);
  });
  return { resourceLogs: [{ resource: resourceOf(first), scopeLogs: [{ scope, logRecords }] }] };
};

const metricsOf = ({ target, first, count }: Claim, world: World): OtlpMetricsRequest => {
  const metrics = Array.from({ length: count }, (_, index) => {
    const id = first + index;
    return metricToSend(id, fateOf(id, 'data_points', index === 0, target.hasSwing, world.seed), world);
  });
  return { resourceMetrics: [{ resource: resourceOf(first), scopeMetrics: [{ scope, metrics }] }] };
};

/** The body of a request of an application. */
const exportOf = (claim: Claim, world: World, isJson: boolean): Buffer => {
  if (claim.target.layout === 'data_points') {
    const whole = metricsOf(claim, world);
    return isJson ? Buffer.from(JSON.stringify(whole)) : encodeMetricsProtobuf(whole);
  }
  if (claim.target.layout === 'spans') {
    const whole = spansOf(claim, world);
    return isJson ? encodeOtlpJson(whole) : encodeOtlpProtobuf(whole);
  }
  const whole = recordsOf(claim, world);
  return isJson ? Buffer.from(JSON.stringify(whole)) : encodeLogsProtobuf(whole);
};

const paths: Readonly<Partial<Record<Layout, string>>> = {
  spans: '/v1/traces',
  logs: '/v1/logs',
  data_points: '/v1/metrics',
};

const exportWire = (claim: Claim, world: World, isJson: boolean, isPacked: boolean): WireOf => {
  const plain = exportOf(claim, world, isJson);
  const body = isPacked ? gzipSync(plain, { level: 1 }) : plain;
  return (token) => ({
    path: paths[claim.target.layout] ?? '',
    isProtobuf: !isJson,
    body,
    headers: {
      'content-type': isJson ? 'application/json' : 'application/x-protobuf',
      'x-mon-token': token,
      ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
    },
  });
};

/** The reason of a refusal; OTLP has it in the text. */
const reasonIn = (text: string): string => {
  const told = /"reason":"(\w+)"/.exec(text)?.[1];
  if (told !== undefined) return told;
  if (text.includes('not all of it was confirmed')) return 'unconfirmed';
  return text.includes('nothing was stored') ? 'not_stored' : '';
};

/** The connections of one sender. */
type Ways = { readonly agent: Agent; readonly grpc: GrpcSender };

const openWays = (): Ways => ({
  agent: new Agent({ connections: 1, pipelining: 1 }),
  grpc: createGrpcSender(answerTimeoutMs),
});

const closeWays = async ({ agent, grpc }: Ways): Promise<void> => {
  grpc.close();
  await agent.destroy();
};

const tryOf = (sentAt: number, receiver: number, status: number, text: string): Try => ({
  ...{ sentAt, answeredAt: Date.now(), receiver, status },
  reason: status === 200 ? '' : reasonIn(text),
  isRecognised: /received before/.test(text),
});

/** The call of gRPC that takes what this path takes. */
const grpcPaths: Readonly<Record<string, string>> = {
  '/v1/traces': '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  '/v1/logs': '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
  '/v1/metrics': '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
};

/** Sends once over gRPC; status 0 when no whole answer came. */
const callOnce = async ({ grpc }: Ways, port: number, receiver: number, wire: Wire): Promise<Try> => {
  const sentAt = Date.now();
  const isPacked = wire.headers['content-encoding'] === 'gzip';
  const { status, text } = await grpc.send(
    port,
    grpcPaths[wire.path] ?? '',
    wire.body,
    wire.headers['x-mon-token'] ?? '',
    isPacked,
  );
  return { ...tryOf(sentAt, receiver, status, text), isGrpc: true };
};

/** Sends once; status 0 when no whole answer came. */
const sendOnce = async ({ agent }: Ways, url: string, receiver: number, wire: Wire): Promise<Try> => {
  const sentAt = Date.now();
  try {
    const response = await request(url, {
      method: 'POST',
      body: wire.body,
      headers: wire.headers,
      dispatcher: agent,
      headersTimeout: answerTimeoutMs,
      bodyTimeout: answerTimeoutMs,
    });
    return tryOf(sentAt, receiver, response.statusCode, await response.body.text());
  } catch {
    return { sentAt, answeredAt: Date.now(), receiver, status: 0, reason: '' };
  }
};

const debtAfter = ({ status, reason }: Try, isNamed: boolean): Claim['debt'] => {
  if (status >= 200 && status < 300) return 'owed';
  // Under a token that is no longer known, or not yet, nothing is stored.
  if (isNamed) return 'open';
  return status === 0 || reason === 'unconfirmed' ? 'uncertain' : 'absent';
};

/** Starts the senders. What each of them sends follows from the seed; when, from the machine. */
export const startLoad = (options: LoadOptions): Load => {
  const { oracle, world, receivers } = options;
  const stop = new AbortController();
  let turn = 0;
  const firstTokens = new WeakMap<Claim, string>();

  /** Half of the tries with protobuf go over gRPC, also those of a request that began over HTTP. */
  const sendNext = (ways: Ways, wire: Wire, claim: Claim, random: () => number): Promise<Try> => {
    const receiver = turn++ % receivers.length;
    const ports = receivers[receiver];
    if (wire.isProtobuf && random() < 0.5) return callOnce(ways, ports?.grpc ?? 0, receiver, wire);
    const port = isOfApplication(claim.target.layout) ? ports?.otlp : ports?.push;
    return sendOnce(ways, `http://127.0.0.1:${port}${wire.path}`, receiver, wire);
  };

  /** Sends a request once, with a token of that moment. */
  const trySending = async (ways: Ways, claim: Claim, wireOf: WireOf, random: () => number): Promise<Try> => {
    const token = credentialOf(claim.target, random);
    const wire = wireOf(token);
    const first = firstTokens.get(claim) ?? token;
    firstTokens.set(claim, first);
    const answer = await sendNext(ways, wire, claim, random);
    return first === token ? answer : { ...answer, isOtherToken: true };
  };

  /** Sends until it is known what is owed of the request; one with a name as often as it takes, another one once. */
  const settle = async (
    ways: Ways,
    claim: Claim,
    wireOf: WireOf,
    random: () => number,
    onAnswer: (answer: Try) => void,
  ): Promise<void> => {
    for (;;) {
      const answer = await trySending(ways, claim, wireOf, random);
      claim.tries.push(answer);
      claim.debt = debtAfter(answer, claim.isNamed);
      onAnswer(answer);
      if (claim.debt !== 'open') break;
      await delay(retryMs.least + random() * (retryMs.most - retryMs.least));
    }
    await repeat(ways, claim, wireOf, random);
  };

  /**
   * Repeats a stored request, like a sender that lost the answer. It must change nothing. Where the policy changes, the
   * outcomes may differ from the rows once NATS has forgotten the request: docs/exactly-once.md.
   */
  const repeat = async (ways: Ways, claim: Claim, wireOf: WireOf, random: () => number): Promise<void> => {
    const isWanted = claim.debt === 'owed' && claim.isNamed && !claim.target.hasSwing;
    if (!isWanted || random() > repeated.share) return;
    for (let times = random() < 0.5 ? 1 : 2; times > 0 && !stop.signal.aborted; times--) {
      await delay(random() * repeated.pauseMsMax);
      claim.tries.push({ ...(await trySending(ways, claim, wireOf, random)), isRepeat: true });
    }
  };

  const sendClaim = async (
    ways: Ways,
    what: Pick<Claim, 'target' | 'isNamed' | 'count'>,
    random: () => number,
    onAnswer: (answer: Try) => void = () => {},
  ): Promise<void> => {
    const isPacked = random() < 0.2;
    const isJson = random() < 0.5;
    const isExport = isOfApplication(what.target.layout);
    const form = `${isExport ? (isJson ? 'json' : 'protobuf') : 'push'}${isPacked ? ', gzip' : ''}`;
    const claim = oracle.claim({ ...what, form });
    const wireOf = isExport ? exportWire(claim, world, isJson, isPacked) : pushWire(claim, world, isPacked);
    await settle(ways, claim, wireOf, random, onAnswer);
  };

  const send = async (target: Target, sender: number): Promise<void> => {
    const random = createRandom(world.seed * 101 + target.id * 13 + sender);
    const isNamed = isOfApplication(target.layout) || sender % 2 === 1;
    const ways = openWays();
    while (!stop.signal.aborted) {
      await sendClaim(ways, { target, isNamed, count: countOf(random, isNamed) }, random);
      await delay(random() * options.pauseMsMax);
    }
    await closeWays(ways);
  };

  const flood = async (target: Target, boundMs: number): Promise<boolean> => {
    const end = Date.now() + boundMs;
    const isNamed = isOfApplication(target.layout);
    let isFull = false;
    const floodFrom = async (sender: number): Promise<void> => {
      const random = createRandom(world.seed * 211 + target.id + sender);
      const ways = openWays();
      while (!isFull && !stop.signal.aborted && Date.now() < end) {
        await sendClaim(
          ways,
          { target, isNamed, count: floodCountOf(sender) },
          random,
          ({ status, reason }) => {
            if (status === 503 && reason === 'not_stored') isFull = true;
          },
        );
      }
      await closeWays(ways);
    };
    const flooding = Promise.all([0, 1, 2, 3].map(floodFrom)).then(() => undefined);
    senders.push(flooding);
    while (!isFull && Date.now() < end) await delay(50);
    return isFull;
  };

  const senders = options.targets.flatMap((target) =>
    Array.from({ length: options.sendersEach }, (_, sender) => send(target, sender)),
  );
  // A defect of a sender is reported when all of them have ended.
  for (const sender of senders) sender.catch(() => undefined);
  return {
    flood,
    finish: async () => {
      stop.abort();
      await Promise.all(senders);
    },
  };
};
