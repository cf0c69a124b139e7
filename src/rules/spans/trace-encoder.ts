import type { SpanReason, TimeReason } from '../../model/reasons.ts';
import { endsBeforeStart, type SpanTimePolicy, validateSpanInstant } from '../../model/span-time.ts';
import { timeDistance } from '../../model/time-distance.ts';
import { ResourceRow, sdkOf, tokenField, tokenOf } from '../../wire/otlp/resource-row.ts';
import { SpanBlock } from '../../wire/otlp/span-block.ts';
import type { ReadState, SpanVisitor } from '../../wire/otlp/span-slots.ts';
import {
  type EncodedItems,
  type ItemExample,
  type ItemLimits,
  type ItemsContext,
  type ItemsOwner,
  type ItemsRun,
  TooManyItems,
} from '../../wire/otlp/types.ts';
import { deferredText, sentTime } from './deferred-text.ts';
import { sampledItem } from './span-sample.ts';

/**
 * The cutting rule (architecture 5.5): the runs depend only on the request, so that a retry is divided alike even if settings
 * changed in between. Named in message ids: a change of this rule changes them.
 */
export const spanCuttingRuleVersion = 1;

/** The largest cost of the spans of one run together: 256 + 2 × (size of the span + size of its resource and scope) each. */
export const spanRunBudget = 2 * 2 ** 20;
const spanOverhead = 256;

/** Different pairs of a token and a day that one run may hold: each is a block, whose column names take space, too. */
const runPartsMax = 256;

/**
 * Runs that one request may be cut into. A run repeats its resource, so that a small body with a large resource would otherwise
 * become gigabytes; 50,000 spans under a resource of 4 KB, or on as many days, are fewer.
 */
export const runsMax = 256;

/**
 * Blocks that one request may make: one per run, application and day. ClickHouse writes each as a part, which costs as much as
 * hundreds of rows; a year of spans, or the applications of a gateway, are far fewer.
 */
export const blocksMax = 2048;

/** Bytes of all blocks of one request, each with a copy of its resource. */
const blockBytesMax = 128 * 2 ** 20;

/**
 * Bytes of the deferred spans of one request, each with its resource as text: a small body with a large resource and wrong times
 * would otherwise become gigabytes. Transfer will drop them, so that no span is lost that would be kept.
 */
const deferredBytesMax = 32 * 2 ** 20;

const dayMillis = 86_400_000;
const examplesMax = 20;
const word = 2 ** 32;

/** Blocks for reuse: their buffers have the size that requests need. Few large ones are kept. */
const freeBlocks: SpanBlock[] = [];
const freeBlocksMax = runPartsMax;
const largeBlocksMax = 4;
const smallRowsMax = 64;

type Owner = ItemsOwner | 'invalid' | 'disabled';

const count = <K>(map: Map<K, number>, key: K, by = 1): void => {
  map.set(key, (map.get(key) ?? 0) + by);
};

/** Validates the spans that a reader leaves in `state`, cuts the request into runs and encodes the kept spans. */
export class TraceEncoder implements SpanVisitor {
  private readonly state: ReadState;
  private readonly context: ItemsContext;
  private readonly baseLow: number;
  private readonly baseHigh: number;
  private readonly result: EncodedItems;
  private readonly owners = new Map<string | undefined, Owner>();

  // The row of the current resource.
  private readonly row: ResourceRow;
  private resourceNumber = 0;
  private token: string | undefined;
  private owner: Owner = 'invalid';
  /** Credentials of spans whose owner the result has. */
  private readonly told = new Set<string | undefined>();
  private isOwnerTold = false;

  // The current run.
  private run: ItemsRun | undefined;
  private spent = 0;
  private blocksMade = 0;
  private blockBytes = 0;
  private deferredBytes = 0;
  private readonly parts = new Set<string>();
  private lastPart = '';
  private lastDay = -1;
  private lastResource = 0;
  private blocks = new Map<string, SpanBlock>();
  private block: SpanBlock | undefined;

