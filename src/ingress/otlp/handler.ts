import type { IncomingMessage } from 'node:http';
import type { ApplicationSource } from '../../directory/applications.ts';
import type { Directory } from '../../directory/directory.ts';
import type { IngressMetrics } from '../../telemetry/metrics.ts';
import { type EncodedTraces, encodedLength, MalformedBody, type SpanOwner } from '../../wire/otlp/types.ts';
import { type FailureLimit, isFailure } from '../failures.ts';
import type { BytesInFlight } from '../http/admission.ts';
import { type Body, type BodyLimits, noRoom, readBody } from '../http/body.ts';
import { clientAddress, type TrustedProxies } from '../http/client-address.ts';
import { type BaseCounter, requestIdentity } from '../identity.ts';
import { effectiveRate, type RateLimiter } from '../rates/limiter.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import type { RequestTraces } from '../request-traces.ts';
import { createSenderNames } from '../sender.ts';
import { type CredentialNames, credentialOf } from './credential.ts';
import { widestLimits } from './limits.ts';
import { outcomeMessage, repeatMessage } from './outcome-message.ts';
import type { SpanPublisher } from './publish.ts';
import type { ReadTraces } from './read.ts';
import {
  applicationDisabled,
  bodyRefusal,
  malformedRefusal,
  overloaded,
  Refused,
  refusalOf,
  refusalReply,
  retryAfter,
  tooManyFailures,
  unauthorized,
} from './refusal.ts';
import { encodingOf, type OtlpEncoding, type OtlpReply, partialReply, successReply } from './reply.ts';
import { type OtlpSender, recordSpans, sampleRefusedOtlp, sampleSpans, soleOwner } from './samples.ts';

export type OtlpDependencies = {
  readonly directory: Directory;
  readonly bases: BaseCounter;
  readonly inFlight: BytesInFlight;
  readonly limiter: RateLimiter;
  readonly publisher: SpanPublisher;
  readonly metrics: IngressMetrics;
  readonly recorder: RefusalRecorder;
  /** Why nothing can be taken now, or undefined. */
  readonly unready: () => string | undefined;
  readonly now: () => number;
  readonly bodyLimits: BodyLimits & { readonly elementsMax: number };
  /** How long after its body is there a request is answered at the latest, ms. */
  readonly deadlineMs: number;
  readonly maxRateDefault: number;
  readonly trustedProxies: TrustedProxies;
  readonly failures: FailureLimit;
  readonly credentialNames: CredentialNames;
  readonly read: ReadTraces;
  /** Where tracing is on. */
  readonly traces?: RequestTraces | undefined;
};

/** What a body costs in memory, beside its own bytes: blocks about as long, and the messages they are sent in. */
const madeOfBody = 3;

type Admitted = {
  /** By token of a ResourceSpans; undefined stands for the request's credential. */
  readonly applications: ReadonlyMap<string | undefined, ApplicationSource>;
  readonly rateHeaders: Readonly<Record<string, string>>;
  /** What repeats are recognised by: the first token of whom the request is of by its credential. */
  readonly identityCredential: string;
};

/**
 * Answers one OTLP request (specification 4.2, architecture 4.1): admit, inflate, authorize, decode, rules, fill dimensions,
 * encode, publish. 200 only after the PubAck of everything accepted. Never throws: every failure is a reply.
 */
