import type { IncomingMessage } from 'node:http';
import { inTime } from '../../bus/in-time.ts';
import type { RegisterColumnNames } from '../../directory/column-names.ts';
import type { Directory, Source } from '../../directory/directory.ts';
import { Fault } from '../../model/fault.ts';
import type { RequestReason } from '../../model/reasons.ts';
import type { UidBase } from '../../model/uid.ts';
import type { IngressMetrics } from '../../telemetry/metrics.ts';
import { runsMax } from '../../wire/points/cutting.ts';
import type { EncodedPoints } from '../../wire/points/encoded-points.ts';
import { encodePlainPoints, plainPointsMax } from '../../wire/points/plain-points.ts';
import { countOrdinals, encodePoints } from '../../wire/points/point-encoder.ts';
import type { Account } from '../account.ts';
import type { BytesInFlight } from '../admission.ts';
import { type BodyLimits, readBody } from '../body.ts';
import { type BaseCounter, type RequestIdentity, requestIdentity } from '../identity.ts';
import { effectiveRate, type RateLimiter } from '../rate-limiter.ts';
import type { RequestTraces } from '../request-traces.ts';
import { decodePush, type PushBody } from './decode.ts';
import { readPlainHead } from './plain-head.ts';
import type { PushPublisher } from './publish.ts';
import { type PushReply, pointsReply, refusal, repeatReply } from './reply.ts';
import { samplePoints, sampleRefusedPush } from './samples.ts';

export type PushDependencies = {
  readonly directory: Directory;
  readonly registerColumnNames: RegisterColumnNames;
  readonly bases: BaseCounter;
  readonly inFlight: BytesInFlight;
  readonly limiter: RateLimiter;
  readonly publisher: PushPublisher;
  readonly metrics: IngressMetrics;
  readonly account: Account;
  /** Why nothing can be taken now, or undefined. */
  readonly unready: () => string | undefined;
  readonly now: () => number;
  readonly limits: BodyLimits;
  /** How long after its body is there a request is answered at the latest, ms. */
  readonly deadlineMs: number;
  readonly maxRateDefault: number;
  /** Where tracing is on. */
  readonly traces?: RequestTraces | undefined;
};

/** A refusal on its way out of the checks. */
class Refused extends Error {
  readonly reply: PushReply;
  readonly reason: RequestReason;
  readonly detail: string;
  constructor(reason: RequestReason, detail = '', headers: Record<string, string> = {}) {
    super(reason);
    this.reason = reason;
    this.detail = detail;
    this.reply = refusal(reason, detail, headers);
  }
}

const noHeaders: RateHeaders = {};

const retryAfter = (seconds: number): Record<string, string> => ({ 'Retry-After': String(seconds) });

type RateHeaders = Readonly<Record<string, string>>;
type Admitted = { source: Source; push: PushBody; rateHeaders: RateHeaders };
/** A request in plain form, encoded and not yet admitted. */
type Plain = { source: Source; base: UidBase; encoded: EncodedPoints };

/** What is known of a request so far, for telling whose it was when it is refused. */
type Sender = {
  readonly request: IncomingMessage;
  push?: PushBody;
  dataId: number;
  /** When it is answered at the latest, ms of `performance.now()`. */
  deadlineAt: number;
};

const itemsOf = ({ push, dataId }: Pick<Sender, 'push' | 'dataId'>): number =>
  dataId !== 0 && Array.isArray(push?.data) ? push.data.length : 0;

/**
 * Answers one push (specification 4.1, design section 4): admit, inflate, decode, authorize, rules, names, encode, publish.
 * 200 only after the PubAck of everything kept. Never throws: every failure is a reply.
 */
