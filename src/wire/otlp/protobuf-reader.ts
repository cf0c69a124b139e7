import type { Levels } from './levels.ts';
import type { ProtobufCursor } from './protobuf-cursor.ts';
import { ProtobufFields } from './protobuf-fields.ts';
import type { ItemVisitor, ReadState } from './read-state.ts';
import { TooManyElements } from './types.ts';

const unknownFieldsMax = 10;

/**
 * Fields outside the items that a body may have: this number, and one for each eight bytes. An item takes more than that; empty messages,
 * two bytes each, would otherwise cost ten times as much as any item.
 */
const fieldsFree = 10_000;
const bytesPerField = 8;

/**
 * Reads what is from the cursor up to `end`: an item or a group of items. It leaves each item in the slots of its signal, and tells the
 * visitor.
 */
export type ProtobufItemReader = { read(end: number, visitor: ItemVisitor): void };

/**
 * Reads a signal's request from the wire into slots, without objects: of each message first the fields that its children need
 * (resource before scopes, scope before items), then the children, in any order. Unknown fields are skipped; a known field of
 * another wire type is unknown. Throws only MalformedBody and TooManyElements.
 */
export class ProtobufReader {
  /** Top-level fields that are not OTLP's, the first few. */
  readonly unknownFields = new Set<string>();
  /** Fields of a resource's entry that are not OTLP's, with their path: 1000 was instrumentation_library_spans before OTLP 1.0. */
  readonly misplacedFields = new Set<string>();
  private readonly state: ReadState;
  private readonly visitor: ItemVisitor;
  private readonly levels: Levels;
  private readonly cursor: ProtobufCursor;
  private readonly fields: ProtobufFields;
  private readonly itemReader: ProtobufItemReader | undefined;
  private readonly keepsScopes: boolean;
  /** Scratch that the current resource occupies; a scope's texts begin after it. */
  private keptScratch = 0;
  private fieldsLeft: number;

  /** Without a reader of items resources alone are read. */
  constructor(
    state: ReadState,
    visitor: ItemVisitor,
    levels: Levels,
    itemReaderOf?: (fields: ProtobufFields) => ProtobufItemReader,
  ) {
    this.state = state;
    this.visitor = visitor;
    this.levels = levels;
    this.fields = new ProtobufFields(state, itemReaderOf !== undefined);
    this.cursor = this.fields.cursor;
    this.itemReader = itemReaderOf?.(this.fields);
    this.keepsScopes = levels.names.keepsScopes;
    this.fieldsLeft = fieldsFree + Math.floor(this.cursor.body.length / bytesPerField);
  }

  /** What the items look like instead of what they should be; empty when they do not. */
  get lookLike(): string {
    return this.fields.lookLike;
  }

  readRequest(): void {
    const { cursor } = this;
    const end = cursor.body.length;
    while (cursor.at < end) {
      const tag = this.tag();
      if (tag === 0x0a) this.readResourceEntry(cursor.enter(end));
      else {
        if (this.unknownFields.size < unknownFieldsMax) this.unknownFields.add(String(tag >>> 3));
        cursor.skip(tag, end);
      }
    }
    cursor.expectEnd(end);
  }

  /** The next field's tag, above the items. Throws TooManyElements. */
  private tag(): number {
    if (this.fieldsLeft-- > 0) return this.cursor.tag();
    const fieldsMax = fieldsFree + Math.floor(this.cursor.body.length / bytesPerField);
    throw new TooManyElements(
      `the body has more than ${fieldsMax} fields outside its ${this.levels.names.itemsText}: send smaller requests`,
    );
  }

  private readResourceEntry(end: number): void {
    const { cursor, state } = this;
    const { owner } = state;
    const start = cursor.at;
    owner.clearResource();
    state.scratch.length = 0;
    while (cursor.at < end) {
      const tag = this.tag();
      if (tag === 0x0a) this.readResource(cursor.enter(end));
      else if (tag === 0x1a && this.keepsScopes) {
        const stop = cursor.enter(end);
        owner.resourceSchemaStart = cursor.at;
        owner.resourceSchemaEnd = cursor.at = stop;
      } else {
        // Scopes and the schema's URL are OTLP's.
        if (tag >>> 3 > 3 && this.misplacedFields.size < unknownFieldsMax)
          this.misplacedFields.add(`${this.levels.names.resources}[].${tag >>> 3}`);
        cursor.skip(tag, end);
      }
    }
    cursor.expectEnd(end);
    owner.resourceSize += owner.resourceSchemaEnd - owner.resourceSchemaStart;
    this.visitor.resource();
    if (this.itemReader === undefined) return;
    this.keptScratch = state.scratch.length;
    cursor.at = start;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x12) this.readScopeEntry(cursor.enter(end), this.itemReader);
      else cursor.skip(tag, end);
    }
  }

  private readResource(end: number): void {
    const { cursor, fields } = this;
    const { value } = fields;
    const { owner } = this.state;
    value.cutValues = 0;
    while (cursor.at < end) {
      const tag = this.tag();
      if (tag === 0x0a) {
        owner.resourceSize += fields.attribute(
          cursor.enter(end),
          owner.resource,
          0,
          owner.fault,
          'resource.attributes',
        );
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    owner.resourceCutValues += value.cutValues;
  }

  private readScopeEntry(end: number, itemReader: ProtobufItemReader): void {
    const { cursor, state } = this;
    const { owner } = state;
    const start = cursor.at;
    owner.clearScope();
    state.scratch.length = this.keptScratch;
    while (cursor.at < end) {
      const tag = this.tag();
      if (tag === 0x0a) this.readScope(cursor.enter(end));
      else if (tag === 0x1a && this.keepsScopes) {
        const stop = cursor.enter(end);
        owner.scopeSchemaStart = cursor.at;
        owner.scopeSchemaEnd = cursor.at = stop;
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    owner.scopeSize +=
      owner.scopeNameEnd - owner.scopeNameStart + owner.scopeVersionEnd - owner.scopeVersionStart;
    owner.scopeSize += owner.scopeSchemaEnd - owner.scopeSchemaStart;
    const kept = state.scratch.length;
    cursor.at = start;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x12) {
        state.scratch.length = kept;
        itemReader.read(cursor.enter(end), this.visitor);
      } else cursor.skip(tag, end);
    }
  }

  private readScope(end: number): void {
    const { cursor } = this;
    const { owner } = this.state;
    while (cursor.at < end) {
      const tag = this.keepsScopes ? this.tag() : cursor.tag();
      if (tag === 0x0a) {
        const stop = cursor.enter(end);
        owner.scopeNameStart = cursor.at;
        owner.scopeNameEnd = cursor.at = stop;
      } else if (tag === 0x12) {
        const stop = cursor.enter(end);
        owner.scopeVersionStart = cursor.at;
        owner.scopeVersionEnd = cursor.at = stop;
      } else if (tag === 0x1a && this.keepsScopes) this.readScopeAttribute(cursor.enter(end));
      else if (tag === 0x20) {
        cursor.varint();
        owner.scopeDropped = cursor.low;
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
  }

  private readScopeAttribute(end: number): void {
    const { value } = this.fields;
    const { owner } = this.state;
    value.cutValues = 0;
    owner.scopeSize += this.fields.attribute(
      end,
      owner.scopeAttributes,
      0,
      owner.scopeFault,
      'scope.attributes',
    );
    owner.scopeCutValues += value.cutValues;
  }
}