  constructor(state: ReadState, context: ItemsContext) {
    this.state = state;
    this.context = context;
    this.row = new ResourceRow(state.keptResource);
    const base = BigInt(context.base.text);
    this.baseLow = Number(base & 0xffffffffn);
    this.baseHigh = Number(base >> 32n);
    this.result = {
      runs: [],
      owners: [],
      items: 0,
      accepted: 0,
      rejected: new Map(),
      deferred: new Map(),
      examples: [],
      samples: [],
      leniencies: state.leniencies,
      lost: [],
      cutValues: 0,
      eventsDropped: 0,
      linksDropped: 0,
      unknownTopLevelKeys: [],
      misplacedKeys: [],
      sdk: '',
    };
  }

  resource(): void {
    const { state, context } = this;
    this.resourceNumber = state.owner.resourceNumber;
    this.token = tokenOf(state);
    if (this.result.sdk === '') this.result.sdk = sdkOf(state);
    const known = this.owners.get(this.token);
    this.owner = known ?? context.resolve(this.token);
    if (known === undefined) this.owners.set(this.token, this.owner);
    this.isOwnerTold = this.told.has(this.token);
    if (typeof this.owner === 'string') return;
    this.row.set(state, this.owner, context.clientIp);
    this.limitResource(this.owner.limits ?? context.limits);
  }

  private tellOwner(): void {
    this.isOwnerTold = true;
    this.told.add(this.token);
    this.result.owners.push(this.owner);
  }

  /** The resource was read under the widest limits of the request; from here on its owner's limits count. */
  private limitResource(limits: ItemLimits): void {
    const { owner } = this.state;
    owner.limits = limits;
    if (owner.resource.count <= limits.attributesMax) return;
    const detail = `more than the limit of ${limits.attributesMax}`;
    owner.fault.set('too_many_attributes', 'resource.attributes', detail);
  }

  span(): void {
    const { state, result, context } = this;
    const ordinal = result.items++;
    if (result.items > context.limits.itemsMax) throw new TooManyItems(result.items, context.limits.itemsMax);
    if (!this.isOwnerTold) this.tellOwner();
    const { span, owner: shared } = state;
    const { millis } = span.start;
    const day = Number.isNaN(millis) ? -1 : Math.floor(millis / dayMillis);
    const cost = spanOverhead + 2 * (span.size + shared.resourceSize + shared.scopeSize);
    const run = this.runFor(ordinal, cost, day);
    run.last = ordinal;
    const { owner } = this;
    if (typeof owner === 'string') return this.rejectOwnerless(ordinal, owner);
    const fault = span.fault.reason === undefined ? shared.fault : span.fault;
    if (fault.reason !== undefined) return this.reject(run, owner, ordinal, fault.reason, fault);
    if (cost > spanRunBudget) {
      const detail = `the span needs ${cost} bytes in a message, the limit is ${spanRunBudget}`;
      return this.reject(run, owner, ordinal, 'item_too_large', { field: '', detail, got: '' });
    }
    const reason = this.judgeTimes(owner);
    if (reason !== undefined) return this.defer(run, owner, ordinal, reason);
    this.keep(run, owner, ordinal, day);
  }

  /** The result of the request. Call it once, after its reader. */
  finish(unknownTopLevelKeys: Iterable<string>, misplacedKeys: Iterable<string>): EncodedItems {
    const { result } = this;
    this.endRun();
    if (result.items > 0) return result;
    result.unknownTopLevelKeys.push(...unknownTopLevelKeys);
    result.misplacedKeys.push(...misplacedKeys);
    return result;
  }

  /** Releases the blocks of a request, also after an error. */
  release(): void {
    for (const block of this.blocks.values()) {
      block.clear();
      const limit = block.rowsPeak > smallRowsMax ? largeBlocksMax : freeBlocksMax;
      if (freeBlocks.length < limit) freeBlocks.push(block);
    }
    this.blocks.clear();
    this.block = undefined;
  }

