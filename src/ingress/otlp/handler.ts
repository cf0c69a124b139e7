import { inTime } from '../../bus/in-time.ts';
import type { ApplicationSource } from '../../directory/applications.ts';
import type { Directory } from '../../directory/directory.ts';
import { tooManyLookUps } from '../../directory/find-once.ts';
import { clientAddress, type TrustedProxies } from '../../http/client-address.ts';
import type { Incoming } from '../../http/incoming.ts';
import { madeOfBody } from '../../model/body-memory.ts';
import { Fault } from '../../model/fault.ts';
import type { UidBase } from '../../model/uid.ts';
import {
  type BodyTokens,
  type EncodedItems,
  encodedLength,
  type ItemsOwner,
  TooManyItems,
} from '../../wire/otlp/types.ts';
import { storesNothing } from '../booking.ts';
import { type Body, noRoom } from '../http/body.ts';
import type { Reply } from '../http/reply.ts';
import { type BaseCounter, type RequestIdentity, requestIdentity } from '../identity.ts';
import { createLine, isDated, type LineDependencies, limitRate, newSender } from '../line.ts';
import { notStored, Refused } from '../refused.ts';
import { named } from '../request-id.ts';
import { createSenderNames, type SenderNames } from '../sender.ts';
import type { SeriesMax } from '../series/series-gate.ts';
import { type CredentialNames, credentialOf, noCredential } from './credential.ts';
import { keptByApplication } from './kept.ts';
import { widestLimits } from './limits.ts';
import { outcomeMessage, repeatMessage } from './outcome-message.ts';
import { type Applications, identityCredentialOf, ownersOf } from './owners.ts';
import type { ItemsPublisher } from './publish.ts';
import type { ReadContext, ReadItems, ReadRequest } from './read.ts';
import { readerRefusal, refusedReply } from './refusal.ts';
import { encodingOf, type OtlpEncoding, partialReply, successReply } from './reply.ts';
import { type OtlpSender, recordItems, sampleItems, sampleRefusedOtlp, soleOwner } from './samples.ts';
import type { OtlpSignal } from './signals.ts';

export type OtlpDependencies = LineDependencies & {
  readonly signal: OtlpSignal;
  /** The transport: OTLP/HTTP, or OTLP/gRPC. */
  readonly receiver: 'otlp' | 'grpc';
  readonly directory: Directory;
  readonly bases: BaseCounter;
  readonly publisher: ItemsPublisher;
  readonly trustedProxies: TrustedProxies;
  readonly credentialNames: CredentialNames;
  readonly read: ReadItems;
};

/** An export on its way through the line. */
type OtlpRequest = OtlpSender & {
  /** JSON where the Content-Type is neither encoding, for the answer that reports it. */
  readonly encoding: OtlpEncoding;
  /** The credential of the header fields. */
  credential: string | undefined;
  /** The application of that credential. */
  own: ApplicationSource | undefined;
  /** When it was looked up, ms of `performance.now()`. */
  ownAt: number;
  /** Why that credential could not be looked up: it may be valid. */
  headUndecided: Fault | undefined;
  tokens: BodyTokens;
};

/** Tokens of a body that are looked up together, and those of a sender that has shown no valid one. */
const lookUpsMax = 16;
const strangersLookUpsMax = 3;

const ownerOf = (
  application: ApplicationSource,
  pipeline: OtlpSignal['pipeline'],
): ItemsOwner | 'disabled' => {
  if (!application.isEnabled) return 'disabled';
  const { appId, bizId, fillDimensions, rules } = application;
  const { time, limits } = rules[pipeline];
  return { appId, bizId, fillDimensions, policy: time, limits };
};

/** The bound of the series of each application. */
const seriesMaxOf = (applications: Applications, pipeline: OtlpSignal['pipeline']): SeriesMax =>
  new Map([...applications.values()].map(({ appId, rules }) => [appId, rules[pipeline].seriesMax]));

/** When no item is left to any application, the request as a whole is refused like one with a wrong credential. */
const refuseIfNobodys = ({ items, rejected }: EncodedItems, names: CredentialNames): void => {
  const invalid = rejected.get('token_invalid') ?? 0;
  const disabled = rejected.get('application_disabled') ?? 0;
  if (items === 0 || invalid + disabled < items) return;
  throw invalid > 0 ? noCredential(names) : new Refused('application_disabled');
};

/** A request that is read and not yet published. */
type Unpublished = {
  readonly encoded: EncodedItems;
  readonly identity: RequestIdentity | undefined;
  readonly base: UidBase;
  readonly itemsMax: number;
  readonly arrivedAt: number;
};

