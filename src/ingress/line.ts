import type { Incoming } from '../http/incoming.ts';
import { counted } from '../model/counted.ts';
import type { IngressMetrics } from '../telemetry/ingress-metrics.ts';
import { type FailureLimit, isFailure } from './failures.ts';
import type { BytesInFlight } from './http/admission.ts';
import { type Body, type BodyLimits, readBody, refusedBody, type SeeBody } from './http/body.ts';
import type { Reply } from './http/reply.ts';
import type { BaseCounter } from './identity.ts';
import { effectiveRate, type RateLimiter } from './rates/limiter.ts';
import type { ReasonLinks } from './reason-links.ts';
import type { ReceiverName, RefusalRecorder } from './refusal-recorder.ts';
import {
  createPatience,
  type Headers,
  noHeaders,
  notStored,
  Refused,
  refusalOf,
  retryAfter,
} from './refused.ts';
import { idHeaders, idOf, noteDefect, type RequestId } from './request-id.ts';
import type { RequestTraces } from './request-traces.ts';
import type { UsageRecorder } from './usage-recorder.ts';

/** The known facts of a request so far; a refusal is attributed by them. */
export type Sender = {
  readonly request: Incoming;
  /** The only owner that it has shown a right to: a data id or an application; 0 before that, or with several owners. */
  owner: number;
  /** It has shown a valid credential. */
  isKnown: boolean;
  /** Its items, as far as they were counted. */
  items: number;
  /** Its credentials, right or wrong. */
  secrets: readonly string[];
  /** The latest time of its answer, ms of `performance.now()`; 0 until its body has arrived. */
  deadlineAt: number;
  /** The rest of `max_rate`, for every answer after that check. */
  rateHeaders: Headers;
  /** Empty until its items have a base, or it is answered. */
  requestId: RequestId;
};

export const newSender = (request: Incoming): Sender => ({
  request,
  owner: 0,
  isKnown: false,
  items: 0,
  secrets: [],
  deadlineAt: 0,
  rateHeaders: noHeaders,
  requestId: '',
});

/** The dependencies of both receivers. */
export type LineDependencies = {
  readonly inFlight: BytesInFlight;
  readonly failures: FailureLimit;
  readonly limiter: RateLimiter;
  readonly metrics: IngressMetrics;
  readonly recorder: RefusalRecorder;
  readonly usage: UsageRecorder;
  readonly bases: BaseCounter;
  readonly links: ReasonLinks;
  /** Why the receiver can accept nothing now, or undefined. */
  readonly unready: () => string | undefined;
  readonly now: () => number;
  readonly limits: BodyLimits & { readonly elementsMax: number };
  /** The longest time from the arrival of a body to the answer, ms. */
  readonly deadlineMs: number;
  readonly maxRateDefault: number;
  /** Undefined where tracing is off. */
  readonly traces?: RequestTraces | undefined;
};

/** The steps of the line that differ between the signals, in the order in which a request passes them. Each may throw Refused. */
export type Signal<S extends Sender, A> = {
  readonly receiver: ReceiverName;
  open(request: Incoming): S;
  /** Validates the header fields. */
  checkHead(sender: S): void;
  /** Whether memory alone knows the credential of the header fields: it passes where its address has too many failures. */
  knowsHead?(sender: S): boolean;
  /** The credential of the header fields: its owner, and max_rate. */
  admitHead(sender: S): Promise<void> | undefined;
  /** Looks for the credential in the body while the body arrives; false stops the reading. */
  watchBody?(sender: S): SeeBody;
  /** Throws the reason why the watcher stopped the body. */
  admitAbandoned?(sender: S): Promise<unknown>;
  /** The credentials of the body: their owners, and max_rate. */
  admitBody(sender: S, body: Body): Promise<A>;
  /** Decodes, applies the rules, encodes, publishes all or nothing, and accounts. */
  take(sender: S, body: Body, admitted: A, arrivedAt: number): Promise<Reply>;
  /** Samples a request that is refused. */
  sampleRefused(sender: S, refused: Refused): void;
  /** The answer to a refused request. */
  refuse(refused: Refused, request: Incoming): Reply;
};

/**
 * Counts the request against an owner's max_rate; `key` names the owner. A request over it is refused before anything but its
 * credential is decoded.
 */
