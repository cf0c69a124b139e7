import type { IncomingMessage } from 'node:http';
import { inTime } from '../../bus/in-time.ts';
import type { RegisterColumnNames } from '../../directory/column-names.ts';
import type { Directory, Source } from '../../directory/directory.ts';
import { Fault } from '../../model/fault.ts';
import type { RequestReason } from '../../model/reasons.ts';
import type { UidBase } from '../../model/uid.ts';
import { type EncodedPoints, encodedLength } from '../../rules/points/encoded-points.ts';
import type { IngressMetrics } from '../../telemetry/metrics.ts';
import { type FailureLimit, isFailure } from '../failures.ts';
import type { BytesInFlight } from '../http/admission.ts';
import { type Body, type BodyLimits, noRoom, readBody } from '../http/body.ts';
import type { BaseCounter, RequestIdentity } from '../identity.ts';
import { effectiveRate, type RateLimiter } from '../rates/limiter.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import type { RequestTraces } from '../request-traces.ts';
import { type PushPair, problemWithoutPair } from './decode.ts';
import type { EncodedPush, PushTask } from './encode.ts';
import type { EncodePush } from './encode-anywhere.ts';
import { HeadWatch } from './head-watch.ts';
import { pushIdentity } from './identity.ts';
import type { PushPublisher } from './publish.ts';
import { type PushReply, pointsReply, refusal, repeatReply } from './reply.ts';
import { type PushSender, samplePoints, sampleRefusedPush } from './samples.ts';