export const createPushHandler = (
  deps: PushDependencies,
): ((request: IncomingMessage) => Promise<PushReply>) => {
  const { metrics, account } = deps;
  const bodyBytes = metrics.bodyBytes.labels('push');
  const accepted = metrics.accepted.labels('metrics');

  const authorize = async (push: PushBody, sender: Sender): Promise<Source> => {
    const source = await deps.directory.authorize(push.dataId, push.token);
    if (source === undefined) throw new Refused('unauthorized');
    sender.dataId = source.dataId;
    if (!source.isEnabled) throw new Refused('data_source_disabled', `data id ${source.dataId}`);
    if (source.typeLabel !== 'time_series')
      throw new Refused('unsupported_type', `it is of type ${source.typeLabel}`);
    return source;
  };

  /** Counts the request against max_rate; the headers that tell its sender what is left. */
  const limit = (source: Source): RateHeaders => {
    const maxRate = effectiveRate(source.maxRate, deps.maxRateDefault);
    const rate = deps.limiter.judge(`d:${source.dataId}`, maxRate, deps.now());
    if (rate === undefined || rate.isAdmitted) return rate?.headers ?? noHeaders;
    throw new Refused('rate_limited', `max_rate is ${maxRate} requests per second`, {
      ...rate.headers,
      ...retryAfter(rate.retryAfterSeconds),
    });
  };

  const admit = async (bytes: Buffer, sender: Sender): Promise<Admitted> => {
    const decoded = decodePush(bytes);
    if (decoded.kind === 'refused') throw new Refused(decoded.reason, decoded.detail);
    const { push } = decoded;
    sender.push = push;
    const source = await authorize(push, sender);
    return { source, push, rateHeaders: limit(source) };
  };

  /** The short way of a body as reporters write it; undefined for every other, and for one that is not to be kept whole. */
  const encodePlain = async (bytes: Buffer, arrivedAt: number): Promise<Plain | undefined> => {
    const head = readPlainHead(bytes);
    if (head === undefined) return undefined;
    const source = await deps.directory.authorize(head.dataId, head.token);
    if (source?.isEnabled !== true || source.typeLabel !== 'time_series' || source.layout !== 'wide') {
      return undefined;
    }
    const base = deps.bases.take(plainPointsMax(bytes.length));
    if (base === undefined) return undefined;
    const { rules } = source;
    const context = { source, base, arrivedAt, policy: rules.time, caps: rules, pointsMax: rules.pointsMax };
    const encoded = encodePlainPoints(bytes, head.pointsAt, context);
    return encoded === undefined ? undefined : { source, base, encoded };
  };

  const pointsOf = ({ data }: PushBody, { rules: { pointsMax } }: Source): readonly unknown[] => {
    if (data === undefined) throw new Refused('data_missing');
    if (!Array.isArray(data)) throw new Refused('data_not_array');
    if (data.length === 0) throw new Refused('data_empty');
    if (data.length > pointsMax) {
      throw new Refused('too_many_points', `${data.length} points, the limit is ${pointsMax}`);
    }
    return data;
  };

  const encode = async (
    data: readonly unknown[],
    source: Source,
    base: UidBase,
    arrivedAt: number,
    isKeyed: boolean,
    bodyLength: number,
    deadlineAt: number,
  ): Promise<EncodedPoints> => {
    const { rules } = source;
    const context = { source, base, arrivedAt, policy: rules.time, isKeyed, caps: rules, bodyLength };
    const first = encodePoints(data, { ...context, namesAreFinal: false });
    if (first.isTooMuch) {
      const why = 'in a split table the row of each metric repeats target and dimensions';
      throw new Refused(
        'too_many_points',
        `they take more than ${runsMax} messages, for ${why}: send fewer at once`,
      );
    }
    if (first.unknownMetrics.size === 0 && first.unknownDimensions.size === 0) return first;
    const { unknownMetrics, unknownDimensions } = first;
    const registering = deps.registerColumnNames(source, rules, [...unknownMetrics], [...unknownDimensions]);
    const named = await inTime('the register of columns', registering, deadlineAt);
    return encodePoints(data, { ...context, source: named, namesAreFinal: true });
  };

  /** Answers true for a repeat: every message of the request was stored before. */
  const publish = async (
    encoded: EncodedPoints,
    source: Source,
    base: UidBase,
    arrivedAt: number,
    identity: RequestIdentity | undefined,
    deadlineAt: number,
  ): Promise<boolean> => {
    const { publisher } = deps;
    const fragments = encoded.runs.map((run) => {
      return { source, base, run, arrivedAt, policy: source.rules.time, deadlineAt };
    });
    if (identity === undefined) {
      const [only] = fragments;
      if (fragments.length === 1 && only !== undefined) await publisher.share(only);
      else await publisher.publishTogether(fragments);
      return false;
    }
    const results = await Promise.allSettled(
      fragments.map((fragment) => publisher.publishAlone(fragment, identity.sha256Hex)),
    );
    const failed = results.filter((result) => result.status === 'rejected');
    const fault: unknown = failed[0]?.reason;
    // A part may be new where an earlier try was interrupted between two messages.
    if (fault === undefined)
      return results.every((result) => result.status === 'fulfilled' && result.value === true);
    const nothingStored =
      failed.length === results.length &&
      failed.every(({ reason }) => reason instanceof Fault && reason.code === 'not_stored');
    throw nothingStored
      ? fault
      : new Fault('transient', 'unconfirmed', 'a part of the request was not confirmed', fault);
  };

  const count = (encoded: EncodedPoints, { dataId }: Source): void => {
    const pipeline = 'metrics';
    const isPublished = encoded.accepted > 0;
    if (isPublished) accepted.inc(encoded.accepted);
    for (const [reason, points] of encoded.dropped) {
      const isDeferred = isPublished && [...encoded.deferred.keys()].some((deferred) => deferred === reason);
      (isDeferred ? metrics.deferred : metrics.dropped).inc({ pipeline, reason }, points);
    }
    for (const [reason, values] of encoded.valuesDropped) account.lost(reason, dataId, values);
    deps.traces?.sawItems({ 'tidemark.data_id': dataId, 'tidemark.items': encoded.accepted });
    if (!isPublished) account.refusedItems(encoded.dropped, dataId, 1);
  };

  const takePlain = async (
    { source, base, encoded }: Plain,
    sender: Sender,
    bytes: Buffer,
    arrivedAt: number,
  ): Promise<PushReply> => {
    sender.dataId = source.dataId;
    let rateHeaders: RateHeaders = noHeaders;
    try {
      rateHeaders = limit(source);
      await publish(encoded, source, base, arrivedAt, undefined, sender.deadlineAt);
      count(encoded, source);
      return withHeaders(pointsReply(encoded), rateHeaders);
    } catch (error) {
      // What is told of a refused request is looked up in its values.
      const decoded = decodePush(bytes);
      if (decoded.kind === 'push') sender.push = decoded.push;
      return withHeaders(replyOf(error, sender), rateHeaders);
    }
  };

  const handleBody = async (sender: Sender, bytes: Buffer, arrivedAt: number): Promise<PushReply> => {
    const { request } = sender;
    if (bytes.length === 0) throw new Refused('body_empty');
    const isKeyed = (request.headers['idempotency-key'] ?? '') !== '';
    const plain = isKeyed ? undefined : await encodePlain(bytes, arrivedAt);
    if (plain !== undefined) return takePlain(plain, sender, bytes, arrivedAt);
    const { source, push, rateHeaders } = await admit(bytes, sender);
    try {
      const data = pointsOf(push, source);
      const key = request.headers['idempotency-key'];
      const identity =
        typeof key === 'string' && key !== ''
          ? requestIdentity(`${source.dataId}:${push.token}`, key, bytes)
          : undefined;
      const base = identity?.base ?? deps.bases.take(countOrdinals(data, source.layout));
      if (base === undefined) throw new Fault('transient', 'not_stored', 'the receiver is starting');
      const isNamed = identity !== undefined;
      const { deadlineAt } = sender;
      const encoded = await encode(data, source, base, arrivedAt, isNamed, bytes.length, deadlineAt);
      const isRepeat =
        encoded.accepted > 0 && (await publish(encoded, source, base, arrivedAt, identity, deadlineAt));
      if (isRepeat) {
        account.repeated(source.dataId, data.length);
        return withHeaders(repeatReply, rateHeaders);
      }
      count(encoded, source);
      samplePoints(account, request, source, push, encoded);
      return withHeaders(pointsReply(encoded), rateHeaders);
    } catch (error) {
      return withHeaders(replyOf(error, sender), rateHeaders);
    }
  };

  const tell = (reason: RequestReason, detail: string, sender: Sender): void => {
    account.refused(reason, sender.dataId, itemsOf(sender));
    sampleRefusedPush(account, sender.request, sender.dataId, reason, detail, sender.push);
  };

  const replyOf = (error: unknown, sender: Sender): PushReply => {
    if (error instanceof Refused) {
      tell(error.reason, error.detail, sender);
      return error.reply;
    }
    if (!(error instanceof Fault) || error.kind === 'internal') throw error;
    // Whatever failed before a publish (KV, NATS) has stored nothing.
    const reason = error.code === 'unconfirmed' ? 'unconfirmed' : 'not_stored';
    tell(reason, '', sender);
    return refusal(reason, '', retryAfter(reason === 'unconfirmed' ? 2 : 1));
  };

  return async (request) => {
    const sender: Sender = { request, dataId: 0, deadlineAt: 0 };
    try {
      const why = deps.unready();
      if (why !== undefined) throw new Refused('not_stored', why, retryAfter(1));
      const body = await readBody(request, deps.limits, deps.inFlight);
      if ('reason' in body) {
        throw new Refused(body.reason, body.detail, body.reason === 'not_stored' ? retryAfter(1) : {});
      }
      try {
        bodyBytes.inc(body.wireBytes);
        deps.traces?.sawBody(body.bytes);
        sender.deadlineAt = performance.now() + deps.deadlineMs;
        return await handleBody(sender, body.bytes, deps.now());
      } finally {
        body.release();
      }
    } catch (error) {
      return replyOf(error, sender);
    }
  };
};

const withHeaders = (reply: PushReply, headers: RateHeaders): PushReply =>
  headers === noHeaders || Object.keys(headers).length === 0
    ? reply
    : { ...reply, headers: { ...headers, ...reply.headers } };