  /** The run for the next span: the current one, or a new one where the current one would become too large. */
  private runFor(ordinal: number, cost: number, day: number): ItemsRun {
    const { run } = this;
    const isNewPart = day >= 0 && (day !== this.lastDay || this.resourceNumber !== this.lastResource);
    if (isNewPart) {
      this.lastDay = day;
      this.lastResource = this.resourceNumber;
      this.lastPart = `${day} ${this.token ?? ''}`;
    }
    const isFull =
      this.spent + cost > spanRunBudget ||
      (isNewPart && this.parts.size >= runPartsMax && !this.parts.has(this.lastPart));
    if (run === undefined || (isFull && this.spent > 0)) return this.beginRun(ordinal, cost);
    this.spent += cost;
    if (isNewPart) this.parts.add(this.lastPart);
    return run;
  }

  private beginRun(ordinal: number, cost: number): ItemsRun {
    this.endRun();
    if (this.result.runs.length === runsMax) {
      const message = `the spans need more than ${runsMax} messages (each message repeats the resource): send fewer spans per request`;
      throw new TooManyItems(ordinal + 1, this.context.limits.itemsMax, message);
    }
    const run: ItemsRun = { first: ordinal, last: ordinal, parts: [], deferred: [], dropped: [] };
    this.result.runs.push(run);
    this.run = run;
    this.spent = cost;
    this.parts.clear();
    this.parts.add(this.lastPart);
    return run;
  }

  private endRun(): void {
    const { result } = this;
    for (const block of this.blocks.values()) {
      const { tally } = block;
      const part = block.finish();
      this.run?.parts.push(part);
      this.blockBytes += part.block.length;
      if (this.blockBytes > blockBytesMax) throw this.tooMuch('blocks of the request', blockBytesMax);
      result.cutValues += tally.cutValues;
      result.eventsDropped += tally.eventsDropped;
      result.linksDropped += tally.linksDropped;
      if (tally.cutValues + tally.eventsDropped + tally.linksDropped > 0) this.addLost(block);
      if (tally.repairs > 0) count(result.leniencies, 'invalid_utf8', tally.repairs);
      if (tally.repeatedKeys > 0) count(result.leniencies, 'duplicate_key', tally.repeatedKeys);
    }
    this.release();
  }

  private tooMuch(what: string, bytesMax: number): TooManyItems {
    const message = `the ${what} need more than ${bytesMax} bytes (each repeats its resource): send fewer spans per request`;
    return new TooManyItems(this.result.items, this.context.limits.itemsMax, message);
  }

  private addLost({ owner, tally }: SpanBlock): void {
    const appId = owner?.appId ?? 0;
    const { lost } = this.result;
    let known = lost.find((each) => each.appId === appId);
    if (known === undefined) {
      known = { appId, cutValues: 0, eventsDropped: 0, linksDropped: 0 };
      lost.push(known);
    }
    known.cutValues += tally.cutValues;
    known.eventsDropped += tally.eventsDropped;
    known.linksDropped += tally.linksDropped;
  }

  private judgeTimes(owner: ItemsOwner): TimeReason | undefined {
    const { start, end } = this.state.span;
    const { arrivedAt } = this.context;
    return (
      validateSpanInstant(start.millis, start.rest, arrivedAt, owner.policy) ??
      validateSpanInstant(end.millis, end.rest, arrivedAt, owner.policy) ??
      (endsBeforeStart(start.millis, start.rest, end.millis, end.rest) ? 'end_before_start' : undefined)
    );
  }