export type PushDependencies = {
  readonly directory: Directory;
  readonly registerColumnNames: RegisterColumnNames;
  readonly bases: BaseCounter;
  readonly inFlight: BytesInFlight;
  readonly failures: FailureLimit;
  readonly limiter: RateLimiter;
  readonly encode: EncodePush;
  readonly publisher: PushPublisher;
  readonly metrics: IngressMetrics;
  readonly recorder: RefusalRecorder;
  /** Why nothing can be taken now, or undefined. */
  readonly unready: () => string | undefined;
  readonly now: () => number;
  readonly limits: BodyLimits & { readonly elementsMax: number };
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

/** What a body costs in memory, beside its own bytes: rows about as long, and the messages they are sent in. */
const madeOfBody = 3;

/**
 * Answers one push (specification 4.1, architecture 4.1): admit, inflate, authorize, decode, rules, names, encode, publish. The
 * credential is judged before anything of the body is built. 200 only after the PubAck of everything kept. Never throws: every
 * failure is a reply.
 */
export const createPushHandler = (
  deps: PushDependencies,
): ((request: IncomingMessage) => Promise<PushReply>) => {
  const { metrics, recorder, limits } = deps;
  const bodyBytes = metrics.bodyBytes.labels('push');
  const accepted = metrics.accepted.labels('metrics');

  /** The source that the credential of the body is right for; `bytes` are undefined where the body was not read to its end. */
  const authorize = async (
    watch: HeadWatch,
    bytes: Buffer | undefined,
    sender: PushSender,
  ): Promise<{ source: Source; pair: PushPair }> => {
    const { pair } = watch;
    if (pair === undefined) {
      const { reason, detail } = problemWithoutPair(bytes, watch.scan, limits.elementsMax);
      throw new Refused(reason, detail);
    }
    sender.pair = pair;
    const source = await watch.source;
    if (source === undefined) throw new Refused('unauthorized');
    sender.dataId = source.dataId;
    deps.failures.passed(sender.request);
    if (!source.isEnabled) throw new Refused('data_source_disabled', `data id ${source.dataId}`);
    if (source.typeLabel !== 'time_series')
      throw new Refused('unsupported_type', `its type is ${source.typeLabel}`);
    return { source, pair };
  };

  /** Counts the request against max_rate; the headers that tell its sender what is left. */
  const limit = (source: Source): RateHeaders => {
    const maxRate = effectiveRate(source.maxRate, deps.maxRateDefault);
    const rate = deps.limiter.admit(`d:${source.dataId}`, maxRate, deps.now());
    if (rate === undefined || rate.isAdmitted) return rate?.headers ?? noHeaders;
    throw new Refused('rate_limited', `max_rate is ${maxRate} requests per second`, {
      ...rate.headers,
      ...retryAfter(rate.retryAfterSeconds),
    });
  };

  /** Room for as many uids as the points of a body can take. */
  const takeBase = ({ layout, rules }: Source, bodyLength: number): UidBase => {
    const ordinals = Math.min(layout === 'wide' ? rules.pointsMax : limits.elementsMax, bodyLength);
    const base = deps.bases.take(ordinals);
    if (base === undefined) throw new Fault('transient', 'not_stored', 'the receiver is starting');
    return base;
  };

  const encode = async (
    body: Body,
    source: Source,
    task: Omit<PushTask, 'table' | 'namesAreFinal'>,
    sender: PushSender,
  ): Promise<EncodedPush> => {
    const run = async (table: Source, namesAreFinal: boolean): Promise<EncodedPush> => {
      const outcome = await deps.encode(body, { ...task, table, namesAreFinal }, sender.deadlineAt);
      sender.items = outcome.points;
      if (outcome.kind === 'encoded') return outcome;
      throw new Refused(outcome.reason, outcome.detail);
    };
    const first = await run(source, false);
    const { unknownMetrics, unknownDimensions } = first.encoded;
    if (unknownMetrics.size === 0 && unknownDimensions.size === 0) return first;
    const { rules } = source;
    const registering = deps.registerColumnNames(source, rules, [...unknownMetrics], [...unknownDimensions]);
    return run(await inTime('the column registry', registering, sender.deadlineAt), true);
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
      : new Fault('transient', 'unconfirmed', 'NATS did not confirm a part of the request', fault);
  };

  const count = (encoded: EncodedPoints, { dataId }: Source): void => {
    const pipeline = 'metrics';
    const isPublished = encoded.accepted > 0;
    if (isPublished) accepted.inc(encoded.accepted);
    for (const [reason, points] of encoded.dropped) {
      const isDeferred = isPublished && [...encoded.deferred.keys()].some((deferred) => deferred === reason);
      (isDeferred ? metrics.deferred : metrics.dropped).inc({ pipeline, reason }, points);
    }
    for (const [reason, values] of encoded.valuesDropped) recorder.lost(reason, dataId, values);
    deps.traces?.sawItems({ 'tidemark.data_id': dataId, 'tidemark.items': encoded.accepted });
    if (!isPublished) recorder.refusedItems(encoded.dropped, dataId, 1);
  };

  const takePoints = async (
    body: Body,
    source: Source,
    pair: PushPair,
    sender: PushSender,
    arrivedAt: number,
  ): Promise<PushReply> => {
    const { bytes, reserve } = body;
    if (!reserve(madeOfBody * bytes.length)) throw new Refused(noRoom.reason, noRoom.detail, retryAfter(1));
    const key = sender.request.headers['idempotency-key'];
    const isKeyed = typeof key === 'string' && key !== '';
    const identity = isKeyed ? await pushIdentity(source, pair, key, bytes) : undefined;
    const base = identity?.base ?? takeBase(source, bytes.length);
    const { rules } = source;
    const { pointsMax } = rules;
    const { elementsMax } = limits;
    const task = { pair, caps: rules, policy: rules.time, arrivedAt, base, isKeyed, pointsMax, elementsMax };
    const push = await encode(body, source, task, sender);
    const { encoded } = push;
    if (!reserve(2 * encodedLength(encoded))) throw new Refused(noRoom.reason, noRoom.detail, retryAfter(1));
    const isRepeat =
      encoded.accepted > 0 && (await publish(encoded, source, base, arrivedAt, identity, sender.deadlineAt));
    if (isRepeat) {
      recorder.repeated(source.dataId, push.points);
      return repeatReply;
    }
    count(encoded, source);
    samplePoints(recorder, sender, push);
    return pointsReply(encoded);
  };

  const handleBody = async (
    body: Body,
    watch: HeadWatch,
    sender: PushSender,
    arrivedAt: number,
  ): Promise<PushReply> => {
    const { source, pair } = await authorize(watch, body.bytes, sender);
    sender.bytes = body.bytes;
    let rateHeaders: RateHeaders = noHeaders;
    try {
      rateHeaders = limit(source);
      return withHeaders(await takePoints(body, source, pair, sender, arrivedAt), rateHeaders);
    } catch (error) {
      return withHeaders(replyOf(error, sender), rateHeaders);
    }
  };

  const tell = (reason: RequestReason, detail: string, sender: PushSender): void => {
    recorder.refused(reason, sender.dataId, sender.items);
    sampleRefusedPush(recorder, sender, reason, detail);
  };

  const tooManyFailures = (waitSeconds: number): Refused =>
    new Refused('too_many_failures', '', retryAfter(waitSeconds));

  /** Counts a failure of an address that has shown nothing valid; many at once are refused for their number. */
  const judged = (refused: Refused, { dataId, request }: PushSender): Refused => {
    if (dataId !== 0 || !isFailure(refused.reason)) return refused;
    const waitSeconds = deps.failures.failed(request);
    return waitSeconds === 0 ? refused : tooManyFailures(waitSeconds);
  };

  const replyOf = (error: unknown, sender: PushSender): PushReply => {
    if (error instanceof Refused) {
      const { reason, detail, reply } = judged(error, sender);
      tell(reason, detail, sender);
      return reply;
    }
    if (!(error instanceof Fault) || error.kind === 'internal') throw error;
    // A failure before the publish (KV, NATS) has stored nothing.
    const reason = error.code === 'unconfirmed' ? 'unconfirmed' : 'not_stored';
    tell(reason, '', sender);
    return refusal(reason, '', retryAfter(reason === 'unconfirmed' ? 2 : 1));
  };

  const read = async (sender: PushSender): Promise<PushReply> => {
    const { request } = sender;
    const why = deps.unready();
    if (why !== undefined) throw new Refused('not_stored', why, retryAfter(1));
    const waitSeconds = deps.failures.retryAfterSeconds(request);
    if (waitSeconds > 0) throw tooManyFailures(waitSeconds);
    const watch = new HeadWatch(deps.directory.authorize, limits.elementsMax);
    const body = await readBody(request, limits, deps.inFlight, (piece) => watch.see(piece));
    if ('reason' in body) {
      if (body.reason !== 'unwanted')
        throw new Refused(body.reason, body.detail, body.reason === 'not_stored' ? retryAfter(1) : {});
      await authorize(watch, undefined, sender);
      throw new Fault('internal', 'unwanted_body', 'a body with a valid credential was abandoned');
    }
    try {
      bodyBytes.inc(body.wireBytes);
      deps.traces?.sawBody(body.bytes);
      sender.deadlineAt = performance.now() + deps.deadlineMs;
      return await handleBody(body, watch, sender, deps.now());
    } finally {
      body.release();
    }
  };

  return async (request) => {
    const sender: PushSender = { request, dataId: 0, items: 0, deadlineAt: 0 };
    return read(sender).catch((error: unknown) => replyOf(error, sender));
  };
};

const withHeaders = (reply: PushReply, headers: RateHeaders): PushReply =>
  headers === noHeaders || Object.keys(headers).length === 0
    ? reply
    : { ...reply, headers: { ...headers, ...reply.headers } };
