import type { IncomingMessage } from 'node:http';
import type { ApplicationSource } from '../../directory/applications.ts';
import type { Directory } from '../../directory/directory.ts';
import { bearerToken } from '../../model/text-forms.ts';
import type { IngressMetrics } from '../../telemetry/metrics.ts';
import { jsonTraces } from '../../wire/otlp/json-traces.ts';
import { protobufTraces } from '../../wire/otlp/protobuf-traces.ts';
import {
  type EncodedTraces,
  MalformedBody,
  type SpanOwner,
  type TraceReader,
} from '../../wire/otlp/types.ts';
import type { Account } from '../account.ts';
import type { BytesInFlight } from '../admission.ts';
import { type BodyLimits, readBody } from '../body.ts';
import { clientAddress, type TrustedProxies } from '../client-address.ts';
import { type BaseCounter, requestIdentity } from '../identity.ts';
import { effectiveRate, type RateLimiter } from '../rate-limiter.ts';
import type { RequestTraces } from '../request-traces.ts';
import { createSenderNames } from '../sender.ts';
import { widestLimits } from './limits.ts';
import { outcomeMessage, repeatMessage } from './outcome-message.ts';
import type { SpanPublisher } from './publish.ts';
import {
  applicationDisabled,
  bodyRefusal,
  malformedRefusal,
  overloaded,
  Refused,
  refusalOf,
  refusalReply,
  retryAfter,
  unauthorized,
} from './refusal.ts';
import { encodingOf, type OtlpEncoding, type OtlpReply, partialReply, successReply } from './reply.ts';
import { accountForSpans, type OtlpSender, sampleRefusedOtlp, sampleSpans, soleOwner } from './samples.ts';

export type OtlpDependencies = {
  readonly directory: Directory;
  readonly bases: BaseCounter;
  readonly inFlight: BytesInFlight;
  readonly limiter: RateLimiter;
  readonly publisher: SpanPublisher;
  readonly metrics: IngressMetrics;
  readonly account: Account;
  /** Why nothing can be taken now, or undefined. */
  readonly unready: () => string | undefined;
  readonly now: () => number;
  readonly bodyLimits: BodyLimits;
  readonly maxRateDefault: number;
  readonly trustedProxies: TrustedProxies;
  /** Where tracing is on. */
  readonly traces?: RequestTraces | undefined;
};

const readers: Readonly<Record<OtlpEncoding, TraceReader>> = { json: jsonTraces, protobuf: protobufTraces };

/** The credential of the request as a whole (design section 5): X-MON-TOKEN, else a bearer token. */
const credentialOf = (request: IncomingMessage): string | undefined => {
  const header = request.headers['x-mon-token'];
  if (typeof header === 'string' && header.trim() !== '') return header.trim();
  return bearerToken(request.headers.authorization);
};

type Admitted = {
  /** By token of a ResourceSpans; undefined stands for the request's credential. */
  readonly applications: ReadonlyMap<string | undefined, ApplicationSource>;
  readonly rateHeaders: Readonly<Record<string, string>>;
};

/**
 * Answers one OTLP request (specification 4.2, design section 5): admit, inflate, authorize, decode, rules, fill dimensions,
 * encode, publish. 200 only after the PubAck of everything accepted. Never throws: every failure is a reply.
 */
