import type { ItemReason, TimeReason } from '../../model/reasons.ts';
import type { SpanTimePolicy } from '../../model/span-time.ts';
import { dayMs } from '../../model/time.ts';
import { timeDistance } from '../../model/time-distance.ts';
import type { ItemBlock } from '../../wire/otlp/item-block.ts';
import type { ItemVisitor, ReadState } from '../../wire/otlp/read-state.ts';
import { ResourceRow, sdkOf, tokenField, tokenOf } from '../../wire/otlp/resource-row.ts';
import type { ItemSlots } from '../../wire/otlp/slots.ts';
import {
  type EncodedItems,
  type ItemExample,
  type ItemLimits,
  type ItemsContext,
  type ItemsOwner,
  type ItemsRun,
  TooManyItems,
} from '../../wire/otlp/types.ts';
import {
  blockBytesMax,
  blocksMax,
  deferredBytesMax,
  itemOverhead,
  itemRunBudget,
  runPartsMax,
  runsMax,
} from './cutting.ts';
import { sentTime } from './deferred-texts.ts';
import type { ItemRules, SeriesHash } from './item-rules.ts';

const examplesMax = 20;
const word = 2 ** 32;

/** Blocks for reuse, by table: their buffers have the size that requests need. Few large ones are kept. */
const freeBlocks = new Map<ItemRules, ItemBlock[][]>();
const freeBlocksMax = runPartsMax;
const largeBlocksMax = 4;
const smallRowsMax = 64;

type Owner = ItemsOwner | 'invalid' | 'disabled';

const count = <K>(map: Map<K, number>, key: K, by = 1): void => {
  map.set(key, (map.get(key) ?? 0) + by);
};

/** Validates the items of a signal that a reader leaves in `state`, cuts the request into runs and encodes the kept items. */
export class ItemEncoder implements ItemVisitor {
  private readonly state: ReadState;
  private readonly rules: ItemRules;
  private readonly slots: ItemSlots;
  private readonly context: ItemsContext;
  private readonly baseLow: number;
  private readonly baseHigh: number;
  private readonly result: EncodedItems;
  private readonly series: SeriesHash | undefined;
  private readonly owners = new Map<string | undefined, Owner>();

  // The row of the current resource.
  private readonly row: ResourceRow;
  private resourceNumber = 0;
  private token: string | undefined;
  private owner: Owner = 'invalid';
  /** Credentials of items whose owner the result has. */
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
  private lastTable = 0;
  private blocks = new Map<string, ItemBlock>();
  private block: ItemBlock | undefined;

