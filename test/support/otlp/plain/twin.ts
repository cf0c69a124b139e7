import type { ItemsContext, ItemsOwner, Leniency } from '../../../../src/wire/otlp/types.ts';
import { TooManyItems } from '../../../../src/wire/otlp/types.ts';
import type { SpanRow } from '../span-blocks.ts';
import { requestOfJson } from './json.ts';
import { forgive, type PlainRequest, type PlainResource, type PlainScope, type PlainSpan } from './model.ts';
import { requestOfProtobuf } from './protobuf.ts';
import {
  deferredObject,
  type Item,
  lossesOf,
  ownColumns,
  resourceColumns,
  scopeColumns,
  Texts,
  tokenOf,
} from './rows.ts';
import { blocksMax, judge, runBudget, type Verdict } from './rules.ts';
import { attributesSize, spanSize } from './values.ts';

/** Rows that become one block. */
export type TwinPart = {
  run: number;
  appId: number;
  bizId: number;
  day: number;
  ordinals: number;
  starts: bigint[];
};

/** What is to come of a request, span by span. */
export type Twin = {
  spans: number;
  /** By ordinal. */
  readonly rows: SpanRow[];
  readonly rejected: Map<string, number>;
  readonly deferred: Map<string, number>;
  /** Rejected spans by run, application and reason, without those that have no owner. */
  readonly dropped: Map<string, number>;
  readonly deferredItems: { run: number; ordinal: number; appId: number; item: unknown }[];
  /** The first 20; a fault may be named at any of the fields. */
  readonly examples: { index: number; reason: string; fields: readonly string[] }[];
  /** First and last ordinal of each run. */
  readonly runs: [number, number][];
  readonly parts: Map<string, TwinPart>;
  readonly leniencies: Map<Leniency, number>;
  cutValues: number;
  eventsDropped: number;
  linksDropped: number;
  readonly unknown: ReadonlySet<string>;
  /** Of all resources, and of those that have spans: the token of a resource without spans needs no lookup. */
  readonly tokens: ReadonlySet<string | undefined>;
  readonly tokensOfSpans: ReadonlySet<string | undefined>;
};

const count = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1);

const tokensOf = (resources: readonly PlainResource[]): Set<string | undefined> =>
  new Set(resources.map(tokenOf));

const dayOf = ({ start }: PlainSpan): number => Number(BigInt(start ?? 0) / 86_400_000_000_000n);

const partKey = (run: number, { appId }: ItemsOwner, span: PlainSpan): string =>
  `${run} ${appId} ${dayOf(span)}`;

class Judge {
  readonly twin: Twin;
  private readonly context: ItemsContext;
  private spent = 0;
  /** What rows of one block share is counted once. */
  private readonly shared = new Set<string>();

  constructor(request: PlainRequest, context: ItemsContext) {
    this.context = context;
    const withSpans = request.resources.filter(({ scopes }) => scopes.some(({ spans }) => spans.length > 0));
    this.twin = {
      ...{ spans: 0, rows: [], rejected: new Map(), deferred: new Map(), dropped: new Map() },
      ...{ deferredItems: [], examples: [], runs: [], parts: new Map(), leniencies: request.leniencies },
      ...{ cutValues: 0, eventsDropped: 0, linksDropped: 0 },
      ...{ unknown: request.unknown, tokens: tokensOf(request.resources) },
      ...{ tokensOfSpans: tokensOf(withSpans) },
    };
    for (const [number, resource] of request.resources.entries())
      for (const [scopeNumber, scope] of resource.scopes.entries())
        this.spansOf(resource, scope, [`${number}`, `${number} ${scopeNumber}`]);
    if (this.twin.spans > context.limits.itemsMax)
      throw new TooManyItems(this.twin.spans, context.limits.itemsMax);
  }

