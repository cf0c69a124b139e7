import { ByteSource } from '../native/bytes.ts';
import { DataPointSlots } from './data-point-slots.ts';
import { LogSlots } from './log-slots.ts';
import { NestedWriter } from './nested-writer.ts';
import { Scratch } from './scratch.ts';
import { AttributeSlots, FaultSlot } from './slots.ts';
import { SpanSlots } from './span-slots.ts';
import { defaultTokenKeys, type TokenKeys } from './token-keys.ts';
import { defaultItemLimits, type ItemLimits, type Leniency } from './types.ts';

/** The resource and scope of the current items. */
export class OwnerSlots {
  readonly fault = new FaultSlot();
  /** The widest that any resource of the request is held to. */
  requestLimits: ItemLimits = defaultItemLimits;
  /** The limits of the reader: those of the request until the owner of the resource is known. */
  limits: ItemLimits = defaultItemLimits;
  /** Different for each resource and each scope of the request. */
  resourceNumber = 0;
  scopeNumber = 0;
  readonly resource = new AttributeSlots();
  resourceSize = 0;
  resourceCutValues = 0;
  scopeNameStart = 0;
  scopeNameEnd = 0;
  scopeVersionStart = 0;
  scopeVersionEnd = 0;
  scopeSize = 0;

  // Only of a signal whose rows have them (see LevelNames).
  resourceSchemaStart = 0;
  resourceSchemaEnd = 0;
  scopeSchemaStart = 0;
  scopeSchemaEnd = 0;
  readonly scopeAttributes = new AttributeSlots();
  scopeCutValues = 0;
  /** The attributes that the sender says it has dropped from the scope. */
  scopeDropped = 0;
  readonly scopeFault = new FaultSlot();

  /** The fault that all items of the current scope have; its reason is undefined without one. */
  get sharedFault(): FaultSlot {
    return this.fault.reason === undefined ? this.scopeFault : this.fault;
  }

  clearResource(): void {
    this.resourceNumber++;
    this.limits = this.requestLimits;
    this.fault.clear();
    this.resource.count = 0;
    this.resourceSize = 0;
    this.resourceCutValues = 0;
    this.resourceSchemaStart = this.resourceSchemaEnd = 0;
    this.clearScope();
  }

  clearScope(): void {
    this.scopeNumber++;
    this.scopeNameStart = this.scopeNameEnd = 0;
    this.scopeVersionStart = this.scopeVersionEnd = 0;
    this.scopeSize = 0;
    this.scopeSchemaStart = this.scopeSchemaEnd = 0;
    this.scopeAttributes.count = 0;
    this.scopeCutValues = 0;
    this.scopeDropped = 0;
    this.scopeFault.clear();
  }
}

const unknownMax = 10;
const unknownLengthMax = 80;

const noBody = new ByteSource(new Uint8Array(0));

/** The state that a reader and the encoder share while they process a request. */
export class ReadState {
  body = noBody;
  readonly scratch = new Scratch();
  readonly nested = new NestedWriter();
  /** Apart from the other: parts of the body of a record may lie before and after its attributes. */
  readonly nestedBody = new NestedWriter();
  readonly owner = new OwnerSlots();
  readonly span = new SpanSlots();
  readonly record = new LogSlots();
  readonly point = new DataPointSlots();
  /** The resource's attributes that rows hold. */
  readonly keptResource = new AttributeSlots();
  /** The attributes of a body that the reader of JSON remembers: 256 of eight numbers (see PlainAttributes). */
  readonly knownAttributes = new Int32Array(2048);
  leniencies = new Map<Leniency, number>();
  /** What `noteUnknown` noted. */
  readonly unknownInGroups = new Set<string>();
  tokenKeys = defaultTokenKeys;

  begin(body: Uint8Array, limits: ItemLimits, tokenKeys: TokenKeys): void {
    this.body = new ByteSource(body);
    this.tokenKeys = tokenKeys;
    this.owner.requestLimits = limits;
    this.leniencies = new Map();
    this.unknownInGroups.clear();
    this.owner.clearResource();
  }

  get limits(): ItemLimits {
    return this.owner.limits;
  }

  /** Frees the memory that one unusual body needed. */
  shrink(): void {
    for (const each of [this.scratch, this.nested, this.nestedBody]) each.shrink();
    for (const list of [this.owner.resource, this.owner.scopeAttributes, this.keptResource]) list.shrink();
    this.span.shrink();
    this.record.shrink();
    this.point.shrink();
  }

  /** Whether an attribute of the list must not be kept. */
  isSecret({ keyStarts, keyEnds }: AttributeSlots, index: number): boolean {
    return this.isSecretName(keyStarts[index] ?? 0, keyEnds[index] ?? 0);
  }

  /** Whether the value under the name at this place must not be kept. */
  isSecretName(start: number, end: number): boolean {
    return start < 0
      ? this.tokenKeys.isSecret(this.scratch.source, ~start, ~end)
      : this.tokenKeys.isSecret(this.body, start, end);
  }

  /**
   * Removes attributes that must not be kept from the list, from `from` to its end. The resource's list stays complete:
   * its token is still needed.
   */
  dropSecrets(list: AttributeSlots, from: number): void {
    if (list === this.owner.resource) return;
    const { count } = list;
    let index = from;
    while (index < count && !this.isSecret(list, index)) index++;
    list.count = index;
    for (; index < count; index++) {
      if (this.isSecret(list, index)) continue;
      list.add(
        list.keyStarts[index] ?? 0,
        list.keyEnds[index] ?? 0,
        list.valueStarts[index] ?? 0,
        list.valueEnds[index] ?? 0,
      );
    }
  }

  /** Notes a name or field number of a group of items that is not OTLP's, the first few, with its path. */
  noteUnknown(path: string, name: string): void {
    if (this.unknownInGroups.size < unknownMax)
      this.unknownInGroups.add(path + name.slice(0, unknownLengthMax));
  }

  forgive(kind: Leniency): void {
    this.leniencies.set(kind, (this.leniencies.get(kind) ?? 0) + 1);
  }

  /** The text at a place (see Scratch). */
  textAt(start: number, end: number): string {
    if (start < 0) return textOf(this.scratch.source.bytes, ~start, ~end);
    return textOf(this.body.bytes, start, end);
  }
}

/** The calls of a reader while it reads a request, in the order of the items. */
export type ItemVisitor = {
  /** `owner` holds another resource; items that follow belong to it. */
  resource(): void;
  /** The slots of the signal hold the next item, of the scope that `owner` holds. */
  item(): void;
};

const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');

let spare: ReadState | undefined;

/** Calls `use` with a state for one body. It is used again by the next, so nothing may keep it. */
export const withReadState = <T>(
  body: Uint8Array,
  limits: ItemLimits,
  tokenKeys: TokenKeys,
  use: (state: ReadState) => T,
): T => {
  const state = spare ?? new ReadState();
  spare = undefined;
  try {
    state.begin(body, limits, tokenKeys);
    return use(state);
  } finally {
    state.body = noBody;
    state.shrink();
    spare = state;
  }
};