export const limitRate = (
  { limiter, maxRateDefault, now }: Pick<LineDependencies, 'limiter' | 'maxRateDefault' | 'now'>,
  sender: Sender,
  key: string,
  maxRate: number,
): void => {
  const rate = effectiveRate(maxRate, maxRateDefault);
  const verdict = limiter.admit(key, rate, now());
  if (verdict === undefined) return;
  sender.rateHeaders = verdict.headers;
  if (verdict.isAdmitted) return;
  const detail =
    rate < 0
      ? `max_rate is ${rate}, which refuses every request: the operator has to raise it`
      : `max_rate is ${counted(rate, 'request')} per second`;
  throw new Refused('rate_limited', detail, { headers: retryAfter(verdict.retryAfterSeconds) });
};

/** Changes of records take effect within a second. */
const validMs = 1000;

/**
 * Whether a credential that was validated at this time, ms of `performance.now()`, has to be looked up again: while its body came, its
 * owner may have been disabled or purged, and it may have ended.
 */
export const isDated = (validatedAt: number): boolean => performance.now() - validatedAt > validMs;

const tooManyFailures = (waitSeconds: number, { failuresMax }: FailureLimit): Refused =>
  new Refused('too_many_failures', `the limit is ${counted(failuresMax, 'request')} per second`, {
    headers: retryAfter(waitSeconds),
  });

/** Counts a failure of an address without any valid credential; many at once are refused for their number. */
const judged = (refused: Refused, { isKnown, request }: Sender, failures: FailureLimit): Refused => {
  if (isKnown || !isFailure(refused)) return refused;
  const waitSeconds = failures.failed(request);
  return waitSeconds === 0 ? refused : tooManyFailures(waitSeconds, failures);
};

/** The answer with the id of its request and the rest of its rate. */
const addressed = (reply: Reply, sender: Sender, bases: BaseCounter): Reply => ({
  ...reply,
  headers: { ...idHeaders(idOf(sender, bases)), ...sender.rateHeaders, ...reply.headers },
});

/** Bytes of a body that is not read to its end, as its sender announced them. */
const announcedBytes = ({ headers }: Incoming): number => Number(headers['content-length'] ?? 0);

/**
 * The line of a receiver (specification 4, architecture 4.1): header fields, credential and max_rate, body within its limits,
 * decode, rules, encode, publish, account, reply. 200 only after the PubAck of every kept item. Every failure becomes a reply, but
 * a defect rejects.
 */
export const createLine = <S extends Sender, A>(
  deps: LineDependencies,
  signal: Signal<S, A>,
): ((request: Incoming) => Promise<Reply>) => {
  const { failures, recorder, traces, limits, inFlight, bases } = deps;
  const bodyBytes = deps.metrics.bodyBytes.labels(signal.receiver);
  const patience = createPatience();

  const readWanted = async (sender: S): Promise<Body> => {
    const reader = { see: signal.watchBody?.(sender), isKnown: () => sender.isKnown };
    const body = await readBody(sender.request, limits, inFlight, reader);
    if (!('reason' in body)) return body;
    if (body.reason === 'unwanted') await signal.admitAbandoned?.(sender);
    throw body instanceof Refused ? body : refusedBody(body);
  };

  const take = async (sender: S): Promise<Reply> => {
    const why = deps.unready();
    if (why !== undefined) throw notStored(why);
    signal.checkHead(sender);
    const waitSeconds = failures.retryAfterSeconds(sender.request);
    // Many senders may share an address, as that of a node: the wrong token of one must not shut out the others.
    if (waitSeconds > 0 && signal.knowsHead?.(sender) !== true) throw tooManyFailures(waitSeconds, failures);
    await signal.admitHead(sender);
    const body = await readWanted(sender);
    try {
      bodyBytes.inc(body.wireBytes);
      traces?.sawBody(body.bytes);
      sender.deadlineAt = Math.min(performance.now() + deps.deadlineMs, sender.request.answerBy ?? Infinity);
      const arrivedAt = deps.now();
      const admitted = await signal.admitBody(sender, body);
      const reply = await signal.take(sender, body, admitted, arrivedAt);
      if (reply.status === 200) patience.stored();
      return reply;
    } finally {
      body.release();
    }
  };

  const refuse = (error: unknown, sender: S): Reply => {
    const refused = patience.withWait(judged(refusalOf(error), sender, failures));
    idOf(sender, bases);
    if (refused.reason === 'rate_limited' && sender.deadlineAt === 0)
      bodyBytes.inc(announcedBytes(sender.request));
    recorder.refused(refused.reason, sender.owner, sender.items);
    signal.sampleRefused(sender, refused);
    return signal.refuse(refused, sender.request);
  };

  return async (request) => {
    const sender = signal.open(request);
    try {
      return addressed(await take(sender), sender, bases);
    } catch (error) {
      try {
        return addressed(refuse(error, sender), sender, bases);
      } catch (defect) {
        noteDefect(defect, idOf(sender, bases));
        throw defect;
      }
    }
  };
};