/** The steps of the line for an OTLP export (specification 4.2). */
class OtlpSteps {
  private readonly deps: OtlpDependencies;
  private readonly senders: SenderNames;
  private readonly accepted: { inc(items: number): void };
  constructor(deps: OtlpDependencies) {
    this.deps = deps;
    this.senders = createSenderNames(deps.directory.isCredential);
    this.accepted = deps.metrics.accepted.labels(deps.signal.pipeline);
  }

  private known(sender: OtlpRequest): void {
    sender.isKnown = true;
    this.deps.failures.passed(sender.request);
  }

  private pass(sender: OtlpRequest, owner: number): void {
    sender.owner = owner;
    this.known(sender);
  }

  private limit(sender: OtlpRequest, { appId, maxRate }: ApplicationSource): void {
    const { owner } = sender;
    sender.owner = appId;
    limitRate(this.deps, sender, `a:${appId}`, maxRate);
    sender.owner = owner;
  }

  knowsHead({ request }: OtlpRequest): boolean {
    const credential = credentialOf(request, this.deps.credentialNames);
    return credential !== undefined && this.deps.directory.application(credential) !== undefined;
  }

  /** The application of the credential of the header fields, counted against its max_rate before the body is read. */
  async admitHead(sender: OtlpRequest): Promise<void> {
    const { directory, credentialNames } = this.deps;
    sender.credential = credentialOf(sender.request, credentialNames);
    if (sender.credential === undefined) return;
    sender.secrets = [sender.credential];
    const looked =
      directory.application(sender.credential) ?? directory.authorizeApplication(sender.credential);
    const { answerBy = Number.POSITIVE_INFINITY } = sender.request;
    const isBound = looked instanceof Promise && answerBy < Number.POSITIVE_INFINITY;
    const own = await this.ownOf(sender, isBound ? inTime('the records', looked, answerBy) : looked);
    if (own === undefined) return;
    sender.own = own;
    sender.ownAt = performance.now();
    this.pass(sender, own.appId);
    if (own.isEnabled) this.limit(sender, own);
  }

