import { JsonCursor, type JsonKind } from './json-cursor.ts';
import { JsonFields } from './json-fields.ts';
import { KeySet } from './json-keys.ts';
import { JsonSpanReader } from './json-span.ts';
import type { ReadState, SpanVisitor } from './span-slots.ts';
import { MalformedBody } from './types.ts';

const requestKeys = new KeySet(['resourceSpans']);
const resourceSpansKeys = new KeySet(['resource', 'scopeSpans']);
const resourceKeys = new KeySet(['attributes']);
const scopeSpansKeys = new KeySet(['scope', 'spans']);
const scopeKeys = new KeySet(['name', 'version']);

/** OTLP's, but without a column. */
const ignoredKeys = new Set(['schemaUrl', 'schema_url']);

const unknownKeysMax = 10;
const unknownKeyLengthMax = 80;

const noArray = (name: string, kind: JsonKind): MalformedBody =>
  new MalformedBody(
    `${name} is not an array${kind === 'object' ? ' but an object: put it in brackets' : ''}`,
    name,
  );

/**
 * Reads the JSON form of ExportTraceServiceRequest from its bytes into slots, without objects and leniently
 * (architecture 4.6): of each message first the fields that its children need (resource before scopes, scope before
 * spans), then the children, in any order. Anything above the spans that is not OTLP makes the body malformed; within a
 * span it is a fault of that span. Throws MalformedBody, and RepeatedKey where an object has a field of OTLP twice.
 */
export class JsonReader {
  /** Top-level names that are not OTLP's, the first few. */
  readonly unknownKeys = new Set<string>();
  /** Names between the top and the spans that are not OTLP's, the first few, with their path. */
  readonly misplacedKeys = new Set<string>();
  private hasSpans = false;
  private readonly state: ReadState;
  private readonly visitor: SpanVisitor;
  private readonly cursor: JsonCursor;
  private readonly fields: JsonFields;
  private readonly spanReader: JsonSpanReader;

  constructor(state: ReadState, visitor: SpanVisitor) {
    this.state = state;
    this.visitor = visitor;
    this.cursor = new JsonCursor(state.body, state.scratch);
    this.fields = new JsonFields(this.cursor, state);
    this.spanReader = new JsonSpanReader(this.fields);
  }

  readRequest(): void {
    const { cursor } = this;
    if (cursor.kind() !== 'object') throw new MalformedBody('the body is not a JSON object');
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.fields.member(requestKeys, seen);
      if (member < 0) {
        this.noteUnknownKey(this.unknownKeys, '');
        cursor.skip();
        continue;
      }
      seen |= 1;
      this.eachObject('resourceSpans', () => this.readResourceSpans());
    }
    if (cursor.peek() !== -1) throw cursor.malformed('expected the end of the body');
  }

  /** Only a body without a span needs them. */
  private noteUnknownKey(keys: Set<string>, path: string): void {
    if (this.hasSpans || keys.size >= unknownKeysMax) return;
    const text = this.state.textAt(this.cursor.start, this.cursor.end);
    if (path !== '' && ignoredKeys.has(text)) return;
    keys.add(path + (text.length > unknownKeyLengthMax ? `${text.slice(0, unknownKeyLengthMax)}…` : text));
  }

  private readResourceSpans(): void {
    const { owner, scratch } = this.state;
    owner.clearResource();
    scratch.length = 0;
    this.readPair(
      resourceSpansKeys,
      'resourceSpans[].',
      () => this.readResource(),
      () => {
        this.visitor.resource();
        this.eachObject('scopeSpans', () => this.readScopeSpans());
      },
    );
  }

  private readScopeSpans(): void {
    const { owner, scratch } = this.state;
    const kept = scratch.length;
    owner.clearScope();
    this.readPair(
      scopeSpansKeys,
      'scopeSpans[].',
      () => this.readScope(),
      () => this.readSpans(),
    );
    scratch.length = kept;
  }

  /** Reads an object of two members, the first always before the second. */
  private readPair(keys: KeySet, path: string, readFirst: () => void, readSecond: () => void): void {
    const { cursor } = this;
    let seen = 0;
    let waiting = -1;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.fields.member(keys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      if (member === 0) readFirst();
      else if (member === 1 && (seen & 1) !== 0) readSecond();
      else {
        if (member === 1) waiting = cursor.at;
        else if (member < 0) this.noteUnknownKey(this.misplacedKeys, path);
        cursor.skip();
      }
    }
    if (waiting < 0) return;
    const after = cursor.at;
    cursor.at = waiting;
    readSecond();
    cursor.at = after;
  }

  private readResource(): void {
    const { cursor, fields } = this;
    const { owner } = this.state;
    if (!this.enterObject('resource')) return;
    fields.value.cutValues = 0;
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = fields.member(resourceKeys, seen);
      if (member < 0) {
        cursor.skip();
        continue;
      }
      seen |= 1;
      owner.resourceSize = fields.attributes(owner.resource, 0, owner.fault, 'resource.attributes');
    }
    owner.resourceCutValues = fields.value.cutValues;
  }

  private readScope(): void {
    const { cursor, fields } = this;
    const { owner } = this.state;
    if (!this.enterObject('scope')) return;
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = fields.member(scopeKeys, seen);
      if (member < 0) {
        cursor.skip();
        continue;
      }
      seen |= 1 << member;
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

  private readSpans(): void {
    const { cursor } = this;
    const { scratch } = this.state;
    const kind = cursor.kind();
    if (kind === 'null') return cursor.literal('null');
    if (kind !== 'array') throw noArray('spans', kind);
    const kept = scratch.length;
    for (let has = cursor.open(); has; has = cursor.nextItem()) {
      scratch.length = kept;
      this.hasSpans = true;
      this.spanReader.read();
      this.visitor.span();
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
      if (cursor.kind() !== 'object')
        throw new MalformedBody(`${name} holds something that is not an object`, name);
      read();
    }
  }
}