  constructor(state: ReadState, context: ItemsContext, rules: ItemRules) {
    this.state = state;
    this.rules = rules;
    this.slots = rules.slotsOf(state);
    this.context = context;
    this.row = new ResourceRow(state.keptResource);
    this.series =
      context.admitsSeries === undefined ? undefined : rules.newSeries?.(this.row, context.seriesSeed);
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

  item(): void {
    const { state, result, context, slots } = this;
    const ordinal = result.items++;
    if (result.items > context.limits.itemsMax) throw this.tooMany(context.limits.itemsMax);
    if (!this.isOwnerTold) this.tellOwner();
    const { owner: shared } = state;
    const { millis } = slots.instant;
    const day = Number.isNaN(millis) ? -1 : Math.floor(millis / dayMs);
    const cost = itemOverhead + 2 * (slots.size + shared.resourceSize + shared.scopeSize);
    const run = this.runFor(ordinal, cost, day);
    run.last = ordinal;
    const { owner } = this;
    if (typeof owner === 'string') return this.rejectOwnerless(ordinal, owner);
    const fault = slots.fault.reason === undefined ? shared.sharedFault : slots.fault;
    if (fault.reason !== undefined) return this.reject(run, owner, ordinal, fault.reason, fault);
    if (cost > itemRunBudget) {
      const detail = `the ${this.rules.itemText} needs ${cost} bytes in a message, the limit is ${itemRunBudget}`;
      return this.reject(run, owner, ordinal, 'item_too_large', { field: '', detail, got: '' });
    }
    const reason = this.rules.judgeTimes(state, context.arrivedAt, owner.policy);
    if (reason !== undefined) return this.defer(run, owner, ordinal, reason);
    if (this.series !== undefined && !this.admits(this.series, owner)) {
      const detail =
        'the application has as many series as its limit within an hour, and this is a further one';
      return this.reject(run, owner, ordinal, 'too_many_series', { field: '', detail, got: '' });
    }
    this.keep(run, owner, ordinal, day);
  }

  /** To be asked last: a series of an item that is rejected takes no place. */
  private admits(series: SeriesHash, { appId }: ItemsOwner): boolean {
    series.set(this.state);
    return this.context.admitsSeries?.(appId, series.low, series.high) !== false;
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
    const tables = freeBlocks.get(this.rules) ?? [];
    freeBlocks.set(this.rules, tables);
    for (const block of this.blocks.values()) {
      block.clear();
      const free = tables[block.table] ?? [];
      tables[block.table] = free;
      const limit = block.rowsPeak > smallRowsMax ? largeBlocksMax : freeBlocksMax;
      if (free.length < limit) free.push(block);
    }
    this.blocks.clear();
    this.block = undefined;
  }

  /** The run for the next item: the current one, or a new one where the current one would become too large. */
  private runFor(ordinal: number, cost: number, day: number): ItemsRun {
    const { run } = this;
    const { table } = this.slots;
    const isNewPart =
      day >= 0 &&
      (day !== this.lastDay || this.resourceNumber !== this.lastResource || table !== this.lastTable);
    if (isNewPart) {
      this.lastDay = day;
      this.lastResource = this.resourceNumber;
      this.lastTable = table;
      this.lastPart = `${day} ${table} ${this.token ?? ''}`;
    }
    const isFull =
      this.spent + cost > itemRunBudget ||
      (isNewPart && this.parts.size >= runPartsMax && !this.parts.has(this.lastPart));
    if (run === undefined || (isFull && this.spent > 0)) return this.beginRun(ordinal, cost);
    this.spent += cost;
    if (isNewPart) this.parts.add(this.lastPart);
    return run;
  }

  private beginRun(ordinal: number, cost: number): ItemsRun {
    this.endRun();
    if (this.result.runs.length === runsMax) {
      const message = `the ${this.itemsText} need more than ${runsMax} messages (each message repeats the resource): send fewer ${this.itemsText} per request`;
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

  private get itemsText(): string {
    return this.rules.levels.names.itemsText;
  }

  private tooMany(itemsMax: number): TooManyItems {
    const { itemsText } = this;
    const message = `the request has more ${itemsText} than the limit of ${itemsMax}: send fewer ${itemsText} per request`;
    return new TooManyItems(this.result.items, itemsMax, message);
  }

  private tooMuch(what: string, bytesMax: number): TooManyItems {
    const message = `the ${what} need more than ${bytesMax} bytes (each repeats its resource): send fewer ${this.itemsText} per request`;
    return new TooManyItems(this.result.items, this.context.limits.itemsMax, message);
  }

  private addLost({ owner, tally }: ItemBlock): void {
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

  private keep(run: ItemsRun, owner: ItemsOwner, ordinal: number, day: number): void {
    let { block } = this;
    const { table } = this.slots;
    if (block?.day !== day || block.owner !== owner || block.table !== table) {
      const key = `${owner.appId} ${day} ${table}`;
      block = this.blocks.get(key);
      if (block === undefined) {
        if (this.blocksMade === blocksMax) {
          const { dayField, dayVerb } = this.rules;
          const detail = `the earlier ${this.itemsText} ${dayVerb} on too many days and fill the limit of ${blocksMax} blocks`;
          const what = { field: dayField, detail, got: '' };
          return this.reject(run, owner, ordinal, 'too_many_days', what);
        }
        this.blocksMade++;
        block = freeBlocks.get(this.rules)?.[table]?.pop() ?? this.rules.newBlock(table);
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
    reason: ItemReason,
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
    const text = this.rules.deferredText(state, this.row);
    deferred.texts.push(text);
    this.deferredBytes += text.length;
    if (this.deferredBytes > deferredBytesMax)
      throw this.tooMuch(`${this.itemsText} of the request with a wrong time`, deferredBytesMax);
    if (result.examples.length < examplesMax) this.addExample(this.timeExample(ordinal, reason, policy));
    if (this.wantsSample(appId, reason)) this.take(appId, this.timeExample(ordinal, reason, policy));
  }

  private timeExample(ordinal: number, reason: TimeReason, policy: SpanTimePolicy): ItemExample {
    const { arrivedAt } = this.context;
    const { field, time } = this.rules.faultyTime(this.state, arrivedAt, policy);
    const sent = sentTime(this.state, time);
    const distance = timeDistance(reason, time.millis, arrivedAt, policy);
    return {
      index: ordinal,
      reason,
      field,
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
    const item = this.rules.sampledItem(this.state, appId === 0 ? undefined : this.row, example.reason);
    this.result.samples.push({ ...example, appId, item });
  }

  private addExample(example: ItemExample): void {
    if (this.result.examples.length < examplesMax) this.result.examples.push(example);
  }
}
