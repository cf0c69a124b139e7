import type { IncomingMessage } from 'node:http';
import { inTime } from '../../bus/in-time.ts';
import type { RegisterColumnNames } from '../../directory/column-names.ts';
import type { Directory, Source } from '../../directory/directory.ts';
import { madeOfBody } from '../../model/body-memory.ts';
import { Fault } from '../../model/fault.ts';
import { dayMs } from '../../model/time.ts';
import type { UidBase } from '../../model/uid.ts';
import { type EncodedPoints, encodedLength } from '../../rules/points/encoded-points.ts';
import { type Body, noRoom } from '../http/body.ts';
import type { Reply } from '../http/reply.ts';
import type { RequestIdentity } from '../identity.ts';
import { createLine, isDated, type LineDependencies, limitRate, newSender } from '../line.ts';
import { notStored, Refused } from '../refused.ts';
import { named } from '../request-id.ts';
import { type PushPair, problemWithoutPair } from './decode.ts';
import type { EncodedPush, PushTask } from './encode.ts';
import type { EncodePush } from './encode-anywhere.ts';
import { HeadWatch } from './head-watch.ts';
import { pushIdentity } from './identity.ts';
import type { PushPublisher } from './publish.ts';
import { isFaulty, pointsReply, refusedReply, repeatReply, strictReply } from './reply.ts';
import { type PushSender, samplePoints, sampleRefusedPush } from './samples.ts';
import { asksStrict } from './strict.ts';

export type PushDependencies = LineDependencies & {
  readonly directory: Directory;
  readonly registerColumnNames: RegisterColumnNames;
  readonly encode: EncodePush;
  readonly publisher: PushPublisher;
};

/** The owner of a push. */
type Admitted = { readonly source: Source; readonly pair: PushPair };

/** A push on its way through the line. */
type PushRequest = PushSender & { readonly watch: HeadWatch };

/** The steps of the line for a push (specification 4.1). */
class PushSteps {
  private readonly deps: PushDependencies;
  private readonly accepted: { inc(points: number): void };
  constructor(deps: PushDependencies) {
    this.deps = deps;
    this.accepted = deps.metrics.accepted.labels('metrics');
  }

  /** The source of a valid credential that may write. */
  private async valid(sender: PushSender, { dataId, token }: PushPair): Promise<Source> {
    const source = await this.deps.directory.authorize(dataId, token);
    if (source === undefined) throw new Refused('unauthorized');
    sender.owner = dataId;
    sender.isKnown = true;
    this.deps.failures.passed(sender.request);
    if (!source.isEnabled) throw new Refused('data_source_disabled', `data id ${dataId}`);
    if (source.typeLabel !== 'time_series')
      throw new Refused('unsupported_type', `its type is ${source.typeLabel}`);
    return source;
  }

  /** The source of a valid credential, counted against its max_rate. */
  async admit(sender: PushSender, pair: PushPair): Promise<Source> {
    sender.pair = pair;
    sender.secrets = [pair.token];
    const source = await this.valid(sender, pair);
    limitRate(this.deps, sender, `d:${pair.dataId}`, source.maxRate);
    return source;
  }

  /** The result of the watcher; `bytes` are undefined where the body was not read to its end. */
  async admitted(sender: PushRequest, bytes: Buffer | undefined): Promise<Admitted> {
    const { pair, source, scan, judgedAt } = sender.watch;
    if (pair === undefined || source === undefined) {
      const { reason, detail } = problemWithoutPair(bytes, scan, this.deps.limits.elementsMax);
      throw new Refused(reason, detail);
    }
    const first = await source;
    return { source: isDated(judgedAt) ? await this.valid(sender, pair) : first, pair };
  }

  /** Room for the largest number of uids that the points of a body can take. */
  takeBase({ layout, rules }: Source, bodyLength: number): UidBase {
    const { bases, limits } = this.deps;
    const ordinals = Math.min(layout === 'wide' ? rules.pointsMax : limits.elementsMax, bodyLength);
    const base = bases.take(ordinals);
    if (base === undefined) throw new Fault('transient', 'not_stored', 'the receiver is starting');
    return base;
  }

  /**
   * Encodes a body; one with names that have no column is encoded again after their registration. A name keeps its column for good, so
   * none is registered for a strict push with a fault, or for one whose rows find no room.
   */
  async encode(
    body: Body,
    source: Source,
    task: Omit<PushTask, 'table' | 'namesAreFinal'>,
    sender: PushSender,
    isStrict: boolean,
  ): Promise<EncodedPush> {
    const { encode, registerColumnNames } = this.deps;
    const run = async (table: Source, namesAreFinal: boolean): Promise<EncodedPush> => {
      const outcome = await encode(body, { ...task, table, namesAreFinal }, sender.deadlineAt);
      sender.items = outcome.points;
      if (outcome.kind === 'encoded') return outcome;
      throw new Refused(outcome.reason, outcome.detail);
    };
    const first = await run(source, false);
    const { unknownMetrics, unknownDimensions } = first.encoded;
    if (unknownMetrics.size === 0 && unknownDimensions.size === 0) return first;
    if (isStrict && isFaulty(first.encoded)) return first;
    if (!body.reserve(2 * encodedLength(first.encoded))) throw notStored(noRoom.detail);
    const names = [[...unknownMetrics], [...unknownDimensions]] as const;
    const registering = registerColumnNames(source, source.rules, ...names);
    return run(await inTime('the column registry', registering, sender.deadlineAt), true);
  }