export const createOtlpHandler = (
  deps: OtlpDependencies,
): ((request: IncomingMessage) => Promise<OtlpReply>) => {
  const { metrics, account } = deps;
  const bodyBytes = metrics.bodyBytes.labels('otlp');
  const accepted = metrics.accepted.labels('traces');
  const senders = createSenderNames(deps.directory.isCredential);

  const authorize = async (
    credential: string | undefined,
    tokens: readonly string[],
    sender: OtlpSender,
  ): Promise<ReadonlyMap<string | undefined, ApplicationSource>> => {
    const applications = new Map<string | undefined, ApplicationSource>();
    for (const token of [undefined, ...tokens]) {
      const text = token ?? credential;
      if (text === undefined) continue;
      const application = await deps.directory.authorizeApplication(text);
      if (application !== undefined) applications.set(token, application);
    }
    if (applications.size === 0) throw unauthorized();
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
      const verdict = deps.limiter.judge(`a:${appId}`, rate, deps.now());
      if (verdict === undefined) continue;
      if (!verdict.isAdmitted) {
        sender.owner = appId;
        throw new Refused(429, 'rate_limited', `more requests than max_rate, which is ${rate} per second`, {
          ...verdict.headers,
          ...retryAfter(verdict.retryAfterSeconds),
        });
      }
      headers = verdict.headers;
    }
    return headers;
  };

  const admit = async (
    credential: string | undefined,
    reader: TraceReader,
    bytes: Buffer,
    sender: OtlpSender,
  ): Promise<Admitted> => {
    const tokens = reader.collectTokens(bytes);
    sender.secrets = credential === undefined ? tokens : [credential, ...tokens];
    const applications = await authorize(credential, tokens, sender);
    return { applications, rateHeaders: limit(applications.values(), sender) };
  };

  const ownerOf = (application: ApplicationSource | undefined): SpanOwner | 'invalid' | 'disabled' => {
    if (application === undefined) return 'invalid';
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
    bytes: Buffer,
    arrivedAt: number,
    { applications, rateHeaders }: Admitted,
  ): Promise<OtlpReply> => {
    const { request } = sender;
    const reader = readers[encoding];
    const credential = credentialOf(request);
    const isDeduplicated = [...applications.values()].every((application) => application.deduplicate);
    const identity = isDeduplicated ? requestIdentity(`otlp:${credential ?? ''}`, '', bytes) : undefined;
    const limits = widestLimits([...applications.values()].map(({ rules }) => rules.limits));
    const base = identity?.base ?? deps.bases.take(limits.spansMax);
    if (base === undefined) throw overloaded('the receiver is starting');
    const encoded = reader.encodeTraces(bytes, {
      resolve: (token) => ownerOf(applications.get(token)),
      clientIp: clientAddress(request, deps.trustedProxies),
      base,
      arrivedAt,
      limits,
      wantsSample: account.wants,
    });
    sender.spans = encoded.spans;
    sender.sdk = encoded.sdk;
    refuseIfNobodys(encoded);
    const fragments = encoded.runs.map((run) => ({ run, base, arrivedAt }));
    const isRepeat = await deps.publisher.publish(fragments, identity?.sha256Hex ?? base.text);
    if (isRepeat) {
      account.repeated(sender.owner, encoded.spans);
      return partialReply(encoding, 0, repeatMessage, rateHeaders);
    }
    count(encoded, request.headers['user-agent']);
    const disabled = [...applications.values()].filter(({ isEnabled }) => !isEnabled);
    accountForSpans(account, encoded, soleOwner(disabled));
    sampleSpans(account, sender, encoded);
    const { rejected, message } = outcomeMessage(encoded);
    return message === ''
      ? successReply(encoding, rateHeaders)
      : partialReply(encoding, rejected, message, rateHeaders);
  };

  const handleBody = async (
    sender: OtlpSender,
    encoding: OtlpEncoding,
    bytes: Buffer,
    arrivedAt: number,
  ): Promise<OtlpReply> => {
    const admitted = await admit(credentialOf(sender.request), readers[encoding], bytes, sender);
    try {
      return await takeSpans(sender, encoding, bytes, arrivedAt, admitted);
    } catch (error) {
      const refused = refusalOf(
        error instanceof MalformedBody ? malformedRefusal(error, encoding, bytes) : error,
      );
      const { status, reason, message, field } = refused;
      // What is left of the rate is told in every answer to whom it holds for.
      throw new Refused(status, reason, message, { ...admitted.rateHeaders, ...refused.headers }, field);
    }
  };

  return async (request) => {
    const encoding = encodingOf(request.headers['content-type']);
    const sender: OtlpSender = { request, owner: 0, spans: 0, sdk: '', secrets: [] };
    try {
      const why = deps.unready();
      if (why !== undefined) throw overloaded(why);
      if (encoding === undefined) {
        throw new Refused(415, 'content_type_unsupported', 'send application/json or application/x-protobuf');
      }
      const body = await readBody(request, deps.bodyLimits, deps.inFlight);
      if ('reason' in body) throw bodyRefusal(body);
      try {
        bodyBytes.inc(body.wireBytes);
        deps.traces?.sawBody(body.bytes);
        return await handleBody(sender, encoding, body.bytes, deps.now());
      } catch (error) {
        throw error instanceof MalformedBody ? malformedRefusal(error, encoding, body.bytes) : error;
      } finally {
        body.release();
      }
    } catch (error) {
      const refused = refusalOf(error);
      account.refused(refused.reason, sender.owner, sender.spans);
      sampleRefusedOtlp(account, sender, refused);
      return refusalReply(encoding ?? 'json', refused);
    }
  };
};