  private keep(run: ItemsRun, owner: ItemsOwner, ordinal: number, day: number): void {
    let { block } = this;
    if (block?.day !== day || block.owner !== owner) {
      const key = `${owner.appId} ${day}`;
      block = this.blocks.get(key);
      if (block === undefined) {
        if (this.blocksMade === blocksMax) {
          const detail = `the earlier spans start on too many days and fill the limit of ${blocksMax} blocks`;
          const what = { field: 'startTimeUnixNano', detail, got: '' };
          return this.reject(run, owner, ordinal, 'too_many_days', what);
        }
        this.blocksMade++;
        block = freeBlocks.pop() ?? new SpanBlock();
        block.begin(owner, day, this.context.arrivedAt);
        this.blocks.set(key, block);
      }
      this.block = block;
    }
    const low = this.baseLow + ordinal;
    const carry = low >= word ? 1 : 0;
    block.append(this.state, this.row, low - carry * word, this.baseHigh + carry);
    block.ordinals += ordinal;
    this.result.accepted++;
  }

  private rejectOwnerless(ordinal: number, why: 'invalid' | 'disabled'): void {
    const reason = why === 'invalid' ? 'token_invalid' : 'application_disabled';
    count(this.result.rejected, reason);
    const field = tokenField(this.state);
    const detail = why === 'invalid' ? 'not a valid write token' : 'the application is disabled';
    const example = { index: ordinal, reason, field, detail, got: '' } as const;
    this.addExample(example);
    this.sample(0, example);
  }

  private reject(
    run: ItemsRun,
    { appId, bizId }: ItemsOwner,
    ordinal: number,
    reason: SpanReason,
    { field, detail, got }: Pick<ItemExample, 'field' | 'detail' | 'got'>,
  ): void {
    count(this.result.rejected, reason);
    let dropped = run.dropped.find((each) => each.appId === appId);
    if (dropped === undefined) {
      dropped = { appId, bizId, reasons: new Map() };
      run.dropped.push(dropped);
    }
    count(dropped.reasons, reason);
    const example = { index: ordinal, reason, field, detail, got };
    this.addExample(example);
    this.sample(appId, example);
  }

  private defer(run: ItemsRun, owner: ItemsOwner, ordinal: number, reason: TimeReason): void {
    const { state, result } = this;
    const { appId, bizId, policy } = owner;
    count(result.deferred, reason);
    let deferred = run.deferred.find((each) => each.appId === appId && each.policy === policy);
    if (deferred === undefined) {
      deferred = { appId, bizId, policy, ordinals: [], texts: [] };
      run.deferred.push(deferred);
    }
    deferred.ordinals.push(ordinal);
    const text = deferredText(state, this.row);
    deferred.texts.push(text);
    this.deferredBytes += text.length;
    if (this.deferredBytes > deferredBytesMax)
      throw this.tooMuch('spans of the request with a wrong time', deferredBytesMax);
    if (result.examples.length < examplesMax) this.addExample(this.timeExample(ordinal, reason, policy));
    if (this.wantsSample(appId, reason)) this.take(appId, this.timeExample(ordinal, reason, policy));
  }

  private timeExample(ordinal: number, reason: TimeReason, policy: SpanTimePolicy): ItemExample {
    const { state } = this;
    const { start, end } = state.span;
    const isStart =
      validateSpanInstant(start.millis, start.rest, this.context.arrivedAt, policy) !== undefined;
    const instant = isStart ? start : end;
    const sent = sentTime(state, instant);
    const distance = timeDistance(reason, instant.millis, this.context.arrivedAt, policy);
    return {
      index: ordinal,
      reason,
      field: isStart ? 'startTimeUnixNano' : 'endTimeUnixNano',
      detail: sent === undefined ? 'it is missing or zero' : distance,
      got: sent === undefined ? '' : JSON.stringify(sent),
    };
  }

  private wantsSample(appId: number, reason: ItemExample['reason']): boolean {
    return this.context.wantsSample?.(appId, reason) === true;
  }

  private sample(appId: number, example: ItemExample): void {
    if (this.wantsSample(appId, example.reason)) this.take(appId, example);
  }

  private take(appId: number, example: ItemExample): void {
    const item = sampledItem(this.state, appId === 0 ? undefined : this.row, example.reason);
    this.result.samples.push({ ...example, appId, item });
  }

  private addExample(example: ItemExample): void {
    if (this.result.examples.length < examplesMax) this.result.examples.push(example);
  }
}