  /** Too many lookups end no request before its body is read, which may have a valid credential. Throws another transient Fault. */
  private async ownOf(
    sender: OtlpRequest,
    looked: ApplicationSource | Promise<ApplicationSource | undefined>,
  ): Promise<ApplicationSource | undefined> {
    try {
      return await looked;
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== tooManyLookUps) throw error;
      sender.headUndecided = error;
      return undefined;
    }
  }

  /** Looks the credential of the header fields up again where the body was long on its way. */
  private async renewHead(sender: OtlpRequest): Promise<void> {
    const { credential, own, ownAt, isKnown, deadlineAt } = sender;
    if (own === undefined || credential === undefined || !isDated(ownAt)) return;
    const looking = this.deps.directory.authorizeApplication(credential, isKnown);
    sender.own = await this.ownOf(sender, inTime('the records', looking, deadlineAt));
  }

  /**
   * The application of each token. Of those that memory does not know a few are looked up at a time, and for a sender that has shown no
   * valid one only the first few. Throws a transient Fault.
   */
  private async applicationsOf(
    sender: OtlpRequest,
    tokens: readonly string[],
  ): Promise<(ApplicationSource | undefined)[]> {
    const found = tokens.map((token) => this.deps.directory.application(token));
    if (!found.includes(undefined)) return found;
    const unknown = tokens.flatMap((token, index) => (found[index] === undefined ? [{ token, index }] : []));
    if (unknown.length < tokens.length) this.known(sender);
    for (let at = 0; at < unknown.length && (sender.isKnown || at === 0); ) {
      const { isKnown } = sender;
      const some = unknown.slice(at, at + (isKnown ? lookUpsMax : strangersLookUpsMax));
      at += some.length;
      const looking = Promise.all(
        some.map(({ token }) => this.deps.directory.authorizeApplication(token, isKnown)),
      );
      const applications = await inTime('the records', looking, sender.deadlineAt);
      for (const [place, application] of applications.entries()) found[some[place]?.index ?? 0] = application;
      if (applications.some((application) => application !== undefined)) this.known(sender);
    }
    return found;
  }

  private async authorize(sender: OtlpRequest, tokens: readonly string[]): Promise<Applications> {
    const { own, credential, headUndecided } = sender;
    const applications = new Map<string | undefined, ApplicationSource>();
    if (own !== undefined) applications.set(undefined, own);
    const found = await this.applicationsOf(sender, tokens);
    for (const [index, token] of tokens.entries()) {
      const application = found[index];
      if (application !== undefined) applications.set(token, application);
    }
    if (applications.size === 0) throw headUndecided ?? noCredential(this.deps.credentialNames);
    // Its records may have come since the header was looked up, with those of the body.
    sender.own = own ?? (credential === undefined ? undefined : applications.get(credential));
    if (sender.own !== undefined) applications.set(undefined, sender.own);
    return applications;
  }

  /** The applications that may own items of the body. A request counts once against each application that it brings items for. */
  async admitBody(sender: OtlpRequest, body: Body): Promise<Applications> {
    const { encoding, credential, own, deadlineAt } = sender;
    await this.renewHead(sender);
    sender.tokens = await this.deps.read.tokens(body, encoding, deadlineAt).catch((error: unknown) => {
      throw this.unreadable(error, sender, body);
    });
    const tokens = sender.tokens.filter((token) => token !== undefined);
    sender.secrets = credential === undefined ? tokens : [credential, ...tokens];
    const applications = ownersOf(await this.authorize(sender, tokens), sender.tokens);
    this.pass(sender, soleOwner(applications.values()));
    // A resource without a token belongs to the credential of the header fields, and the identity of the request with it.
    if (sender.own === undefined && sender.headUndecided !== undefined && sender.tokens.includes(undefined))
      throw sender.headUndecided;
    const all = [...applications.values()];
    if (all.every(({ isEnabled }) => !isEnabled)) throw new Refused('application_disabled');
    const counted = own?.isEnabled === true ? own.appId : undefined;
    for (const application of new Map(all.map((each) => [each.appId, each])).values())
      if (application.appId !== counted) this.limit(sender, application);
    return applications;
  }

  private unreadable(error: unknown, { encoding }: OtlpRequest, { bytes }: Body): unknown {
    const { receiver, signal } = this.deps;
    return readerRefusal(signal, error, receiver === 'grpc' ? 'grpc' : encoding, bytes);
  }

  private async encode(sender: OtlpRequest, body: Body, context: ReadContext): Promise<ReadRequest> {
    const { encoding, deadlineAt } = sender;
    try {
      const read = await this.deps.read.encode(body, encoding, context, deadlineAt);
      sender.items = read.encoded.items;
      sender.sdk = read.encoded.sdk;
      return read;
    } catch (error) {
      if (error instanceof TooManyItems) sender.items = error.items;
      throw this.unreadable(error, sender, body);
    }
  }

  private takeBase(itemsMax: number): UidBase {
    const base = this.deps.bases.take(itemsMax);
    if (base === undefined) throw notStored('the receiver is starting');
    return base;
  }

  /** The account of a published request, or of one whose items were all rejected. */
  private account(encoded: EncodedItems, sender: OtlpRequest, applications: Applications): void {
    const { metrics, recorder, traces } = this.deps;
    const { pipeline } = this.deps.signal;
    const { accepted, rejected, deferred, leniencies, sdk } = encoded;
    if (accepted > 0) this.accepted.inc(accepted);
    for (const [reason, items] of rejected) metrics.dropped.inc({ pipeline, reason }, items);
    for (const [reason, items] of deferred) metrics.deferred.inc({ pipeline, reason }, items);
    traces?.sawItems({ 'tidemark.items': accepted, 'tidemark.request_id': sender.requestId });
    if (leniencies.size > 0) {
      const name = this.senders.nameOf(sdk, sender.request.headers['user-agent']);
      for (const [kind, times] of leniencies) metrics.leniencies.inc({ kind, sender: name }, times);
    }
    const disabled = [...applications.values()].filter(({ isEnabled }) => !isEnabled);
    recordItems(recorder, encoded, soleOwner(disabled));
    sampleItems(recorder, sender, encoded);
  }

  /** Whether the request is a repeat. */
  private async publish(
    { deadlineAt }: OtlpRequest,
    body: Body,
    { encoded, identity, base, itemsMax, arrivedAt }: Unpublished,
  ): Promise<boolean> {
    refuseIfNobodys(encoded, this.deps.credentialNames);
    if (!body.reserve(2 * encodedLength(encoded))) throw notStored(noRoom.detail);
    // A request without any kept item leaves no name behind: once its policy is fixed, a retry stores its items.
    const name = encoded.accepted > 0 ? identity : undefined;
    const keyBase = identity === name ? base : this.takeBase(itemsMax);
    return this.deps.publisher.publish({
      sha256Hex: name?.sha256Hex,
      ...{ encoded, base, keyBase, arrivedAt, deadlineAt },
    });
  }

  async take(sender: OtlpRequest, body: Body, applications: Applications, arrivedAt: number): Promise<Reply> {
    const { signal, recorder, usage, trustedProxies } = this.deps;
    const { pipeline } = signal;
    const { request, encoding } = sender;
    if (!body.reserve(madeOfBody * body.bytes.length)) throw notStored(noRoom.detail);
    const isDeduplicated = [...applications.values()].every(({ deduplicate }) => deduplicate);
    const identityCredential = identityCredentialOf(sender, applications, sender.tokens);
    const identity = isDeduplicated
      ? await requestIdentity(
          this.deps.directory,
          `${signal.identityPrefix}:${identityCredential}`,
          '',
          body.bytes,
        )
      : undefined;
    const limits = widestLimits([...applications.values()].map(({ rules }) => rules[pipeline].limits));
    const base = named(sender, identity?.base ?? this.takeBase(limits.itemsMax));
    const { encoded, forgetSeries } = await this.encode(sender, body, {
      owners: new Map(
        [...applications].map(([token, application]) => [token, ownerOf(application, pipeline)]),
      ),
      clientIp: clientAddress(request, trustedProxies),
      wantsSample: recorder.wants,
      seriesMax: seriesMaxOf(applications, pipeline),
      ...{ base, arrivedAt, limits },
    });
    const unpublished = { encoded, identity, base, itemsMax: limits.itemsMax, arrivedAt };
    const isRepeat = await this.publish(sender, body, unpublished).catch((error: unknown) => {
      if (error instanceof Refused || storesNothing(error)) forgetSeries();
      throw error;
    });
    const { rejected, message } = outcomeMessage(signal, encoded, this.deps.links);
    if (isRepeat) {
      recorder.repeated(sender.owner, encoded.items);
      // The sender may have lost the first answer, so this one says again what was rejected.
      const text = message === '' ? repeatMessage : `${repeatMessage}; ${message}`;
      return partialReply(signal, encoding, rejected, text);
    }
    this.account(encoded, sender, applications);
    usage.accepted(sender, body, keptByApplication(encoded.runs), arrivedAt, encoded.sdk);
    return message === '' ? successReply(encoding) : partialReply(signal, encoding, rejected, message);
  }
}