export const createOtlpHandler = (
  deps: OtlpDependencies,
): ((request: IncomingMessage) => Promise<OtlpReply>) => {
  const { metrics, recorder } = deps;
  const bodyBytes = metrics.bodyBytes.labels('otlp');
  const accepted = metrics.accepted.labels('traces');
  const senders = createSenderNames(deps.directory.isCredential);

  /** The applications of the tokens that a request names; that of its credential, if it is one, was found before. */
  const authorize = async (
    own: ApplicationSource | undefined,
    tokens: readonly string[],
    sender: OtlpSender,
  ): Promise<ReadonlyMap<string | undefined, ApplicationSource>> => {
    const applications = new Map<string | undefined, ApplicationSource>();
    if (own !== undefined) applications.set(undefined, own);
    for (const token of tokens) {
      const application = await deps.directory.authorizeApplication(token);
      if (application !== undefined) applications.set(token, application);
    }
    if (applications.size === 0) throw unauthorized();
    deps.failures.passed(sender.request);
    sender.isKnown = true;
    sender.owner = soleOwner(applications.values());
    if ([...applications.values()].every((application) => !application.isEnabled)) {
      throw applicationDisabled();
    }
    return applications;
  };

  /** A request counts once against each application it brings spans for. */
  const limit = (
    applications: Iterable<ApplicationSource>,
    sender: OtlpSender,
  ): Readonly<Record<string, string>> => {
    let headers: Readonly<Record<string, string>> = {};
    for (const { appId, maxRate } of new Map([...applications].map((each) => [each.appId, each])).values()) {
      const rate = effectiveRate(maxRate, deps.maxRateDefault);
      const verdict = deps.limiter.admit(`a:${appId}`, rate, deps.now());
      if (verdict === undefined) continue;
      if (!verdict.isAdmitted) {
        sender.owner = appId;
        throw new Refused(
          429,
          'rate_limited',
          `more requests than max_rate, the limit is ${rate} per second: send fewer, larger requests`,
          {
            ...verdict.headers,
            ...retryAfter(verdict.retryAfterSeconds),
          },
        );
      }
      headers = verdict.headers;
    }
    return headers;
  };

  const ownerOf = (application: ApplicationSource): SpanOwner | 'disabled' => {
    if (!application.isEnabled) return 'disabled';
    const { appId, bizId, fillDimensions, rules } = application;
    return { appId, bizId, fillDimensions, policy: rules.time, limits: rules.limits };
  };

  const count = (encoded: EncodedTraces, userAgent: string | undefined): void => {
    const pipeline = 'traces';
    if (encoded.accepted > 0) accepted.inc(encoded.accepted);
    for (const [reason, spans] of encoded.rejected) metrics.dropped.inc({ pipeline, reason }, spans);
    for (const [reason, spans] of encoded.deferred) metrics.deferred.inc({ pipeline, reason }, spans);
    deps.traces?.sawItems({ 'tidemark.items': encoded.accepted });
    if (encoded.leniencies.size === 0) return;
    const sender = senders.nameOf(encoded.sdk, userAgent);
    for (const [kind, times] of encoded.leniencies) metrics.leniencies.inc({ kind, sender }, times);
  };

  /** When no span is left to any application, the request as a whole is refused like one with a wrong credential. */
  const refuseIfNobodys = (encoded: EncodedTraces): void => {
    const invalid = encoded.rejected.get('token_invalid') ?? 0;
    const disabled = encoded.rejected.get('application_disabled') ?? 0;
    if (encoded.spans === 0 || invalid + disabled < encoded.spans) return;
    if (invalid > 0) throw unauthorized();
    throw applicationDisabled();
  };

  const takeSpans = async (
    sender: OtlpSender,
    encoding: OtlpEncoding,
    body: Body,
    arrivedAt: number,
    { applications, rateHeaders, identityCredential }: Admitted,
  ): Promise<OtlpReply> => {
    const { request } = sender;
    if (!body.reserve(madeOfBody * body.bytes.length)) throw overloaded(noRoom.detail);
    const isDeduplicated = [...applications.values()].every((application) => application.deduplicate);
    const identity = isDeduplicated
      ? await requestIdentity(`otlp:${identityCredential}`, '', body.bytes)
      : undefined;
    const limits = widestLimits([...applications.values()].map(({ rules }) => rules.limits));
    const base = identity?.base ?? deps.bases.take(limits.spansMax);
    if (base === undefined) throw overloaded('the receiver is starting');
    const encoded = await deps.read.encode(
      body,
      encoding,
      {
        owners: new Map([...applications].map(([token, application]) => [token, ownerOf(application)])),
        clientIp: clientAddress(request, deps.trustedProxies),
        base,
        arrivedAt,
        limits,
        wantsSample: recorder.wants,
      },
      sender.deadlineAt,
    );
    sender.spans = encoded.spans;
    sender.sdk = encoded.sdk;
    refuseIfNobodys(encoded);
    if (!body.reserve(2 * encodedLength(encoded))) throw overloaded(noRoom.detail);
    // A request of which nothing is kept leaves no name behind: once its policy is mended, its spans are stored.
    const name = encoded.accepted > 0 ? identity : undefined;
    const keyBase = identity === name ? base : deps.bases.take(limits.spansMax);
    if (keyBase === undefined) throw overloaded('the receiver is starting');
    const { deadlineAt } = sender;
    const isRepeat = await deps.publisher.publish({
      encoded,
      base,
      sha256Hex: name?.sha256Hex,
      keyBase,
      arrivedAt,
      deadlineAt,
    });
    if (isRepeat) {
      recorder.repeated(sender.owner, encoded.spans);
      return partialReply(encoding, 0, repeatMessage, rateHeaders);
    }
    count(encoded, request.headers['user-agent']);
    const disabled = [...applications.values()].filter(({ isEnabled }) => !isEnabled);
    recordSpans(recorder, encoded, soleOwner(disabled));
    sampleSpans(recorder, sender, encoded);
    const { rejected, message } = outcomeMessage(encoded);
    return message === ''
      ? successReply(encoding, rateHeaders)
      : partialReply(encoding, rejected, message, rateHeaders);
  };

  const handleBody = async (
    sender: OtlpSender,
    encoding: OtlpEncoding,
    body: Body,
    credential: string | undefined,
    own: ApplicationSource | undefined,
    arrivedAt: number,
  ): Promise<OtlpReply> => {
    const tokens = await deps.read.tokens(body, encoding, sender.deadlineAt);
    sender.secrets = credential === undefined ? tokens : [credential, ...tokens];
    const applications = await authorize(own, tokens, sender);
    const rateHeaders = limit(applications.values(), sender);
    try {
      const identityCredential = own?.identityCredential ?? credential ?? '';
      const admitted = { applications, rateHeaders, identityCredential };
      return await takeSpans(sender, encoding, body, arrivedAt, admitted);
    } catch (error) {
      const refused = refusalOf(
        error instanceof MalformedBody ? malformedRefusal(error, encoding, body.bytes) : error,
      );
      const { status, reason, message, field } = refused;
      // What is left of the rate is told in every answer to whom it holds for.
      throw new Refused(status, reason, message, { ...rateHeaders, ...refused.headers }, field);
    }
  };

  const take = async (sender: OtlpSender, encoding: OtlpEncoding | undefined): Promise<OtlpReply> => {
    const { request } = sender;
    const why = deps.unready();
    if (why !== undefined) throw overloaded(why);
    if (encoding === undefined) {
      throw new Refused(
        415,
        'content_type_unsupported',
        'the Content-Type is neither JSON nor protobuf: send application/json or application/x-protobuf',
      );
    }
    const waitSeconds = deps.failures.retryAfterSeconds(request);
    if (waitSeconds > 0) throw tooManyFailures(waitSeconds);
    const credential = credentialOf(request, deps.credentialNames);
    const own = credential === undefined ? undefined : await deps.directory.authorizeApplication(credential);
    const body = await readBody(request, deps.bodyLimits, deps.inFlight);
    if ('reason' in body) throw bodyRefusal(body);
    try {
      bodyBytes.inc(body.wireBytes);
      deps.traces?.sawBody(body.bytes);
      sender.deadlineAt = performance.now() + deps.deadlineMs;
      return await handleBody(sender, encoding, body, credential, own, deps.now());
    } finally {
      body.release();
    }
  };

  /** Counts a failure of an address that has shown nothing valid; many at once are refused for their number. */
  const judged = (refused: Refused, { isKnown, request }: OtlpSender): Refused => {
    if (isKnown || !isFailure(refused.reason)) return refused;
    const waitSeconds = deps.failures.failed(request);
    return waitSeconds === 0 ? refused : tooManyFailures(waitSeconds);
  };

  return async (request) => {
    const encoding = encodingOf(request.headers['content-type']);
    const sender: OtlpSender = {
      request,
      owner: 0,
      isKnown: false,
      spans: 0,
      sdk: '',
      secrets: [],
      deadlineAt: 0,
    };
    try {
      return await take(sender, encoding);
    } catch (error) {
      const refused = judged(refusalOf(error), sender);
      recorder.refused(refused.reason, sender.owner, sender.spans);
      sampleRefusedOtlp(recorder, sender, refused);
      return refusalReply(encoding ?? 'json', refused);
    }
  };
};
