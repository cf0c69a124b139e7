import { JsonCursor, type JsonKind } from './json-cursor.ts';
import { JsonFields } from './json-fields.ts';
import type { KeySet } from './json-keys.ts';
import type { Levels } from './levels.ts';
import type { ItemVisitor, ReadState } from './read-state.ts';
import { MalformedBody } from './types.ts';

/** OTLP's, but without a column. */
const ignoredKeys = new Set(['schemaUrl', 'schema_url']);

const wordMax = 2 ** 32 - 1;
const unknownKeysMax = 10;
const unknownKeyLengthMax = 80;

const noArray = (name: string, kind: JsonKind): MalformedBody =>
  new MalformedBody(
    `${name} is not an array${kind === 'object' ? ' but an object: put it in brackets' : ''}`,
    name,
  );

/**
 * Reads what begins at the cursor, of any kind of JSON: an item or a group of items. It leaves each item in the slots of its signal,
 * and tells the visitor.
 */
export type JsonItemReader = { read(visitor: ItemVisitor): void };

/** Whether a body may have a schema URL: its name may be written with escapes. */
const mayHoldSchema = (body: Uint8Array): boolean => {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return bytes.includes('schema') || bytes.includes('\\u');
};

/**
 * Reads the JSON form of a signal's request from its bytes into slots, without objects and leniently (architecture 4.6): of each
 * message first the fields that its children need (resource before scopes, scope before items), then the children, in any order.
 * Anything above the items that is not OTLP makes the body malformed; within an item it is a fault of that item. Throws
 * MalformedBody, and RepeatedKey where an object has a field of OTLP twice.
 */
export class JsonReader {
  /** Top-level names that are not OTLP's, the first few. */
  readonly unknownKeys = new Set<string>();
  /** Names between the top and the items that are not OTLP's, the first few, with their path. */
  readonly misplacedKeys = new Set<string>();
  private hasItems = false;
  private readonly state: ReadState;
  private readonly visitor: ItemVisitor;
  private readonly levels: Levels;
  private readonly cursor: JsonCursor;
  private readonly fields: JsonFields;
  private readonly itemReader: JsonItemReader;
  /** The members, as bits, that have to be read before the children. */
  private readonly awaited: number;

  constructor(
    state: ReadState,
    visitor: ItemVisitor,
    levels: Levels,
    itemReaderOf: (fields: JsonFields) => JsonItemReader,
  ) {
    this.state = state;
    this.visitor = visitor;
    this.levels = levels;
    this.cursor = new JsonCursor(state.body, state.scratch, state.tokenKeys);
    this.fields = new JsonFields(this.cursor, state, levels.names.fieldInvalid);
    this.itemReader = itemReaderOf(this.fields);
    this.awaited = levels.names.keepsScopes && mayHoldSchema(state.body.bytes) ? 5 : 1;
  }