  private spansOf(resource: PlainResource, scope: PlainScope, place: [string, string]): void {
    const { twin } = this;
    const token = tokenOf(resource);
    const owner = this.context.resolve(token);
    const ownLimits = typeof owner === 'string' ? undefined : owner.limits;
    const context = { ...this.context, limits: ownLimits ?? this.context.limits };
    const repeated = attributesSize(resource.attributes) + scope.name.length + scope.version.length;
    for (const span of scope.spans) {
      const ordinal = twin.spans++;
      const cost = 256 + 2 * (spanSize(span) + repeated);
      const run = this.runOf(ordinal, cost);
      const verdict = this.roomFor(judge(span, resource, owner, token, cost, context), span, owner, run);
      this.note(verdict, ordinal);
      if (typeof owner === 'string') continue;
      const item: Item = { ordinal, span, scope, resource, owner };
      if (verdict.kind === 'keep') this.keep(item, context, run, place);
      else if (verdict.kind === 'reject') count(twin.dropped, `${run} ${owner.appId} ${verdict.reason}`);
      else twin.deferredItems.push({ run, ordinal, appId: owner.appId, item: deferredObject(item, context) });
    }
  }

  /** A span that would begin a block too many is rejected. */
  private roomFor(
    verdict: Verdict,
    span: PlainSpan,
    owner: ReturnType<ItemsContext['resolve']>,
    run: number,
  ): Verdict {
    const { parts } = this.twin;
    if (verdict.kind !== 'keep' || typeof owner === 'string' || parts.size < blocksMax) return verdict;
    if (parts.has(partKey(run, owner, span))) return verdict;
    return { kind: 'reject', reason: 'too_many_days', fields: ['startTimeUnixNano'] };
  }

  /** Spans go into one run until the next would be too much. Runs with 256 days and tokens are not made here. */
  private runOf(ordinal: number, cost: number): number {
    const { runs } = this.twin;
    const last = runs.at(-1);
    if (last === undefined || this.spent + cost > runBudget) {
      runs.push([ordinal, ordinal]);
      this.spent = cost;
    } else {
      last[1] = ordinal;
      this.spent += cost;
    }
    return runs.length - 1;
  }

  private note(verdict: Verdict, index: number): void {
    if (verdict.kind === 'keep') return;
    const { twin } = this;
    const { reason, fields } = verdict;
    count(verdict.kind === 'reject' ? twin.rejected : twin.deferred, reason);
    if (twin.examples.length < 20) twin.examples.push({ index, reason, fields });
  }

  private keep(item: Item, context: ItemsContext, run: number, [resource, scope]: [string, string]): void {
    const { twin } = this;
    const { appId, bizId } = item.owner;
    const start = BigInt(item.span.start ?? 0);
    const day = dayOf(item.span);
    const key = partKey(run, item.owner, item.span);
    const part = twin.parts.get(key) ?? { run, appId, bizId, day, ordinals: 0, starts: [] };
    twin.parts.set(key, part);
    part.starts.push(start);
    part.ordinals += item.ordinal;
    const own = new Texts(context.limits.valueBytesMax);
    const ofResource = new Texts(context.limits.valueBytesMax);
    const ofScope = new Texts(context.limits.valueBytesMax);
    twin.rows.push({
      ...ownColumns(item, context, own),
      ...resourceColumns(item, context, ofResource),
      ...scopeColumns(item, ofScope),
    });
    const losses = lossesOf(item);
    twin.cutValues += own.cutValues + ofResource.cutValues + ofScope.cutValues + losses.tooDeep;
    twin.eventsDropped += losses.events;
    twin.linksDropped += losses.links;
    this.forgive(own);
    this.forgiveOnce(ofResource, `${key} ${resource}`);
    this.forgiveOnce(ofScope, `${key} ${scope}`);
  }

  private forgive({ repairs, repeatedKeys }: Texts): void {
    forgive(this.twin.leniencies, 'invalid_utf8', repairs);
    forgive(this.twin.leniencies, 'duplicate_key', repeatedKeys);
  }

  private forgiveOnce(texts: Texts, what: string): void {
    if (!this.shared.has(what)) this.forgive(texts);
    this.shared.add(what);
  }
}

/**
 * The plain twin of the decoders in src/wire/otlp, their oracle. Those go from bytes straight to column buffers and
 * make no object of a span; this one goes through objects, message by message and rule by rule, shares no code with
 * them, and is slow and plain. For any body both must have the same rows, outcomes and counts. Throws NotReadable for a
 * malformed body, and TooManyItems.
 */
export const twinOf = {
  protobuf: (bytes: Uint8Array, context: ItemsContext): Twin =>
    new Judge(requestOfProtobuf(bytes), context).twin,
  json: (bytes: Uint8Array, context: ItemsContext): Twin => new Judge(requestOfJson(bytes), context).twin,
};