  /** True for a duplicate: every message of the request was stored before. */
  async publish(
    { runs }: EncodedPoints,
    source: Source,
    base: UidBase,
    arrivedAt: number,
    identity: RequestIdentity | undefined,
    deadlineAt: number,
  ): Promise<boolean> {
    const { publisher } = this.deps;
    const fragments = runs.map((run) => {
      return { source, base, run, arrivedAt, policy: source.rules.time, deadlineAt };
    });
    const [only] = fragments;
    if (identity !== undefined || fragments.length !== 1 || only === undefined)
      return publisher.publishAll(fragments, identity?.sha256Hex);
    await publisher.share(only);
    return false;
  }

  /** The account of a published request, or of one whose points were all dropped. */
  account(push: EncodedPush, sender: PushSender, body: Body, arrivedAt: number): void {
    const { metrics, recorder, usage, traces } = this.deps;
    const { accepted, dropped, deferred, valuesDropped } = push.encoded;
    const { owner } = sender;
    const pipeline = 'metrics';
    if (accepted > 0) {
      this.accepted.inc(accepted);
      usage.acceptedOf(sender, body, owner, arrivedAt, '');
    } else recorder.refusedItems(dropped, owner, 1);
    const deferredReasons = new Set<string>(accepted > 0 ? deferred.keys() : []);
    for (const [reason, points] of dropped)
      (deferredReasons.has(reason) ? metrics.deferred : metrics.dropped).inc({ pipeline, reason }, points);
    for (const [reason, values] of valuesDropped) recorder.lost(reason, owner, values);
    traces?.sawItems({
      'tidemark.data_id': owner,
      'tidemark.items': accepted,
      'tidemark.request_id': sender.requestId,
    });
    samplePoints(recorder, sender, push);
  }

  /** The account of a strict push with a fault: every point is refused, the valid ones for the first fault. */
  refuseWhole(push: EncodedPush, sender: PushSender): void {
    const { metrics, recorder } = this.deps;
    const { dropped, valuesDropped, examples, accepted } = push.encoded;
    const refused = new Map<string, number>(dropped);
    const first = examples[0]?.reason ?? valuesDropped.keys().next().value ?? '';
    refused.set(first, (refused.get(first) ?? 0) + accepted);
    recorder.refusedItems(refused, sender.owner, 1);
    for (const [reason, points] of refused) metrics.dropped.inc({ pipeline: 'metrics', reason }, points);
    samplePoints(recorder, sender, push);
  }

  async take(sender: PushRequest, body: Body, { source, pair }: Admitted, arrivedAt: number): Promise<Reply> {
    const { limits, recorder } = this.deps;
    const { bytes, reserve } = body;
    const { rules } = source;
    sender.bytes = bytes;
    if (!reserve(madeOfBody * bytes.length)) throw notStored(noRoom.detail);
    const isStrict = asksStrict(sender.request.url ?? '');
    const key = sender.request.headers['idempotency-key'];
    const isKeyed = typeof key === 'string' && key !== '';
    const identity = isKeyed ? await pushIdentity(this.deps.directory, source, pair, key, bytes) : undefined;
    const base = named(sender, identity?.base ?? this.takeBase(source, bytes.length));
    const { initialDays } = rules;
    const task = {
      ...{ pair, caps: rules, policy: rules.time, arrivedAt, base, isKeyed },
      ...{ pointsMax: rules.pointsMax, elementsMax: limits.elementsMax },
      // A day leaves once all of it is longer ago.
      expiringBefore:
        initialDays === undefined ? undefined : dayMs * (Math.floor(arrivedAt / dayMs) - initialDays),
    };
    const push = await this.encode(body, source, task, sender, isStrict);
    const { encoded } = push;
    // Also after a registration: meanwhile another process may have taken the last columns.
    if (isStrict && isFaulty(encoded)) {
      this.refuseWhole(push, sender);
      return strictReply(encoded, this.deps.links, isKeyed);
    }
    if (!reserve(2 * encodedLength(encoded))) throw notStored(noRoom.detail);
    const isRepeat =
      encoded.accepted > 0 &&
      (await this.publish(encoded, source, base, arrivedAt, identity, sender.deadlineAt));
    if (isRepeat) {
      recorder.repeated(source.dataId, push.points);
      return repeatReply;
    }
    this.account(push, sender, body, arrivedAt);
    return pointsReply(encoded, this.deps.links, isKeyed, initialDays);
  }
}

/**
 * The line of the push receiver. Its credential stands in the body: it is validated while the body arrives, before anything of the
 * body is built.
 */
export const createPushHandler = (deps: PushDependencies): ((request: IncomingMessage) => Promise<Reply>) => {
  const steps = new PushSteps(deps);
  return createLine<PushRequest, Admitted>(deps, {
    receiver: 'push',
    open: (request) => {
      const sender: PushSender = newSender(request);
      const authorize = (dataId: number, token: string) => steps.admit(sender, { dataId, token });
      return Object.assign(sender, { watch: new HeadWatch(authorize, deps.limits.elementsMax) });
    },
    checkHead: () => {},
    admitHead: () => undefined,
    watchBody:
      ({ watch }) =>
      (piece) =>
        watch.see(piece),
    admitAbandoned: (sender) => steps.admitted(sender, undefined),
    admitBody: (sender, { bytes }) => steps.admitted(sender, bytes),
    take: (sender, body, admitted, arrivedAt) => steps.take(sender, body, admitted, arrivedAt),
    sampleRefused: (sender, refused) => sampleRefusedPush(deps.recorder, sender, refused),
    refuse: (refused) => refusedReply(refused, deps.links),
  });
};