/** Whether a request is one of Prometheus remote write: its bodies are snappy, and other protobuf than OTLP's. */
export const isRemoteWrite = ({ headers }: Incoming): boolean =>
  headers['x-prometheus-remote-write-version'] !== undefined;

/** The remedy of such a request. */
export const remoteWriteHint =
  'it looks like Prometheus remote write, which no port takes: send it to an OpenTelemetry Collector (its receiver prometheusremotewrite, or prometheus to scrape), which sends OTLP';

/** The encoding of the answer to a request whose own encoding is not one of OTLP's. */
export const replyEncodingOf = ({ headers }: Incoming): OtlpEncoding =>
  encodingOf(headers['content-type']) ?? 'json';

/** The line of the receiver of one signal of OTLP. The credential of the header fields is validated before the body is read. */
export const createOtlpHandler = (deps: OtlpDependencies): ((request: Incoming) => Promise<Reply>) => {
  const steps = new OtlpSteps(deps);
  return createLine<OtlpRequest, Applications>(deps, {
    receiver: deps.receiver,
    open: (request) => ({
      ...newSender(request),
      sdk: '',
      encoding: replyEncodingOf(request),
      credential: undefined,
      own: undefined,
      ownAt: 0,
      headUndecided: undefined,
      tokens: [],
    }),
    checkHead: ({ request }) => {
      if (encodingOf(request.headers['content-type']) === undefined)
        throw new Refused('content_type_unsupported');
      if (isRemoteWrite(request)) throw new Refused('encoding_unsupported', remoteWriteHint);
    },
    knowsHead: (sender) => steps.knowsHead(sender),
    admitHead: (sender) => steps.admitHead(sender),
    admitBody: (sender, body) => steps.admitBody(sender, body),
    take: (sender, body, applications, arrivedAt) => steps.take(sender, body, applications, arrivedAt),
    sampleRefused: (sender, refused) => sampleRefusedOtlp(deps.recorder, sender, refused),
    refuse: (refused, request) => refusedReply(replyEncodingOf(request), refused, deps.links),
  });
};