  readRequest(): void {
    const { cursor, levels } = this;
    if (cursor.kind() !== 'object') throw new MalformedBody('the body is not a JSON object');
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.fields.member(levels.request, seen);
      if (member < 0) {
        this.noteUnknownKey(this.unknownKeys, '');
        cursor.skip();
        continue;
      }
      seen |= 1;
      this.eachObject(levels.names.resources, () => this.readResourceEntry());
    }
    if (cursor.peek() !== -1) throw cursor.malformed('expected the end of the body');
  }

  /** Only a body without an item needs them. */
  private noteUnknownKey(keys: Set<string>, path: string): void {
    if (this.hasItems || keys.size >= unknownKeysMax) return;
    const text = this.state.textAt(this.cursor.start, this.cursor.end);
    if (path !== '' && ignoredKeys.has(text)) return;
    keys.add(path + (text.length > unknownKeyLengthMax ? `${text.slice(0, unknownKeyLengthMax)}…` : text));
  }

  private readResourceEntry(): void {
    const { levels } = this;
    const { owner, scratch } = this.state;
    owner.clearResource();
    scratch.length = 0;
    this.readEntry(
      levels.resources,
      `${levels.names.resources}[].`,
      () => this.readResource(),
      () => {
        owner.resourceSize += this.readSchemaUrl(levels.names.resources);
        owner.resourceSchemaStart = this.fields.start;
        owner.resourceSchemaEnd = this.fields.end;
      },
      () => {
        this.visitor.resource();
        this.eachObject(levels.names.scopes, () => this.readScopeEntry());
      },
    );
  }

  private readScopeEntry(): void {
    const { levels } = this;
    const { owner, scratch } = this.state;
    const kept = scratch.length;
    owner.clearScope();
    this.readEntry(
      levels.scopes,
      `${levels.names.scopes}[].`,
      () => this.readScope(),
      () => {
        owner.scopeSize += this.readSchemaUrl(levels.names.scopes);
        owner.scopeSchemaStart = this.fields.start;
        owner.scopeSchemaEnd = this.fields.end;
      },
      () => this.readItems(),
    );
    scratch.length = kept;
  }

  /** Reads an object of a parent, a schema URL where the signal has one, and children, which always come last. */
  private readEntry(
    keys: KeySet,
    path: string,
    readParent: () => void,
    readSchema: () => void,
    readChildren: () => void,
  ): void {
    const { cursor, awaited } = this;
    let seen = 0;
    let waiting = -1;
    let waitingEnd = -1;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.fields.member(keys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      if (member === 0) readParent();
      else if (member === 2) readSchema();
      else if (member < 0) {
        this.noteUnknownKey(this.misplacedKeys, path);
        cursor.skip();
      } else if ((seen & awaited) === awaited) readChildren();
      else {
        waiting = cursor.at;
        // Senders write a schema URL after the children; what is passed is checked when it is read.
        if (awaited === 1) cursor.skip();
        else cursor.pass();
        cursor.peek();
        waitingEnd = cursor.at;
      }
    }
    if (waiting < 0) return;
    const after = cursor.at;
    cursor.at = waiting;
    readChildren();
    cursor.peek();
    if (cursor.at !== waitingEnd) throw cursor.malformed('expected a comma or }');
    cursor.at = after;
  }

  /** Returns its size; its place is in `fields`. */
  private readSchemaUrl(name: string): number {
    const { cursor, fields } = this;
    if (cursor.kind() !== 'string' && cursor.kind() !== 'null')
      throw new MalformedBody(`the schemaUrl in ${name} is not a string`, `${name}[].schemaUrl`);
    return fields.text(this.state.owner.fault, 'schemaUrl');
  }

  private readResource(): void {
    const { cursor, fields, levels } = this;
    const { owner } = this.state;
    if (!this.enterObject('resource')) return;
    fields.value.cutValues = 0;
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = fields.member(levels.resource, seen);
      if (member < 0) {
        cursor.skip();
        continue;
      }
      seen |= 1;
      owner.resourceSize += fields.attributes(owner.resource, 0, owner.fault, 'resource.attributes');
    }
    owner.resourceCutValues = fields.value.cutValues;
  }

  private readScope(): void {
    const { cursor, fields, levels } = this;
    const { owner } = this.state;
    if (!this.enterObject('scope')) return;
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = fields.member(levels.scope, seen);
      if (member < 0) {
        cursor.skip();
        continue;
      }
      seen |= 1 << member;
      if (member === 2) {
        this.readScopeAttributes();
        continue;
      }
      if (member === 3) {
        owner.scopeDropped = fields.count(wordMax, owner.scopeFault, 'scope.droppedAttributesCount');
        continue;
      }
      const name = member === 0 ? 'name' : 'version';
      if (cursor.kind() !== 'string' && cursor.kind() !== 'null')
        throw new MalformedBody(`the ${name} of a scope is not a string`, `scope.${name}`);
      owner.scopeSize += fields.text(owner.fault, `scope.${name}`);
      if (member === 0) {
        owner.scopeNameStart = fields.start;
        owner.scopeNameEnd = fields.end;
      } else {
        owner.scopeVersionStart = fields.start;
        owner.scopeVersionEnd = fields.end;
      }
    }
  }

  private readScopeAttributes(): void {
    const { fields } = this;
    const { owner } = this.state;
    fields.value.cutValues = 0;
    owner.scopeSize += fields.attributes(owner.scopeAttributes, 0, owner.scopeFault, 'scope.attributes');
    owner.scopeCutValues = fields.value.cutValues;
  }

  private readItems(): void {
    const { cursor } = this;
    const { scratch } = this.state;
    const kind = cursor.kind();
    if (kind === 'null') return cursor.literal('null');
    if (kind !== 'array') throw noArray(this.levels.names.items, kind);
    const kept = scratch.length;
    for (let has = cursor.open(); has; has = cursor.nextItem()) {
      scratch.length = kept;
      this.hasItems = true;
      this.itemReader.read(this.visitor);
    }
  }

  /** False for null, which means absent and is skipped. */
  private enterObject(name: string): boolean {
    const kind = this.cursor.kind();
    if (kind !== 'object' && kind !== 'null') throw new MalformedBody(`a ${name} is not an object`, name);
    if (kind === 'object') return true;
    this.cursor.literal('null');
    return false;
  }

  private eachObject(name: string, read: () => void): void {
    const { cursor } = this;
    const kind = cursor.kind();
    if (kind === 'null') return cursor.literal('null');
    if (kind !== 'array') throw noArray(name, kind);
    for (let has = cursor.open(); has; has = cursor.nextItem()) {
      if (cursor.kind() !== 'object') throw new MalformedBody(`an element of ${name} is not an object`, name);
      read();
    }
  }
}
